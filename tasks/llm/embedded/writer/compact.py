"""Rewrites a note, any note, in the shorthand of a hurried physician, and knows where each piece came from."""

import random
import re
from dataclasses import dataclass, field

from tasks.llm.embedded.writer.phrases import NUMBERS, UNITS, Tables, Token, tables, tokens
from tasks.llm.embedded.writer.rates import RATES
from tasks.text.sentences import sentence_spans

_HEADING = re.compile(r"^\s*\**(history|physical examination)\**:?\s*$", re.IGNORECASE)
_CLAUSE = re.compile(r", (?:with|without|although|which|while|so|and|but|despite|though)\b|; ")
_WORDS = re.compile(r"[a-z]+")
_NO_SPACE_BEFORE = frozenset(",.;:)%?!/")
_JOINED = frozenset("/(")
_CAPITALISED = frozenset(
    [
        "Denies",
        "No",
        "Reports",
        "Notes",
        "Also",
        "Assoc.",
        "Says",
        "States",
        "Not",
        "Hx",
        "H/o",
        "Long",
        "Known",
        "Past",
        "Worse",
    ]
)
_CLAUSE_OPENERS = frozenset(
    [
        "patient",
        "they",
        "there",
        "no",
        "it",
        "he",
        "she",
        "this",
        "these",
        "nothing",
        "in",
        "at",
        "so",
        "has",
        "is",
        "are",
    ]
)
_ITEM_ENDS = frozenset(".,;:")
_AND = (("and",) * 7 + ("&",), 1.0)  # how a note writes the word


@dataclass(slots=True)
class Piece:
    """A piece of the compact text and the stretch of the source it stands for."""

    text: str
    start: int
    end: int
    source_start: int
    source_end: int


@dataclass
class Compact:
    """A compact note: its text, its pieces in order, and the stretches of the source that were left out."""

    text: str = ""
    pieces: list[Piece] = field(default_factory=list)
    left_out: list[tuple[int, int]] = field(default_factory=list)

    def append(self, text: str, source_start: int, source_end: int, *, space: bool) -> None:
        """Add a piece, after a space unless the text stands at the start of a line."""
        if space and self.text and not self.text.endswith(("\n", "- ")):
            self.text += " "
        start = len(self.text)
        self.text += text
        self.pieces.append(Piece(text, start, len(self.text), source_start, source_end))

    def locate(self, start: int, end: int) -> tuple[int, int] | None:
        """Where ``source[start:end]`` stands in the compact text; None when it was left out."""
        held = [
            piece
            for piece in self.pieces
            if piece.source_start < end and piece.source_end > start and any(map(str.isalnum, piece.text))
        ]
        return (held[0].start, held[-1].end) if held else None


def shorten(note: str, rng: random.Random, *, without: frozenset[int] = frozenset()) -> Compact:
    """Write ``note`` in compact style. ``without``: starts of sentences to leave out (a planted loss)."""
    compact, table = Compact(), tables()
    known: dict[int, str | None] = {}
    position = 0
    for start, end in sentence_spans(note):
        gap = note[position:start]
        breaks = gap.count("\n")
        position = end
        if breaks and compact.text:  # a sentence left out leaves no empty lines behind
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
    """Whether a word of ``text`` belongs to one of the five symptoms, so that it is not left out lightly."""
    return not tables().symptom_words.isdisjoint(_WORDS.findall(text.lower()))


def _sentence(
    note: str, start: int, end: int, rng: random.Random, table: Tables, known: dict[int, str | None], compact: Compact
) -> None:
    rates = RATES.compact
    opens = compact.text.endswith(("*\n", ":\n"))  # a section keeps its first sentence, so that none is empty
    if not opens and rng.random() < rates["sentence_left_out"] and not mentions_symptom(note[start:end]):
        compact.left_out.append((start, end))
        return
    cut = end
    for clause in list(_CLAUSE.finditer(note, start, end))[::-1]:
        if mentions_symptom(note[clause.start() : cut]) or rng.random() > rates["clause_left_out"]:
            break
        compact.left_out.append((clause.start(), cut))
        cut = clause.start()
    written = _Sentence(rng, table, known).write(tokens(note, start, cut))
    if not written:
        return
    _punctuate(written)
    first = True
    for text, source_start, source_end, glued in written:
        shown = text[0].upper() + text[1:] if first and text[:1].islower() else text
        compact.append(shown, source_start, source_end, space=not glued)
        first = first and text in "-•"
    if compact.text[-1] not in ".:!?":  # an abbreviation may have brought its own
        compact.append(".", end - 1, end, space=False)


Out = tuple[str, int, int, bool]  # text, source start, source end, written without a space before it


