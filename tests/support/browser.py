"""A headless Chromium for tests of pages; without one, they are skipped with a reason.

Playwright is imported where a browser starts: each worker collects the tests, and it takes a second.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium_path() -> str | None:
    """The installed Chromium or Chrome, if any."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


needs_chromium = pytest.mark.skipif(chromium_path() is None, reason=f"none of {', '.join(_NAMES)} is on PATH")


@contextmanager
def launched() -> Iterator[Browser]:
    """A running browser. Playwright occupies the thread's event loop until it is closed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(_ARGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, file: Path, html: str, **viewport: int) -> Iterator[Page]:
    """A page in a fresh profile. Any script error, console error or dialog fails the test on exit."""
    file.write_text(html, encoding="utf-8")
    complaints: list[str] = []
    with fresh_profile(browser) as context:
        page = context.new_page()
        if viewport:
            page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(file.as_uri())
        yield page
        assert complaints == []


@contextmanager
def fresh_profile(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile that can only open files: any other request fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    outside: list[str] = []
    context.on("request", lambda sent: _note_outside(outside, sent.url))
    try:
        yield context
        assert not outside, f"the page asked for outside resources: {outside}"
    finally:
        context.close()


def _note_outside(outside: list[str], url: str) -> None:
    if not url.startswith(("file:", "blob:", "data:")):
        outside.append(url)


def reload_kept(page: Page) -> None:
    """Reload a form as a person would, a moment after the last entry, so that it finds what it kept.

    Chromium hands what a page keeps to another process, which a reload may overtake on a busy machine: it is then put
    back as the form had written it, and given more time.
    """
    page.wait_for_timeout(1000)
    kept = page.evaluate("Object.entries(localStorage).sort()")
    for pause in (0, 2000, 4000, 8000):
        page.wait_for_timeout(pause)
        page.reload()
        if page.evaluate("Object.entries(localStorage).sort()") == kept:
            return
        page.evaluate("kept => kept.forEach(([name, value]) => localStorage.setItem(name, value))", kept)


def returned(page: Page) -> str:
    """The file of a finished form."""
    page.click("#finish")
    with page.expect_download() as download:
        page.click("#download")
    return Path(download.value.path()).read_text(encoding="utf-8")
