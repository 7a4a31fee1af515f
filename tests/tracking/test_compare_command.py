"""``vignette compare`` and ``vignette lineages`` on recorded lineages; no stage is run."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flows.commands import compare as command
from flows.commands import lineages
from flows.engine.cache import cached_file
from flows.engine.lineage import NamedLineage, find_lineage, recorded_lineages, store_folder
from schemas.errors import SourceError
from tasks.tracking.lineage import read_lineage
from tasks.tracking.recording import Recording
from tests.support.imports import ROOT

RECORDS = 60


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_database: Path) -> Path:
    """An empty workspace with the project's params, for recording lineages."""
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc" / "config").write_text("[core]\n    no_scm = true\n")
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    shutil.copy2(empty_database, store_folder())
    return tmp_path


def keep(clone: Path, path: str, frame: pd.DataFrame) -> dict[str, str]:
    """Put a table into the cache of the workspace; returns its entry of dvc.lock."""
    partial = clone / "partial.parquet"
    frame.to_parquet(partial, index=False)
    md5 = hashlib.md5(partial.read_bytes()).hexdigest()
    kept = clone / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial.rename(kept)
    return {"path": path, "md5": md5}


def record(clone: Path, scores: np.ndarray, *, failed: int = 0, redraw: int = 0, model: str = "m") -> NamedLineage:
    """Record a lineage of one stage that scored all records except the first ``failed``."""
    table = pd.DataFrame({"record": np.arange(RECORDS)[failed:], "value": scores[failed:]})
    table = table.assign(system="compact notes", condition="json", item="all", metric="claim_recall")
    unscored = pd.DataFrame({"record": [str(number) for number in range(failed)]}, dtype="str")
    role = {"model": model, "redraw": redraw} if redraw else {"model": model}
    outs = [keep(clone, "data/doclens_scores.parquet", table), keep(clone, "data/unscored_doclens.parquet", unscored)]
    lineage = read_lineage({"stages": {"doclens": {"outs": outs, "params": {"params.yaml": {"roles.writer": role}}}}})
    recorded_lineages().write(lineage, Recording("test"))
    return find_lineage(lineage.id)


def test_failed_records_are_found_in_the_unscored_tables(clone: Path) -> None:
    scores = np.random.default_rng(1).random(RECORDS)
    a, b = record(clone, scores), record(clone, scores, failed=10)
    table = pd.read_csv(command.compare_pair(a, b, clone, seed=0)[0]).set_index("metric")
    assert table.loc["unscored claim_recall", "changed"]
    assert not table.loc["claim_recall", "changed"]
    assert table.loc["claim_recall", ["n", "failed_a", "failed_b", "unpaired"]].tolist() == [50, 0, 10, 0]


def test_three_lineages_are_compared_with_the_first(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = np.random.default_rng(2)
    scores = draw.random(RECORDS)
    names = [record(clone, scores + shift).name for shift in (0.0, 0.3, 0.001 * draw.normal(size=RECORDS))]
    command.main(names, out=clone)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("measures compared")]
    assert [line.rsplit(": ", 1)[1] for line in lines] == ["1", "0"]


def test_redraws_are_recorded_lineages_with_another_redraw_number(clone: Path) -> None:
    draw = np.random.default_rng(3)
    scores = draw.random(RECORDS)
    first = record(clone, scores)
    with pytest.raises(SourceError, match="no recorded lineage is a redraw"):
        command.find_redraws(first)
    shifts = (0.2, -0.3, 0.25)
    redraws = [record(clone, scores + shift, redraw=number) for number, shift in enumerate(shifts, start=1)]
    other = record(clone, scores + 0.1, model="another")
    found = command.find_redraws(first)
    assert {lineage.lineage.id for lineage in found} == {lineage.lineage.id for lineage in redraws}
    command.main([first.name, other.name], out=clone, null="redraws")
    (changed,) = pd.read_csv(next(clone.glob("*.csv")))["changed"]
    assert not changed
    command.main([first.name, other.name], out=clone)
    (changed,) = pd.read_csv(next(clone.glob("*.csv")))["changed"]
    assert changed


def test_pruning_deletes_what_only_forgotten_lineages_use(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.random.default_rng(5).random(RECORDS)
    old, new = record(clone, scores), record(clone, scores + 0.1)
    of_old, of_new = ({path: md5 for path, (_, md5) in lineage.outputs().items()} for lineage in (old, new))
    shared, own = "data/unscored_doclens.parquet", "data/doclens_scores.parquet"
    lineages.prune(keep=1)
    assert "1 of 2 lineages, 1 cached files" in capsys.readouterr().out
    assert recorded_lineages().has(old.lineage.id)
    lineages.prune(keep=1, yes=True)
    assert [row["lineage"] for row in recorded_lineages().overview()] == [new.lineage.id]
    assert cached_file(of_old[own]) is None
    assert cached_file(of_new[own]) is not None and cached_file(of_old[shared]) is not None
