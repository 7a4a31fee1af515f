"""Rows of a data file, and the defects found in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas.errors import SourceError

SHOWN = 20
"""Most defects that are listed."""


@dataclass(frozen=True)
class Row:
    """One row of a data file, and its place for messages (``data.jsonl: line 3``)."""

    place: str
    values: Mapping[str, Any]


class Defects:
    """Collects defects, to report them together."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, place: str, message: str) -> None:
        """Add one defect."""
        self._lines.append(f"{place}: {message}")

    def extend(self, others: "Defects") -> None:
        """Add the defects of ``others``."""
        self._lines += others._lines

    def __bool__(self) -> bool:
        return bool(self._lines)

    def refuse(self) -> None:
        """Raises SourceError with a line for each defect, if there are any."""
        if self._lines:
            more = len(self._lines) - SHOWN
            rest = [f"... and {more} more"] if more > 0 else []
            raise SourceError("\n".join([*self._lines[:SHOWN], *rest]))
