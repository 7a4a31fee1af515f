"""Split a note into units that can support a claim: sentences with heading, label and paragraph."""

import re
from dataclasses import dataclass, field

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.content_words import Word, read
from tasks.text.sentences import sentences

_BULLET = re.compile(r"^\s*(?:[•\-*#>]+|\d{1,2}[.)])\s*")
_LABEL = re.compile(r"^(?P<label>[A-Za-z][^:.\n]{0,60}):\s*(?P<rest>.*)$")
_NOTHING = re.compile(r"^\W*(?:none|no|nil|denied|denies|negative|absent)\b[\W]*$", re.IGNORECASE)
HEADING_WORDS = 6

Polarity = dict[str, frozenset[bool]]
"""Maps a content word to its polarities: asserted (False), negated (True), or both."""


@dataclass(frozen=True)
class Unit:
    """A sentence of a premise, with the polarity of the words of its heading and paragraph, and its label's words."""

    words: tuple[Word, ...]
    own: Polarity = field(compare=False, hash=False)
    heading: Polarity = field(compare=False, hash=False)
    label: frozenset[str] = field(compare=False, hash=False)
    paragraph: Polarity = field(compare=False, hash=False)
    text: str = ""


@domain_cache(maxsize=2_000)
def units(premise: str) -> tuple[Unit, ...]:
    """Return the units of ``premise`` in order."""
    lines = [line for line in premise.split("\n") if line.strip()]
    found: list[Unit] = []
    heading: Polarity = {}
    for number, line in enumerate(lines):
        text = _BULLET.sub("", line).strip()
        match = _LABEL.match(text)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if _is_heading(line, text, match, following):
            heading = polarity_of(read(text))
        found.extend(_line_units(text, match, heading))
    return tuple(found)


def _is_heading(line: str, text: str, label: re.Match[str] | None, following: str) -> bool:
    if len(text.split()) > HEADING_WORDS:
        return False
    if text.isupper() or text.endswith(":"):
        return True
    opens = bool(_BULLET.match(following)) or _LABEL.match(_BULLET.sub("", following).strip()) is not None
    bullet = bool(re.match(r"^\s*[•\-*]", line))
    return label is None and not bullet and opens


def polarity_of(words: tuple[Word, ...]) -> Polarity:
    """Return the polarities of ``words``; the place of a denied finding has both."""
    found: dict[str, set[bool]] = {}
    for word in words:
        both = word.context == "place" and word.kind == "word"
        found.setdefault(word.key, set()).update((True, False) if both else (word.negated,))
    return {key: frozenset(values) for key, values in found.items()}


def _line_units(text: str, match: re.Match[str] | None, heading: Polarity) -> list[Unit]:
    label: frozenset[str] = frozenset()
    if match and match["rest"]:
        if _NOTHING.match(match["rest"]):
            text = f"no {match['label']}"
        else:
            label, text = frozenset(word.key for word in read(match["label"])), match["rest"]
    parts = [(sentence, read(sentence)) for sentence in sentences(text)]
    paragraph = polarity_of(tuple(word for _, words in parts for word in words))
    return [Unit(words, polarity_of(words), heading, label, paragraph, sentence) for sentence, words in parts if words]
