"""Reads the notes in a writer's reply."""

import re
from itertools import pairwise

from tasks.text.sections import has_both_sections, split_sections

_SEPARATOR = re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?P<line>.*\S.*)\n[ \t]*(?:-{3,}|={3,})[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"\A```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_TITLE_LINE = (
    r"[ \t]*(?:#{1,6}[ \t]*)?(?:\*{1,2})?[ \t]*(?:clinical[ \t]+|consultation[ \t]+)?"
    r"(?:note|patient|case|consultation)[ \t]*(?:#?\d+)?[ \t]*[:.]?[ \t]*(?:\*{1,2})?[ \t]*:?[ \t]*"
)
_TITLE = re.compile(rf"\A(?:{_TITLE_LINE}\n+)+", re.IGNORECASE)
_NEXT_TITLE = re.compile(rf"(?:\n{_TITLE_LINE})+\Z", re.IGNORECASE)


def read_note(reply: str) -> str | None:
    """The note in a reply, without code fence, title and separators; None if a section is missing or empty.

    A reply with two histories has two notes; as either may be meant, the result is None.
    """
    note = _strip(reply)
    return note if has_both_sections(note) and _count_histories(note) == 1 else None


def read_notes(reply: str, *, cut_off: bool = False) -> list[str]:
    """The complete notes in a reply to a request for several, in order; parts without both sections are left out.

    Notes are separated by lines of dashes or, without these, by the heading of each history. The last note of a
    ``cut_off`` reply is always left out.
    """
    fenced = _FENCE.match(reply.strip())
    text = _UNDERLINED.sub(_without_underline, fenced[1] if fenced else reply)
    parts = [part for part in _SEPARATOR.split(text) if part.strip()]
    pieces = [piece for part in parts for piece in _split_at_histories(part)]
    whole = pieces[:-1] if cut_off else pieces
    return [note for piece in whole if (note := read_note(piece)) is not None]


def _without_underline(found: re.Match[str]) -> str:
    """Remove a line of dashes that underlines a heading, since it does not separate notes."""
    heads = split_sections(found["line"])[0].name != "other"
    return found["line"] if heads else found.group()


def _strip(reply: str) -> str:
    fenced = _FENCE.match(reply.strip())
    text = _SEPARATOR.sub("", fenced[1] if fenced else reply).strip()
    return _NEXT_TITLE.sub("", _TITLE.sub("", text)).strip()


def _count_histories(note: str) -> int:
    """Number of histories in a note; consecutive headings of a history count once."""
    names = [section.name for section in split_sections(note)]
    return sum(name == "history" and before != "history" for before, name in zip([None, *names], names, strict=False))


def _split_at_histories(part: str) -> list[str]:
    """Split before each history that follows a physical examination."""
    sections = split_sections(part)
    cuts = [0]
    for before, section in pairwise(sections):
        if before.name == "physical_examination" and section.name == "history":
            cuts.append(part.rindex("\n", 0, section.start - 1) + 1 if "\n" in part[: section.start - 1] else 0)
    return [part[start:end] for start, end in zip(cuts, [*cuts[1:], len(part)], strict=True)]
