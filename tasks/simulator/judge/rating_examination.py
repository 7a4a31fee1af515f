"""Faults of a physical examination: unusual checks, missing checks, implausible values."""

import re

from tasks.simulator.clinical.findings import find
from tasks.simulator.clinical.vocabulary import examination_checks, odd_examinations, reading, symptoms
from tasks.text.sections import split_sections

_PRESSURE = re.compile(r"\b(\d{2,3})\s?/\s?(\d{2,3})\b")
_RATES = (
    (re.compile(r"(?:heart rate|pulse|HR)\D{0,12}(\d{2,3})", re.IGNORECASE), 35, 200),
    (re.compile(r"(?:respiratory rate|resp\.? rate|RR)\D{0,12}(\d{1,3})", re.IGNORECASE), 8, 45),
    (re.compile(r"(?:saturation|SpO2|sats?|O2)\D{0,20}(\d{2,3})\s?%", re.IGNORECASE), 75, 100),
)


def _parts(note: str) -> tuple[str, str]:
    """Return (history, examination)."""
    sections = split_sections(note)
    history = "\n".join(note[s.start : s.end] for s in sections if s.name != "physical_examination")
    return history, "\n".join(note[s.start : s.end] for s in sections if s.name == "physical_examination")


def _complaints(history: str) -> set[str]:
    return {f.concept for f in find(history) if f.concept in symptoms() and f.polarity == "present" and not f.other}


def missing_checks(note: str) -> int:
    """Count the checks that the complaints require but the examination lacks."""
    history, examination = _parts(note)
    needed = {check for complaint in _complaints(history) for check in reading().needed.get(complaint, ())}
    return sum(1 for check in needed if not examination_checks()[check].search(examination))


def odd_checks(note: str) -> int:
    """Count distinct checks unrelated to complaints of the domain; 0 for a note without such complaints."""
    history, examination = _parts(note)
    if not _complaints(history):
        return 0
    return len({match.group().lower() for match in odd_examinations().finditer(examination)})


def accuracy_faults(note: str) -> int:
    """Count implausible values and findings that contradict the history."""
    history, examination = _parts(note)
    faults = sum(1 for high, low in _PRESSURE.findall(examination) if not _plausible(int(high), int(low)))
    for pattern, least, most in _RATES:
        faults += sum(1 for value in pattern.findall(examination) if not least <= int(value) <= most)
    denied = {f.concept for f in find(history) if f.concept in symptoms() and f.polarity == "absent"}
    affirmed = _complaints(history)
    symptom = reading().temperature
    measured = {f.polarity for f in find(examination) if f.concept == symptom}
    faults += symptom in denied - affirmed and "present" in measured
    return faults


def _plausible(high: int, low: int) -> bool:
    return 70 <= high <= 230 and 35 <= low <= 140 and high > low
