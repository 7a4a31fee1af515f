"""The two sections of a clinical note, found by their headings."""

import re
from dataclasses import dataclass

_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?(?:\*{1,2}|__)?[ \t]*"
    r"(?P<name>history(?: of present(?:ing)? illness)?|hx|hpi"
    r"|physical[ \t]+exam(?:ination)?(?:[ \t]+(?:results|findings))?|exam(?:ination)?|PE)"
    r"[ \t]*:?[ \t]*(?:\*{1,2}|__)?[ \t]*:?(?=[ \t]|$)",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Section:
    """A stretch of a note: ``note[start:end]`` without its heading."""

    name: str  # "history", "physical_examination" or "other"
    start: int
    end: int


def split_sections(note: str) -> list[Section]:
    """Sections of ``note`` in order; text before the first heading is "other". Never empty, covers all but headings."""
    found = list(_HEADING.finditer(note))
    if not found:
        return [Section("other", 0, len(note))]
    sections = [Section("other", 0, found[0].start())] if note[: found[0].start()].strip() else []
    ends = [match.start() for match in found[1:]] + [len(note)]
    for match, end in zip(found, ends, strict=True):
        name = "history" if match["name"].lower().startswith(("h", "hx")) else "physical_examination"
        sections.append(Section(name, match.end(), end))
    return sections


def section_at(note: str, position: int) -> str:
    """Name of the section that holds character ``position``; a heading belongs to the section that it opens."""
    name = "other"
    for section in split_sections(note):
        if position < section.end:
            return section.name
        name = section.name
    return name
