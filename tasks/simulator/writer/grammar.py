"""The grammar of notes: a stochastic context-free grammar with marked spans, compiled once from YAML rule files.

Its rules write to a draft, a note in progress; sentences and findings are planned before they are written.

A rule is a block of lines, one alternative per line; a line may end in `` ::weight``. Syntax within a line:

    {rule}          another rule                       {$name}      a variable of the note
    (x|y::2|)       one of the alternatives            (!x|y)       present or past tense, one choice per note
    {a}             "a" or "an", by the next word      {*2-3 rule or}  several alternatives of a rule as a list
    [c+ ...]        a span: symptom letter, then + (present) or - (absent)
    {S} {s}         the subject at the start of or inside a sentence (patient, they, or omitted)
    report~s den~ies catch~es {has} {is} {was} {does}   agreement with the subject
    ^               start of a span that ends elsewhere (lists of absent symptoms)
"""

import random
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from schemas.errors import DomainError

Node = Callable[["Draft"], None]
"""Writes something to a draft."""


@dataclass
class Mark:
    """A stretch of the draft about a symptom, as offsets into the note."""

    symptom: str
    present: bool
    start: int
    end: int


class Draft:
    """A note in progress: its text, its marked spans, and the choices that apply to the whole note."""

    def __init__(self, rng: random.Random) -> None:
        self.random, self.rng = rng.random, rng
        self.parts: list[str] = []
        self.length = 0
        self.marks: list[Mark] = []
        self.mark = 0
        self.article = self.skip_space = False
        self.plural = False
        self.past = rng.random() < 0.15
        self.bare = rng.random() < 0.22  # "Patient reports", without article
        self.elision = 0.45 if rng.random() < 0.15 else 0.07  # share of sentences without subject
        self.first = True
        self.last: dict[int, int] = {}
        self.variables: dict[str, str | Node] = {}

    def emit(self, text: str) -> None:
        """Append text; resolves a pending article and drops the space after an omitted subject."""
        if self.article or self.skip_space:
            text = text.lstrip(" ")
            if not text:
                return
            if self.article:
                text = ("an " if text[0] in "aeioAEIO8" or text[:2] in ("un", "ul") else "a ") + text
            self.article = self.skip_space = False
        if text and self.parts and self.parts[-1][-1] in " \n":
            if text[0] in ",;.":
                self.trim()
            text = text.lstrip(" ")
        if text:
            self.parts.append(text)
            self.length += len(text)

    def trim(self) -> None:
        """Remove trailing spaces from the text and from the spans that end there."""
        while self.parts and self.parts[-1].endswith(" "):
            last = self.parts.pop()
            stripped = last.rstrip(" ")
            self.length -= len(last) - len(stripped)
            if stripped:
                self.parts.append(stripped)
        for mark in self.marks:
            mark.end = min(mark.end, self.length)

    def count(self, mean: float) -> int:
        """Return an integer next to ``mean``, drawn so that its expectation is ``mean``."""
        return int(mean) + (self.random() < mean % 1)

    def snapshot(self) -> tuple[object, ...]:
        """Return the state of the text, for `restore`."""
        marks = [(mark, mark.start, mark.end) for mark in self.marks]
        return list(self.parts), self.length, marks, self.first, self.plural

    def restore(self, state: tuple[Any, ...]) -> None:
        """Discard the text written since the snapshot."""
        self.parts, self.length, marks, self.first, self.plural = state
        self.marks = [mark for mark, _, _ in marks]
        for mark, start, end in marks:
            mark.start, mark.end = start, end
        self.article = self.skip_space = False

    def rendered(self, node: Node) -> str:
        """Return what ``node`` writes, without writing it."""
        before, shown = self.snapshot(), len(self.parts)
        node(self)
        text = "".join(self.parts[shown:])
        self.restore(before)
        return text

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that resets the random choices to their present state."""
        state, last = self.rng.getstate(), dict(self.last)

        def restart() -> None:
            self.rng.setstate(state)
            self.last = dict(last)

        return restart

    @property
    def text(self) -> str:
        """The text written so far."""
        return "".join(self.parts)


@dataclass
class Piece:
    """A planned sentence and its preferred position in the history."""

    place: float
    node: Node
    says: str = ""  # its subject, such as a symptom or the travel; only pieces on the same share a sentence
    optional: bool = False  # left out if it repeats a topic


@dataclass
class Finding:
    """An examination finding: as a sentence, and as a short form after a label ("Heart: ..."), if any."""

    order: float
    prose: Node
    label: str | None = None
    short: Node | None = None
    joins: bool = True  # whether it may be joined with an adjacent finding


def write_list(draft: Draft, nodes: Sequence[Node], joiner: Callable[[Draft], str]) -> None:
    """Write ``nodes`` as a list: "a, b, and c". ``joiner`` draws the word before the last item."""
    oxford, word = draft.random() < 0.7, joiner(draft)
    for position, node in enumerate(nodes):
        if position:
            last = position == len(nodes) - 1
            comma = "," if not last or (len(nodes) > 2 and oxford) else ""
            draft.emit(f"{comma} {word} " if last else ", ")
        node(draft)


def written(text: str) -> Node:
    """Return a node that writes ``text``."""
    return lambda draft: draft.emit(text)


def variable_of(name: str) -> Node:
    """Return a node that writes the note's variable ``name``: a string, or the output of a node."""

    def variable(draft: Draft) -> None:
        value = draft.variables[name]
        if isinstance(value, str):
            draft.emit(value)
        else:
            value(draft)

    return variable


