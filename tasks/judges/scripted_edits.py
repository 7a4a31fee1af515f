"""Edits real notes by script, one change each, with instructions that the unchanged note meets.

The instructions are derived from the published spans: a symptom with a span must be mentioned as present or absent, a
symptom without one must not be mentioned. The edits invert a negation, change a temperature, remove a symptom's only
sentence, or add a condition. A consistency check should pass the unchanged note and flag the edited ones.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.domains.rules import PromptingRules
from tasks.judges.changes import pattern, words
from tasks.judges.span_agreement import KEYWORDS, RealNote, SymptomSpan, states
from tasks.llm.prompts import render
from tasks.text.sentences import sentence_spans

KINDS = ("negation turned", "temperature changed", "sentence removed", "condition added")
_STREAM = 505
_REACH = 45  # characters before a span that are searched for its reporting or denying word
_WORDS = "published_notes"
CONDITIONS: dict[str, str] = words(_WORDS)["conditions"]
"""The network's conditions and how real notes word them."""


@dataclass(frozen=True)
class EditedNote:
    """A note, changed or not (``kind`` is "none"), with the instructions that the unchanged one meets."""

    kind: str
    note: str
    instructions: str


def edited_notes(notes: Sequence[RealNote], rules: PromptingRules, *, seed: int) -> list[EditedNote]:
    """Each normal note unchanged, and with every applicable kind of edit, by record.

    ``rules`` hold the phrases of the domain's prompts.
    """
    found = []
    for real in sorted(notes, key=lambda one: one.record):
        note, spans = real.text["normal"], real.spans["normal"]
        draw = np.random.default_rng([seed, _STREAM, real.record])
        wanted = wanted_states(note, spans)
        held = [name for name, worded in CONDITIONS.items() if re.search(worded, note, re.IGNORECASE)]
        spoken = {s.symptom for s in spans}
        silent = [s for s in KEYWORDS if s not in spoken and not re.search(KEYWORDS[s], note, re.IGNORECASE)]
        instructions = _instructions([f"{s}: {v}" for s, v in wanted.items()], silent, held, rules)
        found.append(EditedNote("none", note, instructions))
        subject = _Subject(note, spans, wanted, held)
        for kind, edit in _EDITS.items():
            edited = edit(subject, draw)
            if edited is not None and edited != note:
                found.append(EditedNote(kind, edited, instructions))
    return found


def _instructions(mention: list[str], avoid: list[str], conditions: list[str], rules: PromptingRules) -> str:
    """Information that the unchanged note agrees with, in the words of the main pipeline."""
    fields = {
        "mention": mention,
        "avoid": avoid if mention else [],
        "absent": [] if mention else list(KEYWORDS),
        "own_complaint": False,
        "conditions": conditions,
        "forbidden_conditions": [] if mention or conditions else list(CONDITIONS),
    }
    return render("tasks.notes", "instructions", **fields, phrases=rules.phrases, count=1)[-1].content


def wanted_states(note: str, spans: Sequence[SymptomSpan]) -> dict[str, str]:
    """Mention values (yes, no, none, low, high) of the symptoms that published spans state explicitly."""
    named = [s for s in spans if re.search(KEYWORDS[s.symptom], note[s.start : s.end], re.IGNORECASE)]
    wanted = {symptom: "yes" if state == "present" else "no" for symptom, state in states(note, named).items()}
    if wanted.get("fever") == "no":
        wanted["fever"] = "none"
    elif "fever" in wanted:
        words = " ".join(note[s.start : s.end] for s in named if s.symptom == "fever")
        readings = [_celsius(m["value"]) for m in pattern(_WORDS, "temperature").finditer(note)]
        high = re.search(r"\bhigh\b", words) is not None or max(readings, default=0.0) >= 38.6
        wanted["fever"] = "high" if high else "low"
    return wanted


