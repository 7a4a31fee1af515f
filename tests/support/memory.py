"""Measures the memory of this process, which the client and a fake endpoint share."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def growth_below(most: int) -> Iterator[None]:
    """Assert that the block takes less than ``most`` bytes on top of what the process held before."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = _peak()
    yield
    assert _peak() - before < most


def _peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024
