"""A comparison downloads only the tables that it reads, from the remote that DVC is configured with."""

import shutil
from pathlib import Path

import pytest

from flows.lineage.lineage import NamedLineage, fetch_outputs
from flows.repository.cache import cached_file
from tasks.tracking.lineage import Lineage, StageLineage
from tests.support.repository import keep


def test_missing_outputs_are_fetched_from_the_remote_and_others_left_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".dvc").mkdir()
    settings = ["[core]", "no_scm = true", "remote = r", "['remote \"r\"']", "url = ../remote", "[cache]"]
    (tmp_path / ".dvc" / "config").write_text("\n".join([*settings, f"dir = {tmp_path / 'elsewhere'}"]))
    outs = {}
    for name in ("scores.parquet", "notes.parquet"):
        outs[f"data/{name}"] = keep(tmp_path / "remote", name.encode())
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    lineage = NamedLineage("a", Lineage("a", (StageLineage("doclens", outs=outs),)), None)

    fetch_outputs([(lineage, "data/scores.parquet")])
    assert capsys.readouterr().out == "fetched 1 of 1 files (0.0 MB) from DVC's remote\n"
    found = cached_file(outs["data/scores.parquet"])
    assert found is not None and found.is_relative_to(tmp_path / "elsewhere")
    assert lineage.open_output("data/scores.parquet").read_text() == "scores.parquet"
    assert cached_file(outs["data/notes.parquet"]) is None
    shutil.rmtree(tmp_path / "remote")
    fetch_outputs([(lineage, "data/scores.parquet")])
    assert capsys.readouterr().out == ""
