"""Markdown tables and code of the reference pages."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, cells escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines) + "\n"


def cell(text: str) -> str:
    """``text`` as one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    """Inline code; empty for an empty text."""
    return f"`{text}`" if str(text) else ""
