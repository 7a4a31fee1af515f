"""The width of the terminal that a command prints to, lines that are broken at it, and aligned columns."""

import re
import shutil
import textwrap
from collections.abc import Sequence

from tasks.progress import has_terminal

_WHOLE = re.compile(r"\[[^\[\]]{1,24}\]")
"""Intervals, which are not broken."""


def aligned(rows: Sequence[Sequence[str]], numbers: range = range(0)) -> list[str]:
    """Lines of columns as wide as their longest cell; those at the places ``numbers`` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(c.rjust(w) if at in numbers else c.ljust(w) for at, (c, w) in cells).rstrip())
    return lines


def terminal_width() -> int | None:
    """Columns of the terminal; None where what is printed goes to a file or another program."""
    return shutil.get_terminal_size().columns if has_terminal() else None


def fitted(text: str, width: int | None = None, indent: int | None = None) -> str:
    """``text`` with lines broken at ``width``, by default that of the terminal; as it is where there is none.

    ``indent``: columns before further lines, by default two more than before the first one.
    """
    width = width or terminal_width()
    if width is None:
        return text
    return "\n".join(_broken(line, width, indent) for line in text.split("\n"))


def _broken(line: str, width: int, indent: int | None) -> str:
    if len(line) <= width:
        return line
    margin = len(line) - len(line.lstrip())
    broken = textwrap.fill(
        _WHOLE.sub(lambda found: found[0].replace(" ", "\0"), line.lstrip()),
        width,
        initial_indent=" " * margin,
        subsequent_indent=" " * (margin + 2 if indent is None else indent),
        break_long_words=False,  # addresses, paths and names stay whole
        break_on_hyphens=False,
    )
    return broken.replace("\0", " ")