def marked(symptom: str, present: bool, node: Node) -> Node:
    """Return ``node`` as a span."""

    def write(draft: Draft) -> None:
        start = draft.length
        node(draft)
        blank = 1 if draft.parts and draft.parts[-1].endswith(" ") else 0
        draft.marks.append(Mark(symptom, present, start, draft.length - blank))

    return write


def set_mark(draft: Draft) -> None:
    """Remember the start of a span that ends elsewhere."""
    draft.mark = draft.length


def _agreement(singular: str, plural: str) -> Node:
    return lambda draft: draft.emit(plural if draft.plural else singular)


ENDINGS: dict[str, Node] = {
    "~s": _agreement("s", ""),
    "~es": _agreement("es", ""),
    "~ies": _agreement("ies", "y"),
}


def _article(draft: Draft) -> None:
    draft.article = True


def _opening_subject(draft: Draft) -> None:
    draft.plural = False
    draw = draft.random()
    if not draft.first and draw < draft.elision:
        draft.skip_space = True
        return
    if not draft.first and draw > 0.78:
        draft.plural = True
        draft.emit("They")
    else:
        draft.emit("Patient" if draft.bare else "The patient")
    draft.first = False


def _inner_subject(draft: Draft) -> None:
    draft.plural = not draft.first and draft.random() < 0.4
    draft.first = False
    draft.emit("they" if draft.plural else "the patient")


SPECIAL: dict[str, Node] = {
    "a": _article,
    "S": _opening_subject,
    "s": _inner_subject,
    "has": _agreement("has", "have"),
    "is": _agreement("is", "are"),
    "was": _agreement("was", "were"),
    "does": _agreement("does", "do"),
}


_WEIGHT = re.compile(r"\s*::([\d.]+)\s*$")


