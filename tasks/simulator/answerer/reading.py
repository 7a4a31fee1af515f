"""Read a patient's notes, for symptoms with level and description, and questions about them."""

import re
from dataclasses import dataclass

from tasks.simulator.clinical.claims import DATE, symptoms_in
from tasks.simulator.clinical.findings import Finding, find, in_note
from tasks.simulator.clinical.lexicon import reading
from tasks.simulator.clinical.patient import temperature_level
from tasks.simulator.clinical.similarity import says
from tasks.simulator.clinical.words import content_words, stem
from tasks.simulator.request import ChartedNote

_HIGH = re.compile(r"\b(?:high|spiking|significant|marked|elevated)\b", re.IGNORECASE)
_LOW = re.compile(r"\b(?:low|mild|slight|subfebrile|light)\b", re.IGNORECASE)
_STOP = frozenset(["over", "when"])
"""Words without content in descriptors, in addition to stop words."""


def status(note: str, symptom: str) -> str | None:
    """Return present, absent, its level (high, low), or None if the note does not mention the symptom.

    The history takes precedence over the examination. If mentions disagree, the symptom is present, since a note
    may deny an aspect of a symptom that the patient has.
    """
    found = [f for f in in_note(note, symptom) if f.polarity != "uncertain" and f.kind != "weak"]
    stated = [f for f in found if f.section != "physical_examination"] or [f for f in found if _counts_alone(f)]
    if not stated:
        return None
    present = [f for f in stated if f.polarity == "present"]
    if not present:
        return "absent"
    if symptom != reading().temperature:
        return "present"
    return _level(note, [f for f in found if f.polarity == "present"])


def _counts_alone(finding: Finding) -> bool:
    """Whether an examination finding alone counts as a statement: a normal sign denies no symptom."""
    return finding.concept == reading().temperature or finding.polarity == "present" or finding.kind != "exam"


def _level(note: str, present: list[Finding]) -> str:
    """Level of a present symptom: by its wording, else by the measured temperature."""
    measured = [f.celsius for f in present if f.celsius is not None]
    words = " ".join(note[f.sentence[0] : f.sentence[1]] for f in present if f.celsius is None)
    if _LOW.search(words) and not _HIGH.search(words):
        return "low"
    if _HIGH.search(words) and not _LOW.search(words):
        return "high"
    if measured:
        return "high" if temperature_level(max(measured)) == "high" else "low"
    return "present"


def stems(text: str) -> frozenset[str]:
    """Stems of the content words of ``text``, with abbreviations expanded."""
    return frozenset(stem(word, "question_endings") for word in content_words(text) if word not in _STOP)


def described(note: str, symptom: str, descriptor: str) -> float:
    """Return how closely the note connects a descriptor with a present symptom: 1 next to the mention, 0 nowhere."""
    present = [f for f in in_note(note, symptom) if f.polarity == "present"]
    return max((_support(note, f, descriptor) for f in present), default=0.0)


def _support(note: str, finding: Finding, descriptor: str) -> float:
    start, end = finding.sentence
    if says(note[slice(*_beside(note, finding))], descriptor):
        return 1.0
    if says(note[start:end], descriptor):
        return 0.6
    after = note[end : end + 200].split("\n")[0]
    if says(after, descriptor):
        return 0.45
    wanted = stems(descriptor)
    return 0.4 * len(wanted & stems(note[start:end])) / max(len(wanted), 1)


def _beside(note: str, finding: Finding) -> tuple[int, int]:
    """The part of a finding's sentence up to the neighbouring findings of other symptoms."""
    start, end = finding.sentence
    others = [f for f in find(note) if f.category == "symptom" and f.concept != finding.concept]
    before = [f.end for f in others if start <= f.start and f.end <= finding.start]
    after = [f.start for f in others if finding.end <= f.start < end]
    return max([start, *before]), min([end, *after])


def named(note: str, category: str | None, denied: bool) -> list[str]:
    """Return the concepts of a category (None: any) that the note affirms, or denies."""
    polarity = "absent" if denied else "present"
    found = [f for f in find(note) if not f.other and f.kind != "weak" and f.polarity == polarity]
    return list(dict.fromkeys(f.concept for f in found if category is None or f.category == category))


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
