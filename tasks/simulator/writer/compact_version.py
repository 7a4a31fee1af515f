"""Write the compact version of any note in clinical shorthand, aligned with its source, and with planted errors."""

import random
import re
from dataclasses import dataclass, field

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer.notes import PlantedError, seeded
from tasks.simulator.writer.plan import symptom_patterns
from tasks.simulator.writer.rules import COMPACT_ERRORS, ErrorRates, rates_of, writer_rates
from tasks.simulator.writer.shorthand import NUMBERS, SIDE, Writer, symptom_words
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
        near = (piece for piece in self.pieces if piece.source_start < end and piece.source_end > start)
        held = [piece for piece in near if any(map(str.isalnum, piece.text))]
        return (held[0].start, held[-1].end) if held else None


def shorten(note: str, rng: random.Random, *, without: frozenset[int] = frozenset()) -> Compact:
    """Write ``note`` in shorthand. ``without``: starts of sentences to omit (a planted loss)."""
    compact, writer = Compact(), Writer(rng, writer_rates().compact["abbreviated"])
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
            _sentence(note, start, end, writer, compact)
    compact.text = compact.text.rstrip()
    return compact


def mentions_symptom(text: str) -> bool:
    """Whether ``text`` contains a word for a symptom of the domain, so that it should not be omitted."""
    return not symptom_words().isdisjoint(_WORDS.findall(text.lower()))


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


@dataclass(frozen=True)
class WrittenCompact:
    """A compact version, its alignment with the source, and the planted error, if any."""

    source: str
    compact: Compact
    error: PlantedError | None


def source_note(request: ChatRequest) -> str:
    """Return the note to rewrite: the last assistant message, or else the ``<note>`` of the prompt."""
    said = [text for role, text in request.messages if role == "assistant"]
    return said[-1] if said else request.tag("note", default="")


def write_compact_version(request: ChatRequest) -> str:
    """Reply to ``write the compact version`` of the note that the assistant wrote earlier in the conversation."""
    return write_compact(request).compact.text


def write_compact(request: ChatRequest, rates: ErrorRates | None = None) -> WrittenCompact:
    """Write the compact version of the conversation's note."""
    note = source_note(request)
    rng = seeded(request, tuple(text for _, text in request.messages))
    rates = rates or rates_of(request.model)
    if rng.random() < rates.total(COMPACT_ERRORS):
        weights = [rates.probabilities.get(kind, 0.0) for kind in COMPACT_ERRORS]
        kind = rng.choices(COMPACT_ERRORS, weights)[0]
        planted = _changed(note, rng) if kind == "detail_changed" else _lost(note, rng)
        if planted is not None:
            return planted
    return WrittenCompact(note, shorten(note, rng), None)


def _lost(note: str, rng: random.Random) -> WrittenCompact | None:
    """Omit a sentence about a symptom, preferably the only one."""
    spans = sentence_spans(note)
    found = {
        symptom: [span for span in spans if pattern.search(note, *span)]
        for symptom, pattern in symptom_patterns().items()
    }
    stated = {symptom: places for symptom, places in found.items() if places}
    if not stated:
        return None
    fewest = min(len(places) for places in stated.values())
    symptom = rng.choice([name for name, places in stated.items() if len(places) == fewest])
    place = rng.choice(stated[symptom])
    compact = shorten(note, rng, without=frozenset([place[0]]))
    return WrittenCompact(note, compact, PlantedError("detail_lost", symptom))


def _changed(note: str, rng: random.Random) -> WrittenCompact | None:
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
        return WrittenCompact(note, compact, None)
    return WrittenCompact(note, compact, PlantedError("detail_changed", match.lastgroup, *place))


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