def _punctuate(written: list[Out]) -> None:
    """Drop signs that lost their words: a leading comma, doubled commas, a colon after a colon."""
    index = 0
    while index < len(written):
        text = written[index][0]
        before = written[index - 1][0] if index else ""
        if (
            (text in ",;" and (not before or before[-1] in ",;:" or before in ("Also", "-")))
            or (text == ":" and (not before or before[-1] in ":;,"))
            or (text == "." and before.endswith("."))
        ):
            del written[index]
        elif text in ".;," and before in (",", ";", ":", "&", "or", "and", "w/", "with"):
            del written[index - 1]
            index -= 1
        else:
            index += 1
    while written and written[-1][0] in (",", ";", ":", "&", "or", "and", "w/", "with", "but"):
        written.pop()


class _Sentence:
    """One sentence on its way into shorthand."""

    def __init__(self, rng: random.Random, table: Tables, known: dict[int, str | None]) -> None:
        self.random, self.rng, self.table, self.known = rng.random, rng, table, known
        self.out: list[Out] = []

    def write(self, words: list[Token]) -> list[Out]:
        index = 0
        while index < len(words):
            step = self._phrase(words, index) or self._word(words, index)
            index += step
        return self.out

    def _phrase(self, words: list[Token], index: int) -> int:
        """Replace the longest known phrase that begins here; returns its number of words, 0 for none."""
        node, length, shown = self.table.tree, 0, ""
        number = unit = ""
        found_number = found_unit = ""
        for offset in range(index, min(index + 10, len(words))):
            word = words[offset]
            key = word.key
            following = node.get(key)
            if following is None and (key in NUMBERS or key[0].isdigit()):
                following, number = node.get("#"), NUMBERS.get(key, word.text)
            elif following is None and key in UNITS and (number or not key.endswith("s")):
                following, unit = node.get("@"), UNITS[key]
            if following is None:
                break
            node = following
            if None in node:
                form = self._form(node[None])
                if form is not None:
                    length, shown = offset - index + 1, form
                    found_number, found_unit = number, unit
        if not length:
            return 0
        start, end = words[index].start, words[index + length - 1].end
        if "#" in shown or "@" in shown:
            shown = shown.replace("#", found_number).replace("@", found_unit)
            if not self.out and shown.startswith("x "):
                shown = f"Past {shown[2:]}"
        if shown:
            glued = bool(self.out) and (shown[0] in _NO_SPACE_BEFORE or self.out[-1][0] in _JOINED)
            if self.out and self.out[-1][0] != "." and shown.split(" ")[0] in _CAPITALISED:
                shown = shown[0].lower() + shown[1:]
            self.out.append((shown, start, end, glued))
        return length

    def _form(self, entry: tuple[tuple[str, ...], float]) -> str | None:
        """One form a note for each term, so that a note abbreviates a term the same way throughout, or not at all."""
        identity = id(entry)
        if identity not in self.known:
            forms, chance = entry
            self.known[identity] = forms[int(self.random() * len(forms))] if self.random() < chance else None
        return self.known[identity]

    def _word(self, words: list[Token], index: int) -> int:
        word = words[index]
        key, text = word.key, word.text
        before = self.out[-1][0] if self.out else ""
        if key in self.table.drop or (key in self.table.verbs and self.random() < 0.93):
            return 1
        if key in ("patient", "they"):
            if key == "they" or self.random() < (0.55 if not self.out else 0.4 if before in (",", ";", "and") else 0):
                return 1
            text = "Pt" if not self.out else "pt"
        elif key == "patient's":
            text = "Pt's"
        elif key in NUMBERS:
            text = NUMBERS[key]
        elif key in ("and", "or") and self.out:
            return self._conjunction(words, index, before)
        elif key == "," and index + 1 < len(words) and words[index + 1].key in ("and", "or") and self.random() < 0.75:
            return 1
        glued = bool(self.out) and (text[0] in _NO_SPACE_BEFORE or before in _JOINED or text.startswith("°"))
        self.out.append((text, word.start, word.end, glued))
        return 1

    def _and(self) -> str:
        return self._form(_AND) or "and"

    def _conjunction(self, words: list[Token], index: int, before: str) -> int:
        """Between short items a stroke or a comma; between clauses a semicolon."""
        word, draw = words[index], self.random()
        clause = index + 1 < len(words) and words[index + 1].key in _CLAUSE_OPENERS
        item = next((n for n, token in enumerate(words[index + 1 : index + 5]) if token.key in _ITEM_ENDS), 4)
        if clause:
            shown, glued = (";", True) if draw < 0.6 and before not in (",", ";") else (self._and(), False)
        elif before in (",", ";") or item > 3 or draw > 0.55:
            shown, glued = (self._and() if word.key == "and" else "or"), False
        else:
            shown, glued = ("/" if draw < 0.45 else ","), True
        self.out.append((shown, word.start, word.end, glued))
        return 1
