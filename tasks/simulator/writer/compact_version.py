"""Write the compact version of any note in clinical shorthand, aligned with its source, and with planted errors.

Known terms get their short forms, function words go. The terms are the table ``data/shorthand.yaml`` and the domain's
own ``writer/shorthand.yaml``.
"""

import random
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import load
from tasks.simulator.writer.notes import PlantedError, seeded
from tasks.simulator.writer.rules import COMPACT_ERRORS, ErrorRates, plan, rates_of, writer_rates
from tasks.text.sentences import sentence_spans

_TABLE: dict[str, Any] = load("writer", "shorthand")
NUMBERS = {word: str(value) for value, word in enumerate(_TABLE["numbers"].split())}
_UNITS: dict[str, str] = _TABLE["units"]
SIDE = re.compile(rf"\b(?:left|right)(?=[- ](?:{'|'.join(_TABLE['sided'].split())})\b)", re.IGNORECASE)
"""A side, in contrast to "left the room" and "right after"."""
_NUMBER = re.compile(rf"\b(?:\d+(?:[./]\d+)*|{'|'.join(list(NUMBERS)[1:])})\b", re.IGNORECASE)
_UNIT = re.compile(rf"\b(?:{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b", re.IGNORECASE)
_SLOTS = {"#": _NUMBER.pattern, "@": _UNIT.pattern}
_TOKEN = r"\d+(?:[./]\d+)*|°[CF]|[A-Za-z]+\d*(?:['’-][A-Za-z]+)*|[^\sA-Za-z0-9]"
_BEFORE = r"(?<![\w-])"
_DROPPED, _VERBS, _KEEP_VERB, _PER, _SOME = (
    frozenset(_TABLE[name].split()) for name in ("dropped", "verbs", "keep_verb", "per", "some")
)
_ARTICLES = ("a", "an")
_VERB_ENDS = frozenset(".,;:!?)")
_NO_SPACE_BEFORE = frozenset(",.;:)%?!/°")
_NO_SPACE_AFTER = frozenset("/(")


class Shorthand(Section):
    """The content of a domain's ``shorthand.yaml``: words of its symptoms, and short forms of its terms."""

    symptom_words: str
    terms: dict[str, str] = Field(default_factory=dict)


class Written(NamedTuple):
    """A stretch ``source[start:end]`` in shorthand; ``glued``: without a blank before it."""

    text: str
    start: int
    end: int
    glued: bool


@domain_cache(maxsize=1)
def shorthand_of_domain() -> Shorthand:
    """Short forms of the domain in use."""
    return Shorthand.model_validate(domain_data("writer/shorthand"))


@domain_cache(maxsize=1)
def _forms() -> dict[str, list[str]]:
    """The short forms of each term."""
    listed = _TABLE["terms"] | shorthand_of_domain().terms
    return {term: [form.strip() for form in (forms or "").split("|")] for term, forms in listed.items()}


@domain_cache(maxsize=1)
def _terms() -> tuple[re.Pattern[str], list[str]]:
    """A pattern of any token with a group for each term, longest first, and the terms by group.

    Terms are tried by the character with which they begin, which takes half the time.
    """
    begun: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for term in sorted(_forms(), key=lambda term: (-len(term.split()), -len(term), term)):
        words = r"\s+".join(_SLOTS.get(word, re.escape(word)) for word in term.split())
        words = words.replace(r"the\s+patient", r"(?:the\s+)?patient")
        pattern = rf"{'' if term[0] == ',' else _BEFORE}({words})(?![\w-])"
        first = {"#": f"0123456789{''.join(NUMBERS)}", "@": "".join(_UNITS)}.get(term[0], term[0])
        for letter in set(first.lower() + ("p" if term.startswith("the patient") else "")):
            begun[letter].append((term, pattern))
    listed = [rf"(?={re.escape(letter)})(?:{'|'.join(one for _, one in own)})" for letter, own in begun.items()]
    return re.compile("|".join([*listed, _TOKEN]), re.IGNORECASE), [term for own in begun.values() for term, _ in own]


