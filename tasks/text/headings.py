"""Headings of any text, in the forms that models and physicians write.

A heading is marked up (``## Plan``, ``**Plan**``, ``**Plan:** rest``), in capitals, or ends in a colon and is alone
on its line.
"""

import re

_NAME = r"[A-Z][A-Za-z0-9 /&,()'-]{1,60}?"
_NUMBER = r"(?:\d{1,2}[.)][ \t]*)?"
_HEADING = re.compile(
    rf"^[ \t]*{_NUMBER}(?:"
    rf"\#{{1,6}}[ \t]*{_NUMBER}(?:\*\*|__)?(?P<hash>{_NAME})[ \t]*:?[ \t]*(?:\*\*|__)?[ \t]*:?[ \t]*$"  # ## Plan
    rf"|(?:\*\*|__)[ \t]*{_NUMBER}(?P<bold>{_NAME})[ \t]*:?[ \t]*(?:\*\*|__)[ \t]*:?"  # **Plan:** rest
    rf"|(?P<colon>{_NAME})[ \t]*:[ \t]*$"  # Plan:
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
    found = [(match.start(), match.end(), _key(match)) for match in _HEADING.finditer(text)]
    return _split(text, found)


def split_at(text: str, headings: tuple[str, ...]) -> dict[str, str]:
    """Parts of ``text`` by given headings, which may be marked up, end in a colon or be followed by text after it."""
    names = {heading_key(heading): heading for heading in headings}
    words = "|".join(r"[ \t]*".join(re.escape(word) for word in heading.split()) for heading in headings)
    bold = r"(?:\*\*|__)?"
    mark = r"(?:\#{1,6}|\*\*|__|[-•*])?[ \t]*"
    pattern = re.compile(
        rf"^[ \t]*{mark}{_NUMBER}{bold}(?P<name>{words})(?:[ \t]*{bold}[ \t]*:[ \t]*{bold}|[ \t]*{bold}[ \t]*$)",
        re.IGNORECASE | re.MULTILINE,
    )
    found = [(match.start(), match.end(), names[heading_key(match["name"])]) for match in pattern.finditer(text)]
    return _split(text, found)


def _key(match: re.Match[str]) -> str:
    return heading_key(next(name for name in match.groupdict().values() if name is not None))


def _split(text: str, found: list[tuple[int, int, str]]) -> dict[str, str]:
    if not found:
        return {OPENING: text.strip()} if text.strip() else {}
    first = text[: found[0][0]].strip()
    parts = {OPENING: first} if first else {}
    ends = [start for start, _, _ in found[1:]] + [len(text)]
    for (_, start, name), end in zip(found, ends, strict=True):
        parts[name] = "\n".join(part for part in (parts.get(name, ""), text[start:end].strip()) if part)
    return parts
