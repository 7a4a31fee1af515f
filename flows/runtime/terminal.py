"""The width of the terminal that a command prints to, and lines that are broken at it."""

import re
import shutil
import textwrap

from tasks.progress import has_terminal

_WHOLE = re.compile(r"\[[^\[\]]{1,24}\]")
"""Intervals, which are not broken."""


def terminal_width() -> int | None:
    """Columns of the terminal; None where what is printed goes to a file or another program."""
    return shutil.get_terminal_size().columns if has_terminal() else None


def fitted(text: str, width: int | None, indent: int | None = None) -> str:
    """``text`` with lines broken at ``width``; as it is where there is no width.

    ``indent``: columns before further lines, by default two more than before the first one.
    """
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
