"""The form for checking extracted phrases in a real browser, opened from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tasks.people.span_form import SpanForm, draw_notes
from tests.support.browser import downloaded, needs_chromium, opened, reload_kept
from tests.support.span_review import COMPACT, NOTES, SPAN_TABLE, SYMPTOMS, drawn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.soak, needs_chromium]

SELECT = """phrase => {
  const walker = document.createTreeWalker(document.getElementById('note'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.textContent.indexOf(phrase);
    if (at >= 0) getSelection().setBaseAndExtent(node, at, node, at + phrase.length);
  }
}"""

ROWS = """() => {
  const strip = document.getElementById('strip'), top = strip.getBoundingClientRect().top + strip.clientTop;
  const shares = [...strip.children].map((number) => {
    const { top: from, bottom: to, height } = number.getBoundingClientRect();
    return (Math.min(to, top + strip.clientHeight) - Math.max(from, top)) / height;
  });
  return [shares.filter((share) => share > 0.03 && share < 0.97).length, shares[state.at] > 0.97];
}"""
"""How many numbers of the strip are cut by its edge, and whether the current one is shown whole."""


def test_phrases_are_marked_added_and_kept_and_come_back_at_their_places(browser: Browser, tmp_path: Path) -> None:
    labels = {"cough": "cough", "fever": "<b>fever</b>"}
    html = SpanForm(drawn(), SPAN_TABLE, SYMPTOMS).filled(labels, "clinician")
    with opened(browser, tmp_path / "spans.html", html) as page:
        assert page.locator("mark.found").count() == 3
        phrase, said = (page.locator(f".asserted >> nth=0 >> {part}").bounding_box() for part in ("label", "select"))
        assert phrase["x"] + phrase["width"] <= said["x"], "what a phrase asserts is beside it"
        assert phrase["y"] < said["y"] + said["height"] / 2 < phrase["y"] + phrase["height"]
        page.keyboard.press("c")  # the dog's cough
        assert page.inner_text("mark.wrong") == "His dog coughs"
        page.select_option("select[aria-label='What the note asserts: No fever']", "absent")
        assert page.locator("mark.hollow").inner_text() == "No fever"
        page.evaluate(SELECT, " since May")  # behind a character of two UTF-16 units
        page.keyboard.press("1")
        assert page.inner_text("mark.missed") == "since May"
        reload_kept(page)
        assert page.locator("mark.missed").count() == 1 and page.locator("mark.hollow").count() == 1
        page.keyboard.press("Enter")
        page.fill("#typed", "T 38")
        page.click("button:has-text('<b>fever</b>')")
        assert page.inner_text("#count") == "1 of 4 done"
        page.click("#typed")
        page.keyboard.press("Tab")
        page.locator("body").press("Enter")
        page.evaluate("document.activeElement.blur()")
        page.click("#next")
        page.click("#finish")
        text = downloaded(page)
    form = SpanForm(drawn(), SPAN_TABLE, SYMPTOMS)
    counts, asserted = form.counts({"a.json": text}), form.assertions({"a.json": text})
    assert asserted.loc[asserted["version"] == "normal", "right"].tolist() == [True, False]
    found = counts.set_index(["record", "version", "symptom"])
    assert found.loc[(3, "normal", "cough"), ["incorrect", "missing"]].tolist() == [1, 1]
    assert found.loc[(3, "compact", "fever"), "missing"] == 1
    start = NOTES["note"][0].index("since May")
    assert f'"start": {start},' in text


def test_headings_are_shown_without_asterisks_and_places_behind_them_count_the_asterisks(
    browser: Browser, tmp_path: Path
) -> None:
    text = "**History**\n" + "All is well.\n" * 60 + "**Examination** 😷\n**Lungs:** clear, cough."
    form = SpanForm(draw_notes(NOTES.assign(note=text), COMPACT, 2, seed=1), SPAN_TABLE.head(0), SYMPTOMS)
    with opened(browser, tmp_path / "spans.html", form.filled({}, "clinician")) as page:
        shown = page.inner_text("#note")
        assert shown.startswith("History\n") and "Lungs: clear" in shown and "*" not in shown
        assert page.locator("#note strong").all_inner_texts() == ["History", "Examination", "Lungs:"]
        page.evaluate("document.getElementById('note').scrollTop = 400")
        page.evaluate(SELECT, "cough")
        page.keyboard.press("1")
        assert page.inner_text("mark.missed") == "cough"
        assert page.evaluate("document.getElementById('note').scrollTop") == 400, "the note stays where it was"
        assert page.evaluate("entry().missing[0].start") == text.index("cough")
        page.evaluate("getSelection().selectAllChildren(document.querySelector('#note strong').parentNode)")
        assert page.evaluate("selected()") == {"start": 2, "end": len(text)}, "asterisks at the edges are left out"


@pytest.mark.parametrize("width", [1400, 800])
def test_the_strip_shows_whole_rows_and_note_and_questions_lie_side_by_side(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    numbers = range(1, 101)
    many = (
        pd.DataFrame({"record": numbers, "note": NOTES["note"][0]}),
        pd.DataFrame({"record": numbers, "compact": "-"}),
    )
    form = SpanForm(draw_notes(*many, 100, seed=1), SPAN_TABLE.head(0), SYMPTOMS)
    html = form.filled({}, "clinician")
    with opened(browser, tmp_path / "spans.html", html, width=width, height=900) as page:
        for at in (0, 90, 199):
            page.evaluate("at => go(at)", at)
            cut, current = page.evaluate(ROWS)
            assert (cut, current) == (0, True), at
        note, panel = (page.locator(place).bounding_box() for place in ("#note", "#panel"))
        assert note["x"] + note["width"] <= panel["x"] and panel["y"] + panel["height"] <= 900
        assert page.evaluate("document.documentElement.scrollWidth") <= width
