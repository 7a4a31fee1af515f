"""Headings of any text, and the sections of a clinical note, in the forms that models and physicians write.

A heading is marked up (``## Plan``, ``**Plan**``, ``**Plan:** rest``), in capitals, or alone on its line with a colon.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_TITLE = r"[A-Z][A-Za-z0-9 /&,()'-]{1,60}?"
_LIST_NUMBER = r"(?:\d{1,2}[.)][ \t]*)?"
_ANY_HEADING = re.compile(
    rf"^[ \t]*{_LIST_NUMBER}(?:"
    rf"\#{{1,6}}[ \t]*{_LIST_NUMBER}(?:\*\*|__)?(?P<hash>{_TITLE})[ \t]*:?[ \t]*(?:\*\*|__)?[ \t]*:?[ \t]*$"  # ## Plan
    rf"|(?:\*\*|__)[ \t]*{_LIST_NUMBER}(?P<bold>{_TITLE})[ \t]*:?[ \t]*(?:\*\*|__)[ \t]*:?"  # **Plan:** rest
    rf"|(?P<colon>{_TITLE})[ \t]*:[ \t]*$"  # Plan:
    rf"|(?P<capitals>[A-Z][A-Z0-9 /&,()'-]{{2,60}}?)[ \t]*:?[ \t]*$"  # PLAN
    rf")",
    re.MULTILINE,
)
OPENING = "opening"
"""Name of the text before the first heading."""


def heading_key(heading: str) -> str:
    """A heading in the form by which headings are compared: ``## Assessment & Plan:`` is ``assessment and plan``."""
    words = re.sub(r"[^a-z0-9]+", " ", heading.lower().replace("&", " and "))
    return " ".join(words.split())


def split_headings(text: str) -> dict[str, str]:
    """Parts of ``text`` by the key of their heading, without the headings; parts with the same heading are joined."""
    found = [(match.start(), match.end(), _key(match)) for match in _ANY_HEADING.finditer(text)]
    return _parts(text, found)


def split_at(text: str, headings: tuple[str, ...]) -> dict[str, str]:
    """Parts of ``text`` by given headings, which may be marked up, end in a colon or be followed by text after it."""
    names = {heading_key(heading): heading for heading in headings}
    words = "|".join(r"[ \t]*".join(re.escape(word) for word in heading.split()) for heading in headings)
    bold = r"(?:\*\*|__)?"
    mark = r"(?:\#{1,6}|\*\*|__|[-•*])?[ \t]*"
    pattern = re.compile(
        rf"^[ \t]*{mark}{_LIST_NUMBER}{bold}(?P<name>{words})(?:[ \t]*{bold}[ \t]*:[ \t]*{bold}|[ \t]*{bold}[ \t]*$)",
        re.IGNORECASE | re.MULTILINE,
    )
    found = [(match.start(), match.end(), names[heading_key(match["name"])]) for match in pattern.finditer(text)]
    return _parts(text, found)


def _key(match: re.Match[str]) -> str:
    return heading_key(next(name for name in match.groupdict().values() if name is not None))


def _parts(text: str, found: list[tuple[int, int, str]]) -> dict[str, str]:
    if not found:
        return {OPENING: text.strip()} if text.strip() else {}
    first = text[: found[0][0]].strip()
    parts = {OPENING: first} if first else {}
    ends = [start for start, _, _ in found[1:]] + [len(text)]
    for (_, start, name), end in zip(found, ends, strict=True):
        parts[name] = "\n".join(part for part in (parts.get(name, ""), text[start:end].strip()) if part)
    return parts


_HISTORY = (
    r"(?:(?:clinical|patient|medical|present)[ \t]+)?history"
    r"(?:[ \t]+of[ \t]+(?:(?:the[ \t]+)?present(?:ing)?[ \t]+(?:illness|complaints?)|symptoms|complaints))?"
    r"(?:[ \t]+(?:and|&)[ \t]+(?:symptoms|complaints))?"
    r"|hx|hpi|subjective|anamnesis"
)
_EXAMINATION = (
    r"(?:physical|phys\.?|clinical)[ \t]+ex(?:am(?:ination|\.)?|\.)?(?:[ \t]+(?:results|findings))?"
    r"|exam(?:ination)?(?:[ \t]+findings)?|physical|pe|px|pex|o/e|objective"
)
_SHORT = r"(?:[ \t]*\((?:hx|hpi|s|pe|px|o)\))?"  # History of Present Illness (HPI)
_NAME = rf"(?P<name>(?:{_HISTORY}|{_EXAMINATION}){_SHORT})"
_NUMBER = r"(?:\d[.)][ \t]*)?"
_MARK = r"(?:\*{1,3}|_{2})"
_MARKED, _PLAIN = _NAME.replace("?P<name>", "?P<marked>"), _NAME.replace("?P<name>", "?P<plain>")
_HEADING = re.compile(
    rf"^[ \t]*(?:"
    rf"{_NUMBER}\#{{1,6}}[ \t]*{_MARK}?[ \t]*{_NUMBER}{_NAME}[ \t]*:?[ \t]*{_MARK}?[ \t]*:?[ \t\r]*$"  # ### History
    rf"|(?:{_NUMBER}|[-•*>][ \t]+){_MARK}[ \t]*{_NUMBER}{_MARKED}[ \t]*:?[ \t]*{_MARK}[ \t]*:?"  # **History:** text
    rf"|{_NUMBER}{_PLAIN}[ \t]*(?::|[-–—](?:[ \t]|$)|[ \t\r]*$)"  # History: text
    rf")",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Section:
    """One section of a note: ``note[start:end]``, without its heading."""

    name: str  # "history", "physical_examination" or "other"
    start: int
    end: int


def split_sections(note: str) -> list[Section]:
    """Sections of ``note`` in order, at least one; text before the first heading is "other"."""
    return list(_split(note))


@lru_cache(maxsize=1024)
def _split(note: str) -> tuple[Section, ...]:
    found = list(_HEADING.finditer(note))
    if not found:
        return (Section("other", 0, len(note)),)
    sections = [Section("other", 0, found[0].start())] if note[: found[0].start()].strip() else []
    ends = [match.start() for match in found[1:]] + [len(note)]
    sections += [Section(_name(match), match.end(), end) for match, end in zip(found, ends, strict=True)]
    return tuple(sections)


def _name(heading: re.Match[str]) -> str:
    words = heading["name"] or heading["marked"] or heading["plain"]
    return "history" if re.fullmatch(f"(?:{_HISTORY}){_SHORT}", words, re.IGNORECASE) else "physical_examination"


def has_both_sections(note: str) -> bool:
    """Whether ``note`` has a history and a physical examination, both with text."""
    filled = {section.name for section in split_sections(note) if note[section.start : section.end].strip(" \t\n*_#:-")}
    return {"history", "physical_examination"} <= filled


def is_heading(line: str) -> bool:
    """Whether ``line`` is the heading of a section and nothing else."""
    found = _HEADING.match(line)
    return found is not None and not line[found.end() :].strip()


def section_at(note: str, position: int) -> str:
    """Name of the section at character ``position``; a heading belongs to the section that it opens."""
    name = "other"
    for section in split_sections(note):
        if position < section.end:
            return section.name
        name = section.name
    return name
