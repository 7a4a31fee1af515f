"""What the report shows of measures (report.yaml in their folders). No stage but those of the report reads it."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def report(part: str) -> dict[str, Any]:
    """A part of report.yaml by measure: ``tables``, ``headlines``, ``key_figures``, or ``against_truth``."""
    found = {}
    for file in (folder / "report.yaml" for folder in sorted(Path(__file__).parent.iterdir())):
        if file.is_file() and part in (said := yaml.safe_load(file.read_text(encoding="utf-8"))):
            found[file.parent.name] = said[part]
    return found
