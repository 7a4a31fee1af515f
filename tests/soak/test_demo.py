"""Clones of the project: the demo makes no call, a refresh asks nothing needlessly, a trial changes nothing here."""

from pathlib import Path

import pandas as pd
import pytest

from flows.commands.demo import main
from flows.lineage.recorded import REPLIES, cassettes
from tests.cassettes.refresh import read_replies, refresh
from tests.support.clone import Clone
from tests.support.imports import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3000)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the working tree, as the working directory."""
    clone = Clone(tmp_path / "here")
    monkeypatch.chdir(clone.folder)
    return clone.folder


EACH = pytest.mark.parametrize("recorded", cassettes(), ids=lambda recorded: recorded.name)


@EACH
def test_the_demo_makes_no_call_and_shows_both_lineages(here: Path, tmp_path: Path, recorded: Path) -> None:
    main(tmp_path / "demo", recorded.name)  # no endpoint listens at the recorded addresses: a call would fail
    page = (tmp_path / "demo" / "reports" / "comparisons" / "rules__strong-model.html").read_text(encoding="utf-8")
    assert "claude-writer" in page and "vignette-writer" in page


@EACH
def test_a_refresh_without_changed_prompts_keeps_all_replies(here: Path, tmp_path: Path, recorded: Path) -> None:
    refresh(recorded.name, tmp_path / "refreshed")
    before, after = ({line["key"] for line in read_replies(folder / recorded / REPLIES)} for folder in (ROOT, here))
    assert after == before


def test_a_trial_of_three_records_changes_nothing_here(tmp_path: Path) -> None:
    clone = Clone(tmp_path / "project")
    done = clone.vignette("trial", "--records", "3", timeout=600)
    assert clone.git("status", "--porcelain") == ""
    inside = clone.folder / ".vignette" / "trial"
    assert len(pd.read_parquet(inside / "data" / "sample" / "records.parquet")) == 3
    assert (inside / "reports" / "tables" / "note_qa.csv").exists()
    assert not (inside / "reports" / "tables" / "baselines.csv").exists(), "what only trains is left out"
    lines = [line.split() for line in done.stdout.split("the whole run, 1,000 records")[1].splitlines()]
    writing = next(line for line in lines if line[:2] == ["write", "writer"])
    assert int(writing[3]) > 300 and writing[-1] == "trial"
