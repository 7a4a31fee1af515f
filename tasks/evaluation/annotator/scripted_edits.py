"""Edits real notes by script, one change each, with instructions that the unchanged note meets.

The instructions are derived from the published spans: a symptom with a span must be mentioned as present or absent, a
symptom without one must not be mentioned. The edits invert a negation, change a temperature, remove a symptom's only
sentence, or add a condition. A consistency check should pass the unchanged note and flag the edited ones.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.evaluation.annotator.quality import KEYWORDS, SymptomSpan, states
from tasks.text.sentences import sentence_spans

KINDS = ("negation turned", "temperature changed", "sentence removed", "condition added")
_STREAM = 505
_REACH = 45  # characters before a span that are searched for its reporting or denying word
CONDITIONS: dict[str, str] = {
    "asthma": r"asthma",
    "COPD": r"\bCOPD\b|obstructive pulmonary",
    "hay fever": r"hay fever|seasonal allerg|allergic rhinitis",
    "smoking": r"smok|tobacco|cigarette",
}
"""The network's conditions and how real notes word them."""
_ADDED = {
    "asthma": "The patient has a known history of asthma.",
    "COPD": "The patient was diagnosed with COPD some years ago.",
    "hay fever": "The patient suffers from hay fever every spring.",
    "smoking": "The patient smokes a pack of cigarettes a day.",
    "diabetes": "Past medical history is significant for type 2 diabetes.",
    "hypertension": "The patient is being treated for hypertension.",
}
_TEMPERATURE = re.compile(
    r"(?<![\d.])(?P<value>3[5-9]\.\d|4[01]\.\d|3[6-9]|9[5-9]\.\d|10[0-5](?:\.\d)?|9[6-9])(?=\s*°?\s*(?:C|F)\b)"
)
_READING = re.compile(r"\btemp|\bT\b|°|febrile|fever", re.IGNORECASE)
_TURNED: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"\b(?P<a>denies|denied) (?:having had |having |experiencing |any |accompanying |associated )*", re.I
        ),
        "reports ",
    ),
    (re.compile(r"\bdeny (?:experiencing |having |any )*", re.I), "report "),
    (re.compile(r"\b(?:no complaints?|no signs?|no evidence) of ", re.I), "complaints of "),
    (re.compile(r"\bwithout (?:any |significant )*", re.I), "with "),
    (re.compile(r"\bno (?:accompanying |associated |notable |reported |observed |noted )*", re.I), "noticeable "),
    (re.compile(r"\bafebrile\b", re.I), "febrile"),
)
_AFFIRMED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:presents|presented|presenting) (?:with|w/) ", re.I), "denies "),
    (re.compile(r"\bcomplain(?:s|ed|ing) of |\bc/o ", re.I), "denies "),
    (
        re.compile(
            r"\b(?:reports|reported|describes|described|notes|noted|experiences|mentions) (?:experiencing |having )*",
            re.I,
        ),
        "denies ",
    ),
)


@dataclass(frozen=True)
class EditedNote:
    """A note, changed or not (``kind`` is "unchanged"), with the instructions that the unchanged one meets."""

    record: int
    kind: str
    note: str
    instructions: str
    change: str  # for error analysis


def edited_notes(
    notes: Mapping[int, str], spans: Mapping[int, Sequence[SymptomSpan]], write: Callable[..., str], *, seed: int
) -> list[EditedNote]:
    """Each note unchanged, and with every applicable kind of edit.

    ``write(mention, avoid, conditions)`` renders instructions: mention lines ("cough: no"), names, names.
    """
    found = []
    for record, note in sorted(notes.items()):
        draw = np.random.default_rng([seed, _STREAM, record])
        wanted = wanted_states(note, spans.get(record, ()))
        held = [name for name, pattern in CONDITIONS.items() if re.search(pattern, note, re.IGNORECASE)]
        spoken = {s.symptom for s in spans.get(record, ())}
        silent = [s for s in KEYWORDS if s not in spoken and not re.search(KEYWORDS[s], note, re.IGNORECASE)]
        instructions = write(mention=[f"{s}: {v}" for s, v in wanted.items()], avoid=silent, conditions=held)
        found.append(EditedNote(record, "unchanged", note, instructions, ""))
        for kind, edit in _EDITS.items():
            done = edit(note, spans.get(record, ()), wanted, held, draw)
            if done is not None and done[0] != note:
                found.append(EditedNote(record, kind, done[0], instructions, done[1]))
    return found


def wanted_states(note: str, spans: Sequence[SymptomSpan]) -> dict[str, str]:
    """Mention values (yes, no, none, low, high) of the symptoms that published spans state explicitly."""
    named = [s for s in spans if re.search(KEYWORDS[s.symptom], note[s.start : s.end], re.IGNORECASE)]
    wanted = {symptom: "yes" if state == "present" else "no" for symptom, state in states(note, named).items()}
    if wanted.get("fever") == "no":
        wanted["fever"] = "none"
    elif "fever" in wanted:
        words = " ".join(note[s.start : s.end] for s in named if s.symptom == "fever")
        readings = [_celsius(m["value"]) for m in _TEMPERATURE.finditer(note)]
        high = re.search(r"\bhigh\b", words) is not None or max(readings, default=0.0) >= 38.6
        wanted["fever"] = "high" if high else "low"
    return wanted


