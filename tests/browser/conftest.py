"""One browser for the tests of a module; each test opens a fresh profile in it.

Playwright keeps an event loop in the worker until it ends, in which no other module may run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as running:
        yield running
