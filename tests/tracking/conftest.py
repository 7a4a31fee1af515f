"""An empty MLflow database, made once: MLflow takes seconds to create its tables.

The name of its folder holds characters that addresses give a meaning.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from tasks.tracking.mlflow_store import LineageStore


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database file without an experiment of this project, made by one worker for all."""
    from tasks.tracking.mlflow_store import LineageStore  # loads mlflow, which takes seconds

    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # that all workers see
    with FileLock(folder / "mlflow.lock"):
        if not (folder / "mlflow.db").exists():
            making = folder / "making" / "a?b%c #d&e"
            making.mkdir(parents=True)
            LineageStore(making, "unused")
            assert [path.name for path in making.parent.iterdir()] == [making.name]
            (making / "mlflow.db").rename(folder / "mlflow.db")
    return folder / "mlflow.db"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> LineageStore:
    """An empty store of lineages."""
    from tasks.tracking.mlflow_store import LineageStore

    folder = tmp_path_factory.mktemp("mlflow")
    shutil.copy2(empty_database, folder)
    return LineageStore(folder, "vignette")
