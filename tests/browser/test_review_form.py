"""The rating form in a real browser, opened from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tasks.people.rating_form import FOLLOWED, RatingForm, ratings_of
from tests.measures.test_note_qa_form import FORM as QUESTIONS
from tests.support.browser import needs_chromium, opened, reload_kept, returned
from tests.support.review import REVIEW, RUBRIC, drawn
from tests.support.span_review import FORM as SPANS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, needs_chromium]


def form(notes: pd.DataFrame) -> str:
    return RatingForm(notes, REVIEW.raters).filled("rater_1", RUBRIC, seed=7)


def _record_shown(page) -> int:
    return page.evaluate("DATA.items[state.at].record")


def _rate(page, penalties: str, ratings: str) -> None:
    """Fill in one note with the keyboard alone."""
    for key in penalties:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    for key in ratings:
        page.keyboard.press(key)


def test_a_form_filled_in_by_keyboard_survives_a_reload_and_gives_the_scores_computed_by_hand(
    browser: Browser, tmp_path
):
    notes = drawn()
    given = {4: ("ac", "54321"), 9: ("", "55555"), 12: ("abgk", "43545")}
    with opened(browser, tmp_path / "form.html", form(notes)) as page:
        for i in range(3):
            _rate(page, *given[_record_shown(page)])
            if i == 1:  # two notes rated, a remark half written
                page.fill("#comment", "the cough of this n")
                reload_kept(page)
                assert page.input_value("#comment") == "the cough of this n"
                assert page.inner_text("#count") == "2 of 3 done"
            if i < 2:
                page.click("#next")
        assert page.inner_text("#count") == "3 of 3 done"
        page.click("#finish")
        page.fill("#signature", "Dr. A")
        with page.expect_download() as download:
            page.click("#download")
        returned = Path(download.value.path()).read_text(encoding="utf-8")
        assert download.value.suggested_filename.startswith("vignette-review_")
    verdicts = RatingForm(notes, REVIEW.raters).verdicts({"rater_1.json": returned})
    ratings, denied = ratings_of(verdicts), verdicts[(verdicts["metric"] == FOLLOWED) & (verdicts["value"] == 0)]
    scores = {(row.record, row.aspect): row.rating for row in ratings.itertuples()}
    assert {r: scores[r, "consistency"] for r in (4, 9, 12)} == {4: 3, 9: 5, 12: 1}  # two, zero and four penalties
    others = [
        "realism_history",
        "realism_physical_examination",
        "clinical_accuracy",
        "compact_content",
        "compact_readability",
    ]
    assert {r: [scores[r, name] for name in others] for r in (4, 9, 12)} == {
        4: [5, 4, 3, 2, 1],
        9: [5, 5, 5, 5, 5],
        12: [4, 3, 5, 4, 5],
    }
    assert {(int(one.document), *one.unit.split("/")) for one in denied.itertuples()} == {
        (4, "1A", "cough"),
        (4, "1B", "pain"),
        (12, "2A", "dyspnea"),
        (12, "2A", "cough"),
        (12, "2B", "smoking"),
        (12, "2C", "sex_or_age"),
    }
    assert [note["comment"] for note in json.loads(returned)["notes"] if note["comment"]] == ["the cough of this n"]


def test_an_unfinished_form_lists_open_ratings_and_its_backup_loads_on_another_computer(browser: Browser, tmp_path):
    notes = drawn()
    with opened(browser, tmp_path / "form.html", form(notes)) as page:
        _rate(page, "a", "5544")
        page.click("#finish")
        assert "3 of 3 to go" in page.inner_text("#send")
        with page.expect_download() as download:
            page.click("#download")
        backup = tmp_path / "backup.json"
        download.value.save_as(backup)
        assert json.loads(backup.read_text())["complete"] is False
    with opened(browser, tmp_path / "form.html", form(notes)) as page:  # a new profile: nothing is stored
        assert page.inner_text("#q0 .value").startswith("0 penalties")
        page.click("#finish")
        page.set_input_files("#load", backup)
        page.wait_for_selector("#send", state="detached")
        assert page.inner_text("#q0 .value").startswith("1 penalty")
        assert [page.inner_text(f"#q{i} .value") for i in range(1, 6)] == ["5", "5", "4", "4", "–"]


def test_markup_and_script_in_a_note_are_shown_and_never_run(browser: Browser, tmp_path):
    hostile = (
        "**History**\nCough</script><script>window.ran='script'</script><img src=x onerror=\"window.ran='image'\">"
        "<svg onload=\"window.ran='svg'\"></svg> & <b>bold</b> ]]> <!-- --> \u2028 {{ 7 * 7 }}"
        "<iframe src=\"javascript:parent.ran='frame'\">"
    )
    with opened(browser, tmp_path / "form.html", form(drawn(note=hostile))) as page:
        page.wait_for_timeout(200)
        assert page.evaluate("window.ran") is None
        shown = page.inner_text(".sheet:nth-child(2)")
        assert "<script>window.ran='script'</script>" in shown
        assert "<b>bold</b>" in shown and "{{ 7 * 7 }}" in shown
        assert page.locator("#texts img, #texts svg, #texts iframe, #texts script, #texts b").count() == 0


def test_each_other_form_is_filled_in_by_keyboard_and_its_file_is_read(browser: Browser, tmp_path):
    about = {"version": "normal", "position": 1, "date": "2150-01-01", "note": "Cough."}
    notes = pd.DataFrame([{"patient": patient, **about} for patient in QUESTIONS.questions["patient"].unique()])
    with opened(browser, tmp_path / "questions.html", QUESTIONS.filled(notes, "r")) as page:
        for key in ("r", "k", "k"):
            page.keyboard.press(key)
            page.keyboard.press("Enter")
        page.get_by_text("Close").click()
        reviews = QUESTIONS.reviews({"r.json": returned(page)})
    assert sorted(one.decision for one in reviews.values()) == ["keep", "keep", "remove"]
    with opened(browser, tmp_path / "spans.html", SPANS.filled({}, "clinician")) as page:
        for at in range(len(SPANS.records)):
            if at == 0:
                page.keyboard.press("a")
            page.keyboard.press("Enter")
        page.get_by_text("Close").click()
        counts = SPANS.counts({"r.json": returned(page)})
    assert counts["incorrect"].sum() == 1 and len(counts) == len(SPANS.records) * len(SPANS.symptoms)
