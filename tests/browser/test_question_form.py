"""The question form in a real browser, opened from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tasks.people.question_form import QuestionForm, count_revisions, revise
from tests.support.browser import downloaded, needs_chromium, opened, reload_kept
from tests.support.qa import questions_by_hand

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.soak, needs_chromium]


def test_questions_are_kept_removed_and_rewritten_across_a_reload_and_come_back_counted(browser: Browser, tmp_path):
    questions = questions_by_hand()
    rows = [
        (p, "normal", i, f"{p}{i}", f"2024-01-0{i + 1}", "**History**\n<i>Cough</i>", 3)
        for p in ("p1", "p2")
        for i in (0, 1)
    ]
    notes = pd.DataFrame(rows, columns=["patient", "version", "position", "note_id", "date", "note", "tokens"])
    html = QuestionForm(questions).filled(notes, "clinician")
    with opened(browser, tmp_path / "questions.html", html) as page:
        assert "<i>Cough</i>" in page.inner_text(".sheet:nth-child(2)")
        page.fill('textarea[aria-label="Choice A"]', " wet  COUGH ")
        page.fill('textarea[aria-label="Choice B"]', "Wet cough")
        page.click("#keep")
        assert page.inner_text("#problem") == "Choices are empty or the same: rewrite them, or remove the question."
        assert page.inner_text("#count") == "0 of 3 done", "it would be refused when it is returned"
        page.keyboard.press("r")
        page.click("#next")
        page.fill('textarea[aria-label="Question"]', "How was the cough?")
        page.fill('textarea[aria-label="Choice B"]', "Wet cough")
        reload_kept(page)
        assert page.input_value('textarea[aria-label="Question"]') == "How was the cough?"
        page.select_option("#category", "vitals")
        page.click("#keep")
        page.click("#next")
        page.check('input[name="answer"][value="C"]')
        page.keyboard.press("k")
        assert page.inner_text("#count") == "3 of 3 done"
        page.click("#next")
        text = downloaded(page)
    reviews = QuestionForm(questions).reviews({"c.json": text})
    counts = count_revisions(questions, reviews)
    assert (counts["removed"], counts["questions_revised"], counts["right_choices_revised"]) == (1, 1, 1)
    assert counts["distractors_revised"] == 2  # "Wet cough", and the former right choice
    assert [review.category for review in reviews.values()] == ["", "vitals", ""]
    assert list(revise(questions, reviews)["answer"]) == ["A", "C"]
