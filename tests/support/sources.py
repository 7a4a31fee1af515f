"""Outside data for some tests, and the mark that skips them without it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest


def sources_folder() -> Path | None:
    """The folder named by the environment variable SOURCES, or ``../shared/data`` next to the repository."""
    folder = Path(os.environ.get("SOURCES") or Path(__file__).parents[3] / "shared" / "data")
    return folder if folder.is_dir() else None


needs_sources = pytest.mark.skipif(sources_folder() is None, reason="outside data is absent (set SOURCES)")


def real_notes() -> list[dict[str, Any]]:
    """The 50 published notes with their spans (an empty list if there are none)."""
    folder = sources_folder()
    assert folder is not None
    lines = (folder / "simsum" / "real_notes_50.jsonl").read_text(encoding="utf-8").splitlines()
    notes = [json.loads(line) for line in lines]
    return [{**n, "normal_spans": n["normal_spans"] or [], "compact_spans": n["compact_spans"] or []} for n in notes]
