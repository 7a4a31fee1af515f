"""The report in a real browser: texts of notes and models are shown, never run."""

from pathlib import Path

import pandas as pd
import pytest

from tasks.reporting.notes_view import notes_view
from tasks.reporting.page import render_page
from tests.support.browser import browser_context, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

HOSTILE = (
    "Cough</script><script>window.ran='script'</script><img src=x onerror=\"window.ran='image'\">"
    "<svg onload=\"window.ran='svg'\"></svg> & <b>bold</b> ]]> <!-- --> \u2028 {{ 7 * 7 }}"
)


def test_markup_and_script_in_notes_prompts_and_model_texts_are_shown_and_never_run(tmp_path: Path):
    one = {"record": [4]}
    spans = [(4, version, "cough", 0, 5) for version in ("normal", "compact")]
    attempts = {"record": [4, 4], "attempt": [0, 1], "note": HOSTILE, "explanation": HOSTILE}
    notes = notes_view(
        pd.DataFrame({**one, "cough": "yes"}),
        pd.DataFrame({**one, "kind": "symptoms", "single_prompt": HOSTILE, "descriptors": "{}"}),
        pd.DataFrame(attempts),
        pd.DataFrame({**one, "note": HOSTILE, "attempt": 1}),
        pd.DataFrame({**one, "compact": HOSTILE}),
        pd.DataFrame(spans, columns=["record", "version", "symptom", "start", "end"]),
        1,
    )
    empty = {"tiles": [], "reproduction": [], "tables": [], "published_tables": [], "embedded_roles": []}
    page = render_page(
        notes=notes,
        symptoms=["cough"],
        record_count=1,
        dag="",
        fingerprints={HOSTILE: HOSTILE},
        params=HOSTILE,
        **empty,
    )
    file = tmp_path / "index.html"
    file.write_text(page, encoding="utf-8")
    with browser_context() as context:
        shown = context.new_page()
        shown.on("pageerror", lambda error: pytest.fail(f"script error: {error}"))
        shown.goto(file.as_uri())
        shown.click("#note-list li >> nth=0")
        shown.wait_for_timeout(200)
        assert shown.evaluate("window.ran") is None
        text = shown.inner_text("#note-view")
        assert text.count("<script>window.ran='script'</script>") >= 2 and "{{ 7 * 7 }}" in text
        assert shown.locator("main img, #note-view svg, #note-view script, #note-view b").count() == 0
        assert "<b>bold</b>" in shown.inner_text("#provenance")
