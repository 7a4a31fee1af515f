"""Write the compact version of a note, with planted errors."""

import random
import re
from dataclasses import dataclass

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer.notes import PlantedError, seeded
from tasks.simulator.writer.plan import symptom_patterns
from tasks.simulator.writer.rates import COMPACT_ERRORS, ErrorRates, rates_of
from tasks.simulator.writer.shorthand import Compact, shorten
from tasks.simulator.writer.shorthand_tables import NUMBERS, SIDES, is_side, tokens
from tasks.text.sentences import sentence_spans

_AMOUNT = re.compile(
    rf"\b(?P<number>\d+|{'|'.join(list(NUMBERS)[2:11])})(?= (?:days|weeks|months|years)\b)"
    r"|(?P<degrees>\d{2,3}\.\d)(?=°)|\b(?P<side>right|left)\b"
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
    words = tokens(note)
    sides = {word.start for at, word in enumerate(words) if word.key in SIDES and is_side(words, at)}
    candidates = [match for match in _AMOUNT.finditer(note) if not match["side"] or match.start() in sides]
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
        return "left" if match["side"] == "right" else "right"
    if match["degrees"]:
        step = rng.choice((-1.4, -1.1, 1.2, 1.6)) * (1.8 if len(match["degrees"].split(".")[0]) == 3 else 1)
        return f"{float(match['degrees']) + step:.1f}"
    words = list(NUMBERS)
    now = int(NUMBERS.get(match["number"], match["number"]))
    other = rng.choice([number for number in range(2, 11) if abs(number - now) > 1])
    return str(other) if match["number"].isdigit() else words[other]
