"""A Prefect server of its own for the tests of rebuilds, in a folder with an unusual name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.rebuild import server
from flows.repository.workspace import WORKSPACE

STRANGE = "a?b%c #d&e"
"""Characters that addresses and settings give a meaning."""


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of state whose Prefect server runs until the end of this folder's tests."""
    folder = tmp_path_factory.mktemp("clone") / STRANGE / ".vignette"
    folder.mkdir(parents=True)
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
