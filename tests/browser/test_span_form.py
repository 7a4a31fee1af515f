"""The form for checking extracted phrases in a real browser, opened from a file."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tasks.people.span_form import SpanForm
from tests.support.browser import downloaded, needs_chromium, opened, reload_kept
from tests.support.span_review import NOTES, SPAN_TABLE, SYMPTOMS, drawn

pytestmark = [pytest.mark.browser, needs_chromium]

SELECT = """phrase => {
  const walker = document.createTreeWalker(document.getElementById('note'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.textContent.indexOf(phrase);
    if (at >= 0) getSelection().setBaseAndExtent(node, at, node, at + phrase.length);
  }
}"""


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
