"""A run of the second pipeline replaces the tracked tables that it built, and no others."""

from pathlib import Path

import pytest

from flows.commands import repro
from flows.commands.repro import print_end
from flows.repository.params import load_params
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


def test_one_target_replaces_its_table_and_those_of_the_stages_it_reads(clone: Path) -> None:
    build("tables/judged.csv", "tables/review.csv", "judged.parquet")
    repro.publish(["review"])
    expected = dict.fromkeys(TRACKED, "earlier") | {"tables/judged.csv": "new", "tables/review.csv": "new"}
    assert published() == expected


def test_a_target_that_reads_the_folder_of_tables_publishes_all_of_them(clone: Path) -> None:
    build("tables/network.csv", "tables/judged.csv", "tables/review.csv", "reproduction.csv")
    repro.publish(["reproduce"])
    assert published() == dict.fromkeys(TRACKED, "new") | {"tables/obsolete.csv": "earlier"}


def test_a_whole_run_also_removes_tables_that_no_stage_writes(clone: Path) -> None:
    build("tables/network.csv", "tables/judged.csv", "tables/review.csv", "reproduction.csv")
    repro.publish([])
    assert published() == {name: "new" for name in TRACKED if name != "tables/obsolete.csv"}


def test_the_end_names_duration_stages_key_figures_rules_and_the_next_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    print_end(load_params(), ["sample", "write"], 125.0)
    lines = capsys.readouterr().out.splitlines()
    assert "done in 2 min 5 s: 2 stages (sample, write)" in lines
    figures = [line for line in lines if line.startswith("  ")]
    assert len(figures) >= 8 and all("n\u00a0=\u00a0" in line or line.endswith("exact") for line in figures)
    assert "writer, annotator, judge, answerer: the simulator's rules, no language model" in lines
    assert any(line.startswith("ledger default: 0.00 dollars") for line in lines)
    assert f"report: {ROOT / 'reports' / 'index.html'}" in lines and "vignette compare HEAD workspace" in lines[-1]
