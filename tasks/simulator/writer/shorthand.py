"""Rewrite any note in clinical shorthand, keeping the alignment with the source."""

import random
import re
from dataclasses import dataclass, field

from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.shorthand_sentence import ShorthandSentence, punctuate
from tasks.simulator.writer.shorthand_tables import Tables, tables, tokens
from tasks.text.sentences import sentence_spans

_HEADING = re.compile(r"^\s*\**(history|physical examination)\**:?\s*$", re.IGNORECASE)
_CLAUSE = re.compile(  # a trailing clause; "and" before another word continues a list
    r", (?:with|without|although|which|while|so|but|despite|though)\b|; "
    r"|, and (?=(?:the|they|there|it|this|these|no|patient|has|have|had|is|was|were|are|denies|reports)\b)"
)
_WORDS = re.compile(r"[a-z]+")


@dataclass(slots=True)
class Piece:
    """A piece of the compact text and its source stretch."""

    text: str
    start: int
    end: int
    source_start: int
    source_end: int


@dataclass
class Compact:
    """A compact note: text, pieces in order, and omitted stretches of the source."""

    text: str = ""
    pieces: list[Piece] = field(default_factory=list)
    left_out: list[tuple[int, int]] = field(default_factory=list)

    def append(self, text: str, source_start: int, source_end: int, *, space: bool) -> None:
        """Append a piece, after a space unless it starts a line."""
        if space and self.text and not self.text.endswith(("\n", "- ")):
            self.text += " "
        start = len(self.text)
        self.text += text
        self.pieces.append(Piece(text, start, len(self.text), source_start, source_end))

    def locate(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the position of ``source[start:end]`` in the compact text; None if it was omitted."""
        held = [
            piece
            for piece in self.pieces
            if piece.source_start < end and piece.source_end > start and any(map(str.isalnum, piece.text))
        ]
        return (held[0].start, held[-1].end) if held else None


def shorten(note: str, rng: random.Random, *, without: frozenset[int] = frozenset()) -> Compact:
    """Write ``note`` in shorthand. ``without``: starts of sentences to omit (a planted loss)."""
    compact, table = Compact(), tables()
    known: dict[int, str | None] = {}
    position = 0
    for start, end in sentence_spans(note):
        gap = note[position:start]
        breaks = gap.count("\n")
        position = end
        if breaks and compact.text:  # an omitted sentence leaves no empty lines
            compact.text += "\n" * (min(breaks, 2) - (len(compact.text) - len(compact.text.rstrip("\n"))))
        text = note[start:end]
        if _HEADING.match(text):
            compact.append(text, start, end, space=False)
        elif start in without:
            compact.left_out.append((start, end))
        else:
            _sentence(note, start, end, rng, table, known, compact)
    compact.text = compact.text.rstrip()
    return compact


def mentions_symptom(text: str) -> bool:
    """Whether ``text`` contains a word for a symptom of the domain, so that it should not be omitted."""
    return not tables().symptom_words.isdisjoint(_WORDS.findall(text.lower()))


def _sentence(
    note: str, start: int, end: int, rng: random.Random, table: Tables, known: dict[int, str | None], compact: Compact
) -> None:
    rates = writer_rates().compact
    opens = compact.text.endswith(("*\n", ":\n"))  # keep the first sentence of a section, so that no section is empty
    if not opens and rng.random() < rates["sentence_left_out"] and not mentions_symptom(note[start:end]):
        compact.left_out.append((start, end))
        return
    cut = end
    for clause in list(_CLAUSE.finditer(note, start, end))[::-1]:
        if mentions_symptom(note[clause.start() : cut]) or rng.random() > rates["clause_left_out"]:
            break
        compact.left_out.append((clause.start(), cut))
        cut = clause.start()
    written = ShorthandSentence(rng, table, known).write(tokens(note, start, cut))
    if not written:
        return
    punctuate(written)
    first = True
    for text, source_start, source_end, glued in written:
        shown = text[0].upper() + text[1:] if first and text[:1].islower() else text
        compact.append(shown, source_start, source_end, space=not glued)
        first = first and text in "-•"
    if compact.text[-1] not in ".:!?":  # an abbreviation may end in a full stop
        compact.append(".", end - 1, end, space=False)
