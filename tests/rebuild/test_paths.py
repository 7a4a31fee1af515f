"""A clone works where its path holds characters that addresses and settings give a meaning."""

from pathlib import Path

import pytest
from dvc.repo import Repo

from flows.rebuild import watch_tree
from tests.rebuild.conftest import STRANGE
from tests.support.imports import ROOT


def test_the_database_of_prefect_is_in_the_clone(served: Path) -> None:
    assert (served / "prefect" / "prefect.db").stat().st_size > 0
    assert [path.name for path in served.parent.parent.iterdir()] == [STRANGE]


def test_the_tree_of_a_watch_knows_remotes_whose_address_has_a_percent_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone, tree = tmp_path / STRANGE, tmp_path / "tree"
    for folder in (clone, tree):
        folder.mkdir()
        Repo.init(str(folder), no_scm=True).close()
    (clone / ".dvc" / "config.local").write_text("['remote \"r\"']\n    url = s3://b/100%25\n")
    (clone / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    monkeypatch.setenv("DVC_ROOT", str(clone))
    watch_tree._share_cache(tree)
    written = (tree / ".dvc" / "config.local").read_text()
    assert "url = s3://b/100%25" in written and f"dir = {clone / '.dvc' / 'cache'}" in written
