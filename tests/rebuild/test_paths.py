"""A clone works where its path holds characters that addresses and settings give a meaning."""

import subprocess
from pathlib import Path

import httpx
import pytest

from flows.rebuild import server, watch_tree
from flows.repository.workspace import WORKSPACE
from tasks.tracking.mlflow_store import LineageStore

STRANGE = "a?b%c #d&e"


@pytest.fixture
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone's folder of state, in use by this process."""
    folder = tmp_path / STRANGE / ".vignette"
    folder.mkdir(parents=True)
    monkeypatch.setenv(WORKSPACE, str(folder))
    monkeypatch.chdir(folder.parent)
    return folder


def test_the_database_of_prefect_is_in_the_clone(strange: Path) -> None:
    try:
        url = server.ensure_server()
        assert httpx.get(f"{url}/health").json() is True
    finally:
        server.stop_server()
    assert (strange / "prefect" / "prefect.db").stat().st_size > 0
    assert [path.name for path in strange.parent.parent.iterdir()] == [STRANGE]


def test_the_database_of_mlflow_is_in_the_clone(strange: Path) -> None:
    assert LineageStore(strange, "vignette").find("none") is None
    assert (strange / "mlflow.db").stat().st_size > 0
    assert [path.name for path in strange.parent.iterdir()] == [".vignette"]
    assert [path.name for path in strange.parent.parent.iterdir()] == [STRANGE]


def test_the_tree_of_a_watch_knows_remotes_whose_address_has_a_percent_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone, tree = tmp_path / STRANGE, tmp_path / "tree"
    for folder in (clone, tree):
        folder.mkdir()
        for command in (["git", "init", "-q"], ["dvc", "init", "-q"]):
            subprocess.run(command, cwd=folder, check=True)
    (clone / ".dvc" / "config.local").write_text("['remote \"r\"']\n    url = s3://b/100%25\n")
    monkeypatch.setenv("DVC_ROOT", str(clone))
    watch_tree._share_cache(tree)
    written = (tree / ".dvc" / "config.local").read_text()
    assert "url = s3://b/100%25" in written and f"dir = {clone / '.dvc' / 'cache'}" in written