Done = tuple[str, str] | None


def _turn_negation(
    note: str, spans: Sequence[SymptomSpan], wanted: dict[str, str], _: list[str], draw: np.random.Generator
) -> Done:
    """Turn one denial of a requested symptom into an affirmation; in a note without denials, the reverse."""
    for rules, values in ((_TURNED, ("no", "none")), (_AFFIRMED, ("yes", "low", "high"))):
        own = [s for s in spans if wanted.get(s.symptom) in values and _alone(note, s, spans)]
        for at in draw.permutation(len(own)):
            done = _substitute(note, own[at], rules)
            if done is not None:
                return done
    return None


def _alone(note: str, span: SymptomSpan, spans: Sequence[SymptomSpan]) -> bool:
    """Whether the note mentions the span's symptom in this sentence only."""
    sentence = _sentence(note, span.start)
    return all(_sentence(note, s.start) == sentence for s in spans if s.symptom == span.symptom)


def _substitute(note: str, span: SymptomSpan, rules: Sequence[tuple[re.Pattern[str], str]]) -> Done:
    start = max(_sentence(note, span.start)[0], span.start - _REACH)
    for pattern, replacement in rules:
        places = list(pattern.finditer(note, start, span.end))
        if places:
            place = places[-1]
            turned = replacement.capitalize() if note[place.start()].isupper() else replacement
            return note[: place.start()] + turned + note[
                place.end() :
            ], f"{span.symptom}: {place.group()!r} -> {turned!r}"
    return None


def _change_temperature(
    note: str, spans: Sequence[SymptomSpan], wanted: dict[str, str], _: list[str], draw: np.random.Generator
) -> Done:
    """Change every temperature to another fever level than requested: fever if there is none, none if there is."""
    places = [m for m in _TEMPERATURE.finditer(note) if _READING.search(note, max(0, m.start() - 60), m.end() + 4)]
    if not places:
        return None
    fever = wanted.get("fever", "none") in ("low", "high")
    celsius = round(float(draw.uniform(36.4, 36.9) if fever else draw.uniform(39.0, 39.8)), 1)
    for place in reversed(places):
        value = celsius if _celsius(place["value"]) == float(place["value"]) else round(celsius * 1.8 + 32, 1)
        note = note[: place.start()] + f"{value:g}" + note[place.end() :]
    return note, f"temperature -> {celsius} °C"


def _celsius(value: str) -> float:
    number = float(value)
    return number if number < 60 else (number - 32) / 1.8


def _remove_sentence(
    note: str, spans: Sequence[SymptomSpan], wanted: dict[str, str], _: list[str], draw: np.random.Generator
) -> Done:
    """Remove the only sentence that mentions a requested symptom."""
    own = [s for s in spans if s.symptom in wanted and _alone(note, s, spans)]
    own = [
        s
        for s in own
        if len(re.findall(KEYWORDS[s.symptom], note, re.I))
        == len(re.findall(KEYWORDS[s.symptom], _words(note, s), re.I))
    ]
    if not own:
        return None
    span = own[int(draw.integers(len(own)))]
    start, end = _sentence(note, span.start)
    return note[:start] + note[end:].lstrip(" "), f"{span.symptom}: {note[start:end]!r}"


def _words(note: str, span: SymptomSpan) -> str:
    start, end = _sentence(note, span.start)
    return note[start:end]


def _add_condition(
    note: str, spans: Sequence[SymptomSpan], wanted: dict[str, str], held: list[str], draw: np.random.Generator
) -> Done:
    """Add a condition that the instructions do not list to the end of the history."""
    # In a note on another complaint, only the network's conditions contradict the instructions.
    names = [
        n for n in _ADDED if n not in held and (wanted or n in CONDITIONS) and not re.search(n, note, re.IGNORECASE)
    ]
    heading = re.search(r"\s*\n+[^\n]*physical exam", note, re.IGNORECASE)
    if not names or heading is None:
        return None
    name = names[int(draw.integers(len(names)))]
    return note[: heading.start()] + " " + _ADDED[name] + note[heading.start() :], name


def _sentence(note: str, position: int) -> tuple[int, int]:
    return next((span for span in sentence_spans(note) if span[0] <= position < span[1]), (position, position))


_EDITS: dict[str, Callable[[str, Sequence[SymptomSpan], dict[str, str], list[str], np.random.Generator], Done]] = dict(
    zip(KINDS, (_turn_negation, _change_temperature, _remove_sentence, _add_condition), strict=True)
)
