"""Where tests find outside data: the folder in SOURCES, by default ``../shared/data`` beside the repository."""

import os
from pathlib import Path

import pytest

_DEFAULT = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def sources_folder() -> Path | None:
    """The folder of outside data, if there is one."""
    folder = Path(os.environ.get("SOURCES") or _DEFAULT)
    return folder if folder.is_dir() else None


needs_sources = pytest.mark.skipif(sources_folder() is None, reason="outside data absent: set SOURCES to its folder")
