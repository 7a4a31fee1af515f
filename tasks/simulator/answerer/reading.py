"""Read a patient's notes: symptoms with level and description, by date."""

import re
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical import temperature
from tasks.simulator.clinical.abbreviations import content_words
from tasks.simulator.clinical.descriptors import says
from tasks.simulator.clinical.findings import Finding, find, in_note
from tasks.simulator.clinical.vocabulary import reading

_NOTE = re.compile(
    r"^<note>\nPatient: (?P<patient>[^\n]*)\nNote: (?P<id>[^\n]*)\nDate: (?P<date>[^\n]*)\n\n(?P<text>.*?)\n</note>$",
    re.MULTILINE | re.DOTALL,
)
_HIGH = re.compile(r"\b(?:high|spiking|significant|marked|elevated)\b", re.IGNORECASE)
_LOW = re.compile(r"\b(?:low|mild|slight|subfebrile|light)\b", re.IGNORECASE)
_STOP = frozenset(["over", "when"])
"""Words without content in descriptors, in addition to stop words."""


@dataclass(frozen=True)
class ChartedNote:
    """A note in the prompt."""

    patient: str
    id: str
    date: str
    text: str


def read_notes(block: str) -> list[ChartedNote]:
    """Parse the notes block of a prompt; empty for a prompt without notes."""
    return [ChartedNote(m["patient"], m["id"], m["date"], m["text"]) for m in _NOTE.finditer(block)]


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
    return (
        _level(note, [f for f in found if f.polarity == "present"]) if symptom == reading().temperature else "present"
    )


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
        return "high" if temperature.level(max(measured)) == "high" else "low"
    return "present"


def stems(text: str) -> frozenset[str]:
    """Stems of the content words of ``text``, with abbreviations expanded."""
    return frozenset(_stem(word) for word in content_words(text) if word not in _STOP)


@domain_cache(maxsize=8192)
def _stem(word: str) -> str:
    for ending in ("iness", "ingly", "edly", "ness", "ing", "ied", "ies", "ed", "es", "ly", "al", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


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
