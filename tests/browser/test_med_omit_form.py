"""The form of facts in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.measures.test_med_omit_form import FORM, JUDGED
from tests.support.browser import needs_chromium, opened, returned

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, needs_chromium]


def test_the_form_is_filled_in_by_keyboard_and_its_file_is_read(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path / "facts.html", FORM.filled(JUDGED, {"7": "He has a fever."}, "r")) as page:
        for _ in range(len(FORM.shown)):
            page.keyboard.press("y")
            page.keyboard.press("2")
            page.fill("#supports", "1")
            page.fill("#refutes", "0")
            page.keyboard.press("Enter")
        page.get_by_text("Close").click()
        given = FORM.validations({"r.json": returned(page)})
    assert (given[["included", "category", "supports", "refutes"]] == ["yes", "important", 1, 0]).all(axis=None)
