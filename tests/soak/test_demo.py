"""The recorded lineage is rebuilt without a call and compared with the rules'; a refresh asks nothing needlessly."""

from pathlib import Path

import pytest

from flows.commands.cassette import demo, refresh
from flows.lineage.recorded import REPLIES, read_replies
from tests.support.clone import Clone
from tests.support.imports import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3000)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the working tree, as the working directory."""
    (tmp_path / "here").mkdir()
    clone = Clone(tmp_path / "here")
    monkeypatch.chdir(clone.folder)
    return clone.folder


def test_the_demo_makes_no_call_and_shows_both_lineages(here: Path, tmp_path: Path) -> None:
    demo(tmp_path / "demo")  # no endpoint listens at the recorded addresses: a call would fail
    page = (tmp_path / "demo" / "reports" / "comparisons" / "rules__strong-model.html").read_text(encoding="utf-8")
    assert "claude-writer" in page and "vignette-writer" in page


def test_a_refresh_without_changed_prompts_keeps_all_replies(here: Path, tmp_path: Path) -> None:
    refresh(tmp_path / "refreshed")
    before, after = ({line["key"] for line in read_replies(folder / REPLIES)} for folder in (ROOT, here))
    assert after == before
