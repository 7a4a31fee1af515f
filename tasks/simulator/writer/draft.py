"""A note while it is being written: its text so far, its marked spans, and the choices that hold for all of it."""

import random
from collections.abc import Callable
from dataclasses import dataclass

Node = Callable[["Draft"], None]
"""Writes something to a draft."""


@dataclass
class Mark:
    """A stretch of the text being written that says something of a symptom. Offsets into the note."""

    symptom: str
    present: bool
    start: int
    end: int


class Draft:
    """The note being written: its text so far, its marked spans, and the choices that hold for all of it."""

    def __init__(self, rng: random.Random) -> None:
        self.random, self.rng = rng.random, rng
        self.parts: list[str] = []
        self.length = 0
        self.marks: list[Mark] = []
        self.mark = 0
        self.article = self.skip_space = False
        self.plural = False
        self.past = rng.random() < 0.15
        self.bare = rng.random() < 0.22  # "Patient reports", without the article
        self.elision = 0.45 if rng.random() < 0.15 else 0.07  # share of sentences without subject
        self.first = True
        self.last: dict[int, int] = {}
        self.used: dict[str, set[int]] = {}
        self.variables: dict[str, str | Node] = {}

    def emit(self, text: str) -> None:
        """Append text; settles a waiting article and drops a space after a subject left out."""
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
        """Take white space off the end of the text and of the spans that reach it."""
        while self.parts and self.parts[-1].endswith(" "):
            last = self.parts.pop()
            stripped = last.rstrip(" ")
            self.length -= len(last) - len(stripped)
            if stripped:
                self.parts.append(stripped)
        for mark in self.marks:
            mark.end = min(mark.end, self.length)

    def count(self, mean: float) -> int:
        """A whole number next to ``mean``, which is its mean over many draws."""
        return int(mean) + (self.random() < mean % 1)

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self.parts)


@dataclass
class Piece:
    """A planned sentence and where in the history it would like to stand."""

    place: float
    node: Node
    says: str = ""  # "present" or "absent" where it tells of a symptom: the two do not share a sentence


@dataclass
class Finding:
    """One thing examined: how it reads as a sentence, and after a label ("Lungs: ..."), if it can."""

    order: float
    prose: Node
    label: str | None = None
    short: Node | None = None
    joins: bool = True  # whether it may share a sentence with the finding before or after
