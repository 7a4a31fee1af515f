"""One browser for all tests of pages; each test opens a fresh profile in it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import launched


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with launched() as running:
        yield running
