"""One browser for the tests of a module; each test opens a fresh profile in it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as running:
        yield running
