"""An empty MLflow database, made once: MLflow takes seconds to create its tables."""

import shutil
from pathlib import Path

import pytest

from tasks.tracking.mlflow_store import LineageStore


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database file without an experiment of this project."""
    folder = tmp_path_factory.mktemp("empty_mlflow")
    LineageStore(folder, "unused")
    return folder / "mlflow.db"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> LineageStore:
    """An empty store of lineages."""
    folder = tmp_path_factory.mktemp("mlflow")
    shutil.copy2(empty_database, folder)
    return LineageStore(folder, "vignette")
