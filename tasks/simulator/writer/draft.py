"""A note in progress, and the planned sentences and findings that it will contain."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

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
        if text and self.parts and text[0] in " ,;." and self.parts[-1][-1] in " \n":
            if text[0] == " ":
                text = text.lstrip(" ")
            else:
                self.trim()
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
        return list(self.parts), self.length, [replace(mark) for mark in self.marks], self.first, self.plural

    def restore(self, state: tuple[Any, ...]) -> None:
        """Discard the text written since the snapshot."""
        self.parts, self.length, self.marks, self.first, self.plural = state
        self.article = self.skip_space = False

    def rendered(self, node: Node) -> str:
        """Return what ``node`` writes, without writing it."""
        before, shown = self.snapshot(), len(self.parts)
        node(self)
        text = "".join(self.parts[shown:])
        self.restore(before)
        return text

    def foreseen(self, node: Node) -> str:
        """Return what ``node`` will write if it is the next to draw: all choices are as if it had not been asked."""
        restart = self.checkpoint()
        text = self.rendered(node)
        restart()
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
    says: str = ""  # "present" or "absent" if it states a symptom: the two are never joined in one sentence
    optional: bool = False  # left out if it repeats a topic


@dataclass
class Finding:
    """An examination finding: as a sentence, and as a short form after a label ("Heart: ..."), if any."""

    order: float
    prose: Node
    label: str | None = None
    short: Node | None = None
    joins: bool = True  # whether it may be joined with an adjacent finding
