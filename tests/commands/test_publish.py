"""A run of the second pipeline replaces the tracked tables that it built, and no others."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from flows.commands import repro
from flows.commands.repro import print_end
from flows.rebuild.flow import Unfinished
from flows.repository.params import STARTED_BY, load_params
from tests.support.imports import ROOT
from tests.support.repository import write_files

PIPELINE = """
stages:
  network: {cmd: x, deps: [tasks/network], outs: [{data/published/tables/network.csv: {cache: false}}]}
  judged: {cmd: x, outs: [data/published/judged.parquet, data/published/tables/judged.csv]}
  review: {cmd: x, deps: [data/published/judged.parquet], metrics: [data/published/tables/review.csv]}
  reproduce: {cmd: x, deps: [data/published/tables], outs: [data/published/reproduction.csv]}
"""
TRACKED = ("tables/network.csv", "tables/judged.csv", "tables/review.csv", "tables/obsolete.csv", "reproduction.csv")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with tracked results of an earlier run, and nothing built."""
    monkeypatch.chdir(tmp_path)
    write_files(Path("reports/published"), dict.fromkeys(TRACKED, "earlier") | {"dvc.yaml": PIPELINE})
    return tmp_path


def build(*names: str) -> None:
    write_files(Path("data/published"), dict.fromkeys(names, "new"))


def published() -> dict[str, str]:
    folder = Path("reports/published")
    return {file.relative_to(folder).as_posix(): file.read_text() for file in sorted(folder.rglob("*.csv"))}


@pytest.mark.parametrize(
    ("targets", "but", "replaced"),
    [
        (["review"], [], TRACKED[1:3]),  # and the table of the stage that it reads
        (["reproduce"], [], [*TRACKED[:3], TRACKED[4]]),  # reads the folder of tables
        ([], [], [*TRACKED[:3], TRACKED[4]]),  # a table that no stage writes may be the user's, and stays
        ([], ["review", "reproduce"], TRACKED[:2]),  # one failed, the other did not run
    ],
)
def test_a_run_replaces_the_tables_of_stages_that_ended(
    clone: Path,
    monkeypatch: pytest.MonkeyPatch,
    targets: list[str],
    but: list[str],
    replaced: list[str],
) -> None:
    build("judged.parquet", *(name for name in TRACKED[:3] if "review" not in but or "review" not in name))
    build(*([] if "reproduce" in but else ["reproduction.csv"]))
    monkeypatch.setattr(
        "flows.rebuild.flow.rebuild", lambda *_, **__: Unfinished(but[:1], dict.fromkeys(but[1:], but[:1]))
    )
    monkeypatch.setattr(repro, "use_server", lambda: None)
    monkeypatch.setattr(repro, "stages_forked", nullcontext)
    assert repro._rebuild(load_params(ROOT / "params.yaml"), repro.PUBLISHED, targets, ["x"], 0.0) == bool(but)
    assert published() == dict.fromkeys(TRACKED, "earlier") | dict.fromkeys(replaced, "new")


def test_the_end_names_duration_stages_key_figures_rules_and_the_next_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    print_end(load_params(), ["sample", "write"], 125.0, whole=True)
    said = capsys.readouterr().out
    assert "done in 2 min 5 s: 2 stages (sample, write)" in said and said.count("\n  ") >= 8
    assert "writer, annotator, judge, answerer: the simulator's rules, no language model" in said
    assert "ledger default: 0.00 dollars" in said and "vignette compare HEAD workspace" in said
    monkeypatch.setenv(STARTED_BY, "vignette watch once")
    print_end(load_params(), ["sample", "write"], 125.0, whole=True)
    assert "vignette compare" not in capsys.readouterr().out, "the user is in another clone"


def test_a_part_of_the_stages_makes_no_report_and_says_nothing_of_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page is of the lineage before: written again, it would name the present one."""
    written = []
    monkeypatch.setattr("flows.lineage.report.write_report", lambda: written.append(1))
    for stub in ("backfill", "print_end", "require_schema", "use_server"):
        monkeypatch.setattr(repro, stub, lambda *_, **__: None)
    monkeypatch.setattr(repro, "stages_forked", nullcontext)
    monkeypatch.setattr("flows.rebuild.flow.rebuild", lambda *_, **__: Unfinished())
    for targets, stages, times in (
        (["span"], ["span"], 0),
        (["span"], [], 0),
        (["report"], ["report"], 1),
        ([], [], 2),
    ):
        assert repro._rebuild(load_params(ROOT / "params.yaml"), repro.MAIN, targets, stages, 0.0) == 0
        assert len(written) == times
    assert "every stage" not in capsys.readouterr().out