@dataclass(frozen=True)
class _Subject:
    """A note to be edited, with its published spans, the requested states, and the conditions that it mentions."""

    note: str
    spans: Sequence[SymptomSpan]
    wanted: Mapping[str, str]
    held: Sequence[str]

    def sentence(self, position: int) -> tuple[int, int]:
        """Start and end of the sentence at a position."""
        spans = sentence_spans(self.note)
        return next((span for span in spans if span[0] <= position < span[1]), (position, position))

    def alone(self, span: SymptomSpan) -> bool:
        """Whether the note mentions the span's symptom in this sentence only."""
        sentence = self.sentence(span.start)
        return all(self.sentence(one.start) == sentence for one in self.spans if one.symptom == span.symptom)


def _turn_negation(subject: _Subject, draw: np.random.Generator) -> str | None:
    """Turn one denial of a requested symptom into an affirmation; in a note without denials, the reverse."""
    for rules, values in (("turned", ("no", "none")), ("affirmed", ("yes", "low", "high"))):
        own = [s for s in subject.spans if subject.wanted.get(s.symptom) in values and subject.alone(s)]
        for at in draw.permutation(len(own)):
            done = _substitute(subject, own[at], words(_WORDS)[rules])
            if done is not None:
                return done
    return None


def _substitute(subject: _Subject, span: SymptomSpan, rules: Sequence[tuple[str, str]]) -> str | None:
    note, start = subject.note, max(subject.sentence(span.start)[0], span.start - _REACH)
    for asked, replacement in rules:
        places = list(re.compile(asked, re.IGNORECASE).finditer(note, start, span.end))
        if places:
            place = places[-1]
            turned = replacement.capitalize() if note[place.start()].isupper() else replacement
            return note[: place.start()] + turned + note[place.end() :]
    return None


def _change_temperature(subject: _Subject, draw: np.random.Generator) -> str | None:
    """Change every temperature to another fever level than requested: fever if there is none, none if there is."""
    note = subject.note
    reading, found = pattern(_WORDS, "reading"), pattern(_WORDS, "temperature").finditer(note)
    places = [m for m in found if reading.search(note, max(0, m.start() - 60), m.end() + 4)]
    if not places:
        return None
    fever = subject.wanted.get("fever", "none") in ("low", "high")
    celsius = round(float(draw.uniform(36.4, 36.9) if fever else draw.uniform(39.0, 39.8)), 1)
    for place in reversed(places):
        value = celsius if _celsius(place["value"]) == float(place["value"]) else round(celsius * 1.8 + 32, 1)
        note = note[: place.start()] + f"{value:g}" + note[place.end() :]
    return note


def _celsius(value: str) -> float:
    number = float(value)
    return number if number < 60 else (number - 32) / 1.8


def _remove_sentence(subject: _Subject, draw: np.random.Generator) -> str | None:
    """Remove the only sentence that mentions a requested symptom."""
    note, own = subject.note, []
    for span in subject.spans:
        start, end = subject.sentence(span.start)
        named = re.compile(KEYWORDS[span.symptom], re.IGNORECASE)
        elsewhere = len(named.findall(note)) != len(named.findall(note[start:end]))
        if span.symptom in subject.wanted and subject.alone(span) and not elsewhere:
            own.append((start, end))
    if not own:
        return None
    start, end = own[int(draw.integers(len(own)))]
    return note[:start] + note[end:].lstrip(" ")


def _add_condition(subject: _Subject, draw: np.random.Generator) -> str | None:
    """Add a condition that the instructions do not list to the end of the history."""
    note = subject.note
    if subject.wanted and not subject.held:
        return None  # the instructions list no conditions, so that none contradicts them
    # In a note on another complaint, only the network's conditions contradict the instructions.
    added = words(_WORDS)["added"]
    possible = [name for name in added if name not in subject.held and (subject.wanted or name in CONDITIONS)]
    names = [name for name in possible if not re.search(name, note, re.IGNORECASE)]
    heading = re.search(r"\s*\n+[^\n]*physical exam", note, re.IGNORECASE)
    if not names or heading is None:
        return None
    name = names[int(draw.integers(len(names)))]
    return note[: heading.start()] + " " + added[name] + note[heading.start() :]


_EDITS: dict[str, Callable[[_Subject, np.random.Generator], str | None]] = dict(
    zip(KINDS, (_turn_negation, _change_temperature, _remove_sentence, _add_condition), strict=True)
)
