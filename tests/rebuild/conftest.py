"""A Prefect server of its own for the tests of rebuilds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.rebuild import server
from flows.repository.workspace import WORKSPACE


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of state whose Prefect server runs until the end of the tests."""
    folder = tmp_path_factory.mktemp("clone") / ".vignette"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(WORKSPACE, str(folder))
        server.ensure_server()
    yield folder
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(WORKSPACE, str(folder))
        server.stop_server()


@pytest.fixture
def workplace(served: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder, in use by this process."""
    monkeypatch.setenv(WORKSPACE, str(served))
    return served
