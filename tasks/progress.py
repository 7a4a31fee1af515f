"""The one progress bar: in a terminal, when work takes more than a few seconds, and gone when it ends."""

import sys

from tqdm import tqdm

SHOWN_AFTER_SECONDS = 3


def progress(title: str, total: int, unit: str) -> "tqdm[None]":
    """A bar of ``total`` units, a context manager; call ``update(n)`` on it."""
    return tqdm(
        total=total, desc=title, unit=unit, delay=SHOWN_AFTER_SECONDS, leave=False, disable=None, file=sys.__stderr__
    )
