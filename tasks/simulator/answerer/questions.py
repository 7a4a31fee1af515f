"""Parse questions about a patient's notes."""

import re
from dataclasses import dataclass

from tasks.simulator.answerer.reading import ChartedNote
from tasks.simulator.clinical.claims import DATE, symptoms_in

_CHANGE = re.compile(r"\b(?:change|changed|develop|evolve|compare|differ)\w*\b", re.IGNORECASE)
_VISITS = re.compile(
    r"\b(?:which|what) (?:of the )?(?:visit|visits|date|dates|consultation|consultations)\b", re.IGNORECASE
)
_DESCRIBED = re.compile(r"\b(?:described|character|nature|describe|kind of)\b", re.IGNORECASE)


_THINGS = {
    "drug": re.compile(r"\b(?:medicines?|medications?|drugs?|treatments?)\b", re.IGNORECASE),
    "condition": re.compile(r"\b(?:conditions?|diseases?|comorbidit\w+|medical history)\b", re.IGNORECASE),
    "sign": re.compile(r"\b(?:examination|examined|findings?|signs?)\b", re.IGNORECASE),
    "other_symptom": re.compile(r"\b(?:complaints?|symptoms?)\b", re.IGNORECASE),
}
_DENIED = re.compile(r"\b(?:absent|denied|denies|ruled out|not have)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Question:
    """A parsed question; ``kind``: findings, described, visits, change, named or other.

    For kind "named": ``category`` of the findings asked for (None: any), and ``denied`` if absent ones are asked
    for.
    """

    kind: str
    symptoms: tuple[str, ...]
    notes: tuple[ChartedNote, ...]  # the notes asked about, by date
    text: str
    category: str | None = None
    denied: bool = False


def understand(text: str, notes: list[ChartedNote]) -> Question:
    """Parse a question: notes by the dates it mentions (all without a date), symptoms, and kind."""
    dates = set(DATE.findall(text))
    about = tuple(note for note in notes if note.date in dates) or tuple(notes)
    symptoms = tuple(symptoms_in(text))
    category = next((name for name, words in _THINGS.items() if words.search(text)), None)
    denied = bool(_DENIED.search(text))
    if not symptoms:
        kind = "named" if category or denied else "other"
    elif _VISITS.search(text):
        kind = "visits"
    elif _CHANGE.search(text) and len(about) > 1:
        kind, about = "change", (about[0], about[-1])
    elif _DESCRIBED.search(text):
        kind = "described"
    else:
        kind = "findings"
    return Question(kind, symptoms, about, text, category, denied)