class Writer:
    """Writes the sentences of one note, each term in one short form throughout."""

    def __init__(self, rng: random.Random, abbreviated: float) -> None:
        """``abbreviated``: the probability that a term of several forms is shortened at all in this note."""
        self.rng, self.abbreviated = rng, abbreviated
        self.chosen: dict[str, str] = {}

    def write(self, note: str, start: int, end: int) -> list[Written]:
        """The sentence ``note[start:end]`` in shorthand."""
        any_token, terms = _terms()
        tokens = any_token.finditer(note, start, end)
        found = [(match, terms[match.lastindex - 1] if match.lastindex else None) for match in tokens]
        written: list[Written] = []
        for at, (match, term) in enumerate(found):
            word = match[0].lower()
            following = found[at + 1][0][0].lower() if at + 1 < len(found) else "."
            if term is not None:
                text = self._form(term)
                number, unit = (pattern.search(match[0]) for pattern in (_NUMBER, _UNIT))
                text = text.replace("#", NUMBERS.get(number[0].lower(), number[0]) if number else "")
                text = text.replace("@", _UNITS[unit[0].lower()] if unit else "")
            elif word in _ARTICLES and (article := _article(found[at - 1][0][0].lower() if at else "", following)):
                text = article
            elif word in _DROPPED or (word.isalpha() and _needless(word, written, following)):
                text = ""
            elif word in NUMBERS and (word != "one" or following in _UNITS):
                text = NUMBERS[word]
            elif SIDE.match(note, match.start(), end):
                text = word[0].upper()
            else:
                text = match[0] if match[0][1:] != match[0][1:].lower() else word if written else match[0]
            if text:
                _append(written, text, match.start(), match.end())
        while written and written[-1].text in (",", ";", ":", "and", "&", "but", "with", "w/"):
            written.pop()
        return written

    def _form(self, term: str) -> str:
        if term not in self.chosen:
            several = _forms()[term]
            used = len(several) == 1 or self.rng.random() < self.abbreviated
            self.chosen[term] = self.rng.choice(several) if used else several[-1]
        return self.chosen[term]


def _append(written: list[Written], text: str, start: int, end: int) -> None:
    """Add ``text``, without punctuation that has nothing before it, or other punctuation."""
    before = written[-1].text if written else ""
    if text in (",", ";", ":", ".") and (before in ("", "-", "Also") or before[-1] in ",;:."):
        return
    if text[0] in ",;:" and before in (",", ";"):
        written.pop()
        before = written[-1].text if written else ""
    glued = bool(before) and (text[0] in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER)
    if before and before[-1] not in ".:" and text.split()[0] in ("Denies", "No", "Not", "Also", "Reports", "Pt"):
        text = text[0].lower() + text[1:]
    written.append(Written(text, start, end, glued))


def _article(before: str, following: str) -> str:
    """What an article becomes where it cannot go: "twice/week", "1 wk", "a few"."""
    if before in _PER:
        return "/"
    return "1" if following in _UNITS else "a" if following in _SOME else ""


def _needless(word: str, written: list[Written], following: str) -> bool:
    """Whether ``word`` may go: "no any", "known known", forms of "to be" after a noun: "the chest is clear"."""
    before = written[-1].text.lower() if written else "it"
    if word in before.split():
        return True
    if word == "any":
        return before == "no"
    near = before not in _KEEP_VERB and before[-1] not in _VERB_ENDS
    return word in _VERBS and near and following not in _VERB_ENDS


_HEADING = re.compile(r"^\s*\**(history|physical examination)\**:?\s*$", re.IGNORECASE)
_CLAUSE = re.compile(  # a trailing clause; "and" before another word continues a list
    r", (?:with|without|although|which|while|so|but|despite|though)\b|; "
    r"|, and (?=(?:the|they|there|it|this|these|no|patient|has|have|had|is|was|were|are|denies|reports)\b)"
)
_WORDS = re.compile(r"[a-z]+")


