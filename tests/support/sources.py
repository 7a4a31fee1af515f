"""Outside data for some tests, and the mark that skips them without it."""

import os
from pathlib import Path

import pytest


def sources_folder() -> Path | None:
    """The folder named by the environment variable SOURCES, or ``../shared/data`` next to the repository."""
    folder = Path(os.environ.get("SOURCES") or Path(__file__).parents[3] / "shared" / "data")
    return folder if folder.is_dir() else None


needs_sources = pytest.mark.skipif(sources_folder() is None, reason="outside data is absent (set SOURCES)")
