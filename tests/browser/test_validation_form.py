"""The form for validating omissions in a real browser, opened from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from schemas.params.measures import FormSample
from tasks.people.omission_form import OmissionForm
from tests.support.browser import downloaded, needs_chromium, opened, reload_kept

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.soak, needs_chromium]

COUNT = 400
"""More facts than a strip of buttons holds."""
HOSTILE = "Coughs <img src=x onerror=\"window.ran='fact'\"><b>a lot</b>"
DIFFERENTIALS = pd.DataFrame({"document": ["7"], "diagnosis": ["flu"], "likelihood": ["probable"]})


def filled(count: int, **sample: bool) -> tuple[OmissionForm, str]:
    """A form of one document with so many facts, and its page."""
    names = {"fact": [f"F{n:03d}" for n in range(count)]}
    texts = [HOSTILE, *(f"Fact number {n}." for n in range(1, count))]
    table = pd.DataFrame(names | {"document": "7", "text": texts, "category": "other"})
    table = table.assign(supports='["flu"]', refutes="[]")
    form = OmissionForm(table.assign(omitted=True), count, FormSample(**sample), count)
    return form, form.filled(table, DIFFERENTIALS, {"7": "Pt coughs."}, "dr_a")


def test_facts_are_judged_by_keys_kept_over_a_reload_and_exported(browser: Browser, tmp_path: Path) -> None:
    form, html = filled(COUNT)
    with opened(browser, tmp_path / "omissions.html", html) as page:
        work = page.locator("main.work").bounding_box()
        assert work and work["height"] > 600  # the strip of facts leaves room for the work
        assert page.inner_text(".fact") == HOSTILE
        assert page.inner_text(".sheet li.on") == HOSTILE
        assert page.input_value("#supports") == "" and '"judge":' not in html
        for keys, supports in ((("n", "1"), "1"), (("y", "3"), "0"), (("p", "3"), "1")):
            for key in keys:
                page.keyboard.press(key)
            page.fill("#supports", supports)
            page.fill("#refutes", "0")
            page.locator("#refutes").blur()
            if keys[0] != "p":
                page.click("#next")
        assert "400 of 400 facts" in page.text_content("details.why")
        reload_kept(page)
        assert page.inner_text("#count") == f"3 of {COUNT} done"
        assert page.inner_text(".fact") == "Fact number 2."
        assert page.evaluate("window.ran") is None
        page.click("#finish")
        text = downloaded(page)
    given = form.validations({"a.json": text}).set_index("fact")
    assert given["included"].to_dict() == {"F000": "no", "F001": "yes", "F002": "partially"}
    assert given["category"].to_dict() == {"F000": "critical", "F001": "other", "F002": "other"}
    assert given["supports"].tolist() == [1, 0, 1]


def test_the_judges_grades_are_shown_only_if_asked_for_and_after_ones_own(browser: Browser, tmp_path: Path) -> None:
    _, html = filled(1, show_judge=True)
    with opened(browser, tmp_path / "omissions.html", html) as page:
        page.keyboard.press("y")
        page.fill("#supports", "0")
        page.fill("#refutes", "1")
        page.locator("#refutes").blur()
        assert page.inner_text("#judge") == ""
        page.keyboard.press("2")
        assert page.inner_text("#judge") == "The judge: supports 1, speaks against 0, other."


def test_counts_are_typed_into_their_boxes_and_an_impossible_one_is_not_an_answer(
    browser: Browser, tmp_path: Path
) -> None:
    _, html = filled(2)
    with opened(browser, tmp_path / "omissions.html", html) as page:
        page.keyboard.press("y")
        page.focus("input[value=other]")
        page.keyboard.press("3")
        assert page.evaluate("document.activeElement.value") == "other", "a redrawn box keeps the focus"
        page.click("#supports")
        page.keyboard.type("1")
        page.keyboard.press("Tab")
        page.keyboard.type("12")  # of one diagnosis
        assert page.evaluate("[entry().category, entry().supports, entry().refutes]") == ["other", 1, None]
        assert page.inner_text("#count") == "0 of 2 done" and page.inner_text("#next") == "Leave for later"
        assert page.locator("#strip .started").count() == 1
        page.click("#finish")
        assert "leaves out answers that are only started: fact 1." in page.inner_text("#send")
        page.keyboard.press("Escape")
        page.fill("#refutes", "0")
        page.press("#refutes", "Enter")
        assert page.inner_text("#count") == "1 of 2 done" and page.inner_text(".fact") == "Fact number 1."
        page.keyboard.press("p")
        assert page.evaluate("entry().included") == "partially", "keys answer the new fact"