@dataclass(slots=True)
class Piece:
    """A piece of the compact text, by its place, and its source stretch."""

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
        self.pieces.append(Piece(start, len(self.text), source_start, source_end))

    def locate(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the position of ``source[start:end]`` in the compact text; None if it was omitted."""
        near = (piece for piece in self.pieces if piece.source_start < end and piece.source_end > start)
        held = [piece for piece in near if any(map(str.isalnum, self.text[piece.start : piece.end]))]
        return (held[0].start, held[-1].end) if held else None


def shorten(note: str, rng: random.Random, *, without: int | None = None) -> Compact:
    """Write ``note`` in shorthand. ``without``: start of a sentence to omit (a planted loss)."""
    compact, writer = Compact(), Writer(rng, writer_rates().compact["abbreviated"])
    position = 0
    for start, end in sentence_spans(note):
        breaks, position = note[position:start].count("\n"), end
        if breaks and compact.text:  # an omitted sentence leaves no empty lines
            compact.text += "\n" * (min(breaks, 2) - (len(compact.text) - len(compact.text.rstrip("\n"))))
        text = note[start:end]
        if _HEADING.match(text):
            compact.append(text, start, end, space=False)
        elif start == without:
            compact.left_out.append((start, end))
        else:
            _sentence(note, start, end, writer, compact)
    compact.text = compact.text.rstrip()
    return compact


def mentions_symptom(text: str) -> bool:
    """Whether ``text`` contains a word for a symptom of the domain, so that it should not be omitted."""
    words = f"{_TABLE['symptom_words']} {shorthand_of_domain().symptom_words}".split()
    return not {*words}.isdisjoint(_WORDS.findall(text.lower()))


def _sentence(note: str, start: int, end: int, writer: Writer, compact: Compact) -> None:
    rates, rng = writer_rates().compact, writer.rng
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
    is_first = True
    for text, source_start, source_end, is_glued in writer.write(note, start, cut):
        shown = text[0].upper() + text[1:] if is_first else text
        compact.append(shown, source_start, source_end, space=not is_glued)
        is_first = is_first and text in "-•"
    if compact.text[-1:] not in ("", ".", ":", "!", "?", "\n"):  # an abbreviation may end in a full stop
        compact.append(".", end - 1, end, space=False)


_AMOUNT = re.compile(
    rf"\b(?P<number>\d+|{'|'.join(list(NUMBERS)[2:11])})(?= (?:days|weeks|months|years)\b)"
    rf"|(?P<degrees>\d{{2,3}}\.\d)(?=°)|(?P<side>{SIDE.pattern})",
    re.IGNORECASE,
)


Rewritten = tuple[Compact, PlantedError | None]
"""A compact version, and the planted error, if any."""


def source_note(request: ChatRequest) -> str:
    """Return the note to rewrite: the last assistant message, or else the ``<note>`` of the prompt."""
    said = [text for role, text in request.messages if role == "assistant"]
    return said[-1] if said else request.tag("note", default="")


def write_compact_version(request: ChatRequest) -> str:
    """Reply to ``write the compact version`` of the note that the assistant wrote earlier in the conversation."""
    return write_compact(request)[0].text


def write_compact(request: ChatRequest, rates: ErrorRates | None = None) -> Rewritten:
    """Write the compact version of the conversation's note."""
    note = source_note(request)
    rng = seeded(request, tuple(text for _, text in request.messages))
    rates = rates_of(request.model) if rates is None else rates
    weights = [rates.get(kind, 0.0) for kind in COMPACT_ERRORS]
    if rng.random() < sum(weights):
        kind = rng.choices(COMPACT_ERRORS, weights)[0]
        planted = _changed(note, rng) if kind == "detail_changed" else _lost(note, rng)
        if planted is not None:
            return planted
    return shorten(note, rng), None


def _lost(note: str, rng: random.Random) -> Rewritten | None:
    """Omit a sentence about a symptom, preferably the only one."""
    stated: dict[str, list[tuple[int, int]]] = {}
    for symptom, pattern in plan().recognised.items():
        says = re.compile(pattern, re.IGNORECASE)
        if places := [span for span in sentence_spans(note) if says.search(note, *span)]:
            stated[symptom] = places
    if not stated:
        return None
    fewest = min(len(places) for places in stated.values())
    symptom = rng.choice([name for name, places in stated.items() if len(places) == fewest])
    start, _ = rng.choice(stated[symptom])
    return shorten(note, rng, without=start), PlantedError("detail_lost", symptom)


def _changed(note: str, rng: random.Random) -> Rewritten | None:
    """Change a duration, a temperature or a side."""
    candidates = list(_AMOUNT.finditer(note))
    if not candidates:
        return None
    match = rng.choice(candidates)
    new = _another(match, rng)
    edited = note[: match.start()] + new + note[match.end() :]
    shift = len(new) - len(match[0])
    compact = shorten(edited, rng)
    place = compact.locate(match.start(), match.start() + len(new))

    def original(offset: int) -> int:
        return offset - shift if offset > match.start() else offset

    for piece in compact.pieces:
        piece.source_start, piece.source_end = original(piece.source_start), original(piece.source_end)
    compact.left_out = [(original(start), original(end)) for start, end in compact.left_out]
    if place is None:  # the changed detail was omitted
        return compact, None
    return compact, PlantedError("detail_changed", match.lastgroup, *place)


def _another(match: re.Match[str], rng: random.Random) -> str:
    if match["side"]:
        return "left" if match["side"].lower() == "right" else "right"
    if match["degrees"]:
        step = rng.choice((-1.4, -1.1, 1.2, 1.6)) * (1.8 if len(match["degrees"].split(".")[0]) == 3 else 1)
        return f"{float(match['degrees']) + step:.1f}"
    words = list(NUMBERS)
    now = int(NUMBERS.get(match["number"].lower(), match["number"]))
    other = rng.choice([number for number in range(2, 11) if abs(number - now) > 1])
    return str(other) if match["number"].isdigit() else words[other]