class Grammar:
    """Compiled rules by name; ``grammar[name]`` writes to a `Draft`."""

    def __init__(self, sources: dict[str, str], letters: Mapping[str, str], folder: Path) -> None:
        self.sources, self._letters, self._folder = sources, letters, folder
        self.rules: dict[str, Node] = {}
        self.lists: dict[str, list[Node]] = {}
        self._choices = 0
        self._scope = ""
        for name, block in sources.items():
            self._scope = name.split(".")[0]
            self.lists[name], weights = self._alternatives(
                [line.strip() for line in block.splitlines() if line.strip()]
            )
            self.rules[name] = self._choice(self.lists[name], weights)

    def __contains__(self, name: str) -> bool:
        return name in self.rules

    def __getitem__(self, name: str) -> Node:
        """Return a rule's node. Raises DomainError naming the folder and the rule if there is none."""
        if name not in self.rules:
            raise DomainError(f"{self._folder}: no rule {name}; add it")
        return self.rules[name]

    def get(self, name: str) -> Node | None:
        """Return a rule's node, or None."""
        return self.rules.get(name)

    def _alternatives(self, texts: list[str]) -> tuple[list[Node], list[float]]:
        nodes, weights = [], []
        for text in texts:
            weight = _WEIGHT.search(text)
            weights.append(float(weight[1]) if weight else 1.0)
            nodes.append(self._sequence(text[: weight.start()] if weight else text))
        return nodes, weights

    def _choice(self, nodes: list[Node], weights: list[float]) -> Node:
        if len(nodes) == 1:
            return nodes[0]
        sums = list(accumulate(weights))
        total, self._choices = sums[-1], self._choices + 1
        identity = self._choices

        def choose(draft: Draft) -> None:
            index = bisect(sums, draft.random() * total)
            if draft.last.get(identity) == index:  # draw again, so that a note rarely repeats a wording
                index = bisect(sums, draft.random() * total)
            draft.last[identity] = index
            nodes[index](draft)

        return choose

    def _sequence(self, text: str) -> Node:
        nodes = list(self._parse(text))
        if len(nodes) == 1:
            return nodes[0]
        fixed = tuple(nodes)

        def sequence(draft: Draft) -> None:
            for node in fixed:
                node(draft)

        return sequence

    def _parse(self, text: str) -> Iterator[Node]:
        inner = {"(": self._inline, "[": self._span, "{": self._reference}
        literal = ""
        for piece in _pieces(text):
            if piece[0] in "([{^~" and literal:
                yield written(literal)
                literal = ""
            if piece[0] in inner:
                yield inner[piece[0]](piece[1:-1])
            elif piece == "^":
                yield set_mark
            elif piece[0] == "~":
                assert piece in ENDINGS, f"~ without an ending in {text!r}"
                yield ENDINGS[piece]
            else:
                literal += piece.removeprefix("\\")
        if literal or not text:
            yield written(literal)

    def _inline(self, inner: str) -> Node:
        if inner.startswith("!"):
            present, past = (self._sequence(part) for part in _split(inner[1:]))
            return lambda draft: (past if draft.past else present)(draft)
        nodes, weights = self._alternatives(_split(inner))
        return self._choice(nodes, weights)

    def _span(self, inner: str) -> Node:
        if inner[0] not in self._letters:
            plan, known = self._folder / "plan.yaml", ", ".join(self._letters)
            raise DomainError(f"{plan}: key letters: no letter {inner[0]} for [{inner}] in {self._scope}; has {known}")
        return marked(self._letters[inner[0]], inner[1] == "+", self._sequence(inner[3:]))

    def _reference(self, inner: str) -> Node:
        if inner in SPECIAL:
            return SPECIAL[inner]
        if inner.startswith("$"):
            return variable_of(inner[1:])
        if inner.startswith("*"):
            return self._pick(inner[1:])
        rules, name = self.rules, self._resolve(inner)

        def refer(draft: Draft) -> None:
            rules[name](draft)

        return refer

    def _resolve(self, name: str) -> str:
        """Return a rule's full name: as given, or within the current file's top level."""
        for candidate in (name, f"{self._scope}.{name}"):
            if candidate in self.sources:
                return candidate
        raise DomainError(f"{self._folder}: no rule {name}, which {self._scope} uses; add it")

    def _pick(self, inner: str) -> Node:
        numbers, name, word = inner.split(" ")
        low, high = (int(n) for n in numbers.split("-"))
        name = self._resolve(name)

        def pick(draft: Draft) -> None:
            nodes = self.lists[name]
            count = min(len(nodes), draft.rng.randint(low, high))
            write_list(draft, draft.rng.sample(nodes, count), lambda _: word)

        return pick


_CLOSING = {"(": ")", "{": "}", "[": "]"}
_TOKEN = re.compile(r"\\.|~(?:ies|es|s)|.", re.DOTALL)


def _pieces(text: str) -> Iterator[str]:
    """Yield the parts of a line: bracketed ones with all that they contain, escaped characters, endings, characters."""
    position = 0
    while position < len(text):
        piece = _piece(text, position)
        yield piece
        position += len(piece)


def _piece(text: str, start: int) -> str:
    closing, end = _CLOSING.get(text[start]), start + 1
    if closing is None:
        return _TOKEN.match(text, start)[0]  # type: ignore[index]
    while end < len(text) and text[end] != closing:
        end += len(_piece(text, end))
    if end == len(text):
        raise ValueError(f"grammar: unclosed {text[start]} in {text!r}")
    return text[start : end + 1]


def _split(inner: str) -> list[str]:
    """Split alternatives at the bars outside brackets."""
    parts = [""]
    for piece in _pieces(inner):
        if piece == "|":
            parts.append("")
        else:
            parts[-1] += piece
    return parts
