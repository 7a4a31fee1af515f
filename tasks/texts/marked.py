"""Tables of outside data in which people marked units of texts: their columns, and what their marks say."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from schemas.errors import SourceError
from tasks.texts.document import WHOLE
from tasks.texts.files import read_rows

Marks = Mapping[str, tuple[str | None, float | None]]
"""Word and value of a verdict by mark."""


def read_marked(file: Path, *columns: str) -> pd.DataFrame:
    """The rows of a file as text. Raises SourceError for a file without one of the columns."""
    table = pd.DataFrame([dict(row.values) for row in read_rows(file).rows]).fillna("")
    if missing := [name for name in columns if name not in table]:
        raise SourceError(f"{file}: no column {', '.join(missing)}; found {', '.join(table)}")
    return table.astype(str)


def marked_units(
    file: Path, marked: Iterable[tuple[str, str]], marks: Marks, *, prefix: str = "", **about: Any
) -> list[dict[str, Any]]:
    """Rows of VERDICTS on numbered units, each a text with its mark. Raises SourceError for a mark that is none."""
    rows = []
    for at, (text, mark) in enumerate(marked):
        if mark not in marks:
            raise SourceError(f"{file}: {text[:60]!r}: found mark {mark!r}; expected {', '.join(filter(None, marks))}")
        word, value = marks[mark]
        unit = {"item": WHOLE, "condition": "people", "unit": f"{prefix}{at}", "text": text}
        rows.append({**about, **unit, "verdict": word, "value": value})
    return rows
