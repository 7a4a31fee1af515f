"""`vignette demo`: builds both lineages of a clone, compares them and names what to read."""

from pathlib import Path

import pytest

from flows.commands.parser import run
from flows.lineage.recorded import RecordedClone


def test_the_demo_builds_and_compares_both_lineages_and_names_the_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[tuple[str, ...]] = []
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(tmp_path))
    monkeypatch.setattr(RecordedClone, "__init__", lambda clone, *made: setattr(clone, "folder", made[0]))
    for step in ("build_rules", "build_recorded", "vignette"):
        monkeypatch.setattr(RecordedClone, step, lambda _, *words, step=step: done.append((step, *words)))
    for folder, options in ((tmp_path / "demo/urinary", []), (tmp_path / "own", ["--folder", str(tmp_path / "own")])):
        assert run(["demo", "--lineage", "urinary", *options]) == 0
        said = capsys.readouterr().out
        assert f"reports: {folder}/reports/index.html, {folder}/reports/comparisons\n" in said
        assert f"judgements of this lineage: {folder}/data, and each reply in tests/cassettes/urinary/" in said
    assert done == [("build_rules",), ("build_recorded",), ("vignette", "compare", "rules", "strong-model")] * 2
