"""A text as places that can support a claim: sentences with heading, label and paragraph, and windows of them.

A window is a sentence or two neighbours, with label, heading, paragraph and the rest of the text. Also parses what the
judge's prompts list: numbered claims, facts with ids, diagnoses with likelihoods.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.lexicon import stem
from tasks.simulator.judge.scopes import Word, read
from tasks.simulator.request import ChatRequest
from tasks.text.sentences import sentences

_NUMBERED = re.compile(r"^\[?(\d+)[.\]]\s*(.*)$")
_FACT = re.compile(r"^(F\d+):\s*(.*)$")


def numbered(block: str) -> list[tuple[int, str]]:
    """Return the lines of the form ``3. text`` or ``[3] text``."""
    matches = (_NUMBERED.match(line.strip()) for line in block.split("\n"))
    return [(int(match[1]), match[2]) for match in matches if match]


def facts(request: ChatRequest) -> dict[str, str]:
    """Return the facts by id."""
    matches = (_FACT.match(line.strip()) for line in request.tag("facts").split("\n"))
    return {match[1]: match[2] for match in matches if match}


def differential(request: ChatRequest) -> list[tuple[str, str]]:
    """Return the (diagnosis, likelihood) pairs in order."""
    lines = (line.rsplit(":", 1) for line in request.tag("differential").split("\n") if ":" in line)
    return [(name.strip(), likelihood.strip()) for name, likelihood in lines]


BULLET = re.compile(r"^\s*(?:[•\-*#>]+|\d{1,2}[.)])\s*")
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
        text = BULLET.sub("", line).strip()
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
    opens = bool(BULLET.match(following)) or _LABEL.match(BULLET.sub("", following).strip()) is not None
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


WEIGHTS = {"word": 1.0, "light": 0.3, "number": 1.0, "side": 0.6, "body": 1.0, "drug": 1.5}
CONTEXT, PARAGRAPH, ELSEWHERE = 0.9, 0.7, 0.35


@dataclass(frozen=True)
class Layers:
    """A window of a text and its context, from the inside out."""

    own: Polarity
    heading: Polarity
    label: frozenset[str]
    paragraph: Polarity
    whole: Polarity
    possible: frozenset[str]

    def table(self, layer: str) -> Polarity:
        """Return the polarities of the words of a layer; empty for one without them."""
        tables = {"own": self.own, "heading": self.heading, "paragraph": self.paragraph, "whole": self.whole}
        return tables.get(layer, {})

    def look(self, word: Word) -> tuple[float, str]:
        """Return the credit for a word of the claim and the nearest layer that contains it ("none" if absent)."""
        key = word.key
        if key in self.own or (word.kind == "side" and self._has_side(key)):
            return 1.0, "own"
        if key in self.label:
            return CONTEXT, "label"
        if key in self.heading:
            return CONTEXT, "heading"
        if key in self.paragraph:
            return PARAGRAPH, "paragraph"
        return (ELSEWHERE, "whole") if key in self.whole else (0.0, "none")

    def _has_side(self, key: str) -> bool:
        """Whether the window has a side in other words: "more on the right", both sides, the left and the right."""
        more, both = stem(f"{key}more") in self.own, "both" in self.own
        return more or both or (key == "both" and {"left", "right"} <= self.own.keys())


def merge(parts: Iterable[Polarity]) -> Polarity:
    """Merge polarity tables."""
    found: dict[str, frozenset[bool]] = {}
    for part in parts:
        for key, values in part.items():
            found[key] = found.get(key, frozenset()) | values
    return found


@domain_cache(maxsize=500)
def windows(premise: str) -> tuple[tuple[int, Layers], ...]:
    """Return each sentence and each pair of neighbours with context; the number is the index of the first sentence."""
    places = units(premise)
    whole = merge(unit.own for unit in places)
    found = []
    for at in range(len(places)):
        ends = (at + 1, at + 2) if at + 1 < len(places) else (at + 1,)
        found += [(at, _layers(places[at:end], whole)) for end in ends]
    return tuple(found)


def _layers(window: tuple[Unit, ...], whole: Polarity) -> Layers:
    return Layers(
        merge(unit.own for unit in window),
        merge(unit.heading for unit in window),
        frozenset().union(*(unit.label for unit in window)),
        merge(unit.paragraph for unit in window),
        whole,
        _suppositions(word for unit in window for word in unit.words),
    )


def _suppositions(words: Iterable[Word]) -> frozenset[str]:
    """Words that are stated as possible only, wherever they occur."""
    keys: dict[bool, set[str]] = {True: set(), False: set()}
    for word in words:
        keys[word.possible].add(word.key)
    return frozenset(keys[True] - keys[False])


def coverage(words: tuple[Word, ...], layers: Layers) -> float:
    """Return the weighted share of a claim's words found in a window and its context, in [0, 1]."""
    total = sum(WEIGHTS[word.kind] for word in words)
    return sum(WEIGHTS[word.kind] * layers.look(word)[0] for word in words) / total
