"""The report page in a real browser, opened from a file: display of notes and tables, and escaping of their content."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tasks.people.rating_form import RatingForm
from tasks.reporting.notes_view import FLAGGED
from tests.support.browser import fresh_profile, needs_chromium, opened
from tests.support.report_page import metric_table, page_of, shown_note
from tests.support.review import REVIEW, RUBRIC, drawn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, needs_chromium]

HOSTILE = (
    "<script>window.ran='script'</script><img src=x onerror=\"window.ran='image'\"></script>"
    "<svg onload=\"window.ran='svg'\"></svg> <b>bold</b> & <!-- {{ 7 * 7 }} \u2028 ]]>"
)


def test_a_clicked_note_shows_its_text_with_each_symptoms_spans(browser: Browser, tmp_path: Path) -> None:
    other = shown_note(9, normal=[["Nothing to report.", []]], facts={"cough": "no", "pain": "no"})
    with opened(browser, tmp_path / "index.html", page_of([other, shown_note(4, mark=FLAGGED)])) as page:
        assert page.locator("#note-view .mark").count() == 1  # the other note's compact version
        page.click("#note-list button:has-text('Record 4')")
        assert page.inner_text("#note-view h3") == f"Record 4 prompted with symptoms; {FLAGGED}"
        assert page.locator("#note-view .versions .mark").all_inner_texts() == ["Dry cough", "no chest pain", "Cough."]
        assert "multi" in (page.get_attribute(".mark:has-text('no chest pain')", "class") or "")
        hollow = page.locator("#note-view .versions .hollow")
        assert hollow.all_inner_texts() == ["Cough."], "what is not asserted to be present is hollow"
        assert hollow.get_attribute("title") == "cough: absent"
        assert page.inner_text("#note-view .text >> nth=0").startswith("History\nDry cough since Monday")
        page.click(".legend button[data-symptom=cough]")
        still = page.locator("#note-view .text .mark:not(.off)").all_inner_texts()
        assert still == ["no chest pain"]  # pain is still shown there
        assert "hollow" in (page.get_attribute(".mark:has-text('no chest pain')", "class") or "")


def test_notes_are_found_by_words_kind_and_symptom_and_walked_by_keys(browser: Browser, tmp_path: Path) -> None:
    notes = [shown_note(4), shown_note(7, kind="unrelated", facts={"cough": "no"}), shown_note(11)]
    with opened(browser, tmp_path / "index.html", page_of(notes)) as page:
        page.focus("#note-list button >> nth=0")
        page.keyboard.press("ArrowDown")
        assert page.inner_text("#note-view h3").startswith("Record 7")
        page.select_option("#symptom-filter", "cough")
        assert page.inner_text("#note-count") == "2 of 3 shown"
        page.select_option("#symptom-filter", "")
        page.select_option("#kind-filter", "unrelated")
        assert page.locator("#note-list button").count() == 1
        page.fill("#note-filter", "no such words")
        assert page.inner_text("#note-view") == "No matching note."


def test_markup_and_script_from_outside_are_shown_and_never_run(browser: Browser, tmp_path: Path) -> None:
    note = shown_note(
        normal=[[HOSTILE, [["cough", HOSTILE]]]], compact=[[HOSTILE, []]], prompt=HOSTILE,
        attempts=[{"note": HOSTILE, "explanation": HOSTILE}],
    )  # fmt: skip
    table = metric_table({"metric": "claim_recall", "system": HOSTILE, "item": HOSTILE, "provenance": HOSTILE})
    with opened(browser, tmp_path / "index.html", page_of([note], {"doclens": table}, params=HOSTILE)) as page:
        page.wait_for_timeout(150)
        assert page.evaluate("window.ran") is None
        assert page.inner_text("#note-view .mark") == HOSTILE
        for details in page.locator("details").all():
            details.evaluate("element => { element.open = true; }")
        assert page.locator("#note-view pre").all_inner_texts()[0] == HOSTILE
        assert "<script>window.ran='script'</script>" in page.inner_text("#table-doclens")
        assert page.locator("main :is(img, iframe, script:not([type]), section b b)").count() == 0


def form() -> str:
    """A form of ratings."""
    return RatingForm(drawn(), REVIEW.raters).filled("rater_1", RUBRIC, seed=7)


@pytest.mark.parametrize("html", [page_of([shown_note()]), form()], ids=["report", "form"])
def test_even_a_script_forced_into_a_page_is_refused_by_its_policy(browser: Browser, tmp_path: Path, html: str) -> None:
    file = tmp_path / "index.html"
    file.write_text(html, encoding="utf-8")
    with fresh_profile(browser) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate(
            "() => { const s = document.createElement('script'); s.textContent = \"window.ran = 'forced'\";"
            " document.body.append(s); }"
        )
        assert page.evaluate("window.ran") is None


def test_a_table_is_sorted_by_number_and_filtered(browser: Browser, tmp_path: Path) -> None:
    values = [0.9, 0.1, 10.5, -2.0]
    table = metric_table(
        *({"metric": "score", "item": f"item {v}", "value": v} for v in values),
        *({"metric": "score", "item": f"=other {i}", "value": 100.0 + i} for i in range(12)),
    )
    with opened(browser, tmp_path / "index.html", page_of([shown_note()], {"note_qa": table})) as page:
        page.click("#table-note_qa summary")
        page.click("#table-note_qa th button:has-text('score')")
        shown = page.locator("#table-note_qa tbody tr th").all_inner_texts()
        assert shown[:4] == ["item -2.0", "item 0.1", "item 0.9", "item 10.5"]
        page.fill("#table-note_qa input.filter", "other 11")
        assert page.locator("#table-note_qa tbody tr:visible").count() == 1
        with page.expect_download() as download:
            page.click("#table-note_qa button.csv")
        lines = download.value.path().read_text(encoding="utf-8").splitlines()
        assert lines[:2] == ['"item","score"', '"item -2.0","−200.0%; 40.0% to 60.0%"']
        assert lines[-1].startswith('"\'=other 11"'), "no formula of a spreadsheet"
