"""Rate a note and its compact version under the physicians' instructions.

Penalties follow from the note's content, ratings from counted faults: of the history, of the examination (unusual and
missing checks, implausible values), and of the compact version (share of content kept and of common abbreviations).
"""

import json
import re
from collections.abc import Callable

from tasks.domains.rules import load_rules
from tasks.simulator.clinical.findings import Finding, find
from tasks.simulator.clinical.lexicon import (
    conditions,
    examination_checks,
    is_absent,
    odd_examinations,
    reading,
    symptoms,
)
from tasks.simulator.clinical.patient import find_age_and_sex
from tasks.simulator.clinical.similarity import bag, says, weight
from tasks.simulator.clinical.words import expansion
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary
from tasks.text.sections import split_sections

_WORDS = vocabulary("judge")
_ITEM = re.compile(r"^- \[(?P<code>(?P<part>\d[A-D])/(?P<item>[^\]]+))\] (?P<label>.*)$", re.MULTILINE)
_ASSESSMENT = re.compile(rf"^\W*{_WORDS['assessment']}\b", re.IGNORECASE | re.MULTILINE)
_SUSPECTED = re.compile(rf"\b{_WORDS['suspected']}\b", re.IGNORECASE)


def rate_note(request: ChatRequest) -> str:
    """Reply to ``rate a clinical note``."""
    note, compact, prompt = request.tag("note"), request.tag("compact"), request.tag("prompt")
    items = [match.groupdict() for match in _ITEM.finditer(request.tag("penalties"))]
    penalties = [item["code"] for item in items if _violated(item["part"], item["item"], item["label"], note, prompt)]
    return json.dumps(
        {
            "reason": f"Penalties for: {', '.join(penalties) or 'nothing'}.",
            "penalties": penalties,
            "realism_history": _from_faults(_odd_history(note)),
            "realism_physical_examination": _examination(note),
            "clinical_accuracy": _from_faults(_accuracy_faults(note), gentle=True),
            "compact_content": _content_rating(note, compact),
            "compact_readability": _readability_rating(compact),
        }
    )


def _violated(part: str, item: str, label: str, note: str, prompt: str) -> bool:
    text = (_parts(note)[0] or note) if part in ("1A", "1B", "1C") else note
    if part == "1A":
        return _misses(label, text)
    if part == "1B":
        return any(f.kind != "weak" for f in _of(text, label))
    if part == "2A":
        return any(f.polarity == "present" and f.kind not in ("weak", "measured") for f in _of(text, label))
    if part in ("1C", "2B"):
        return _condition(item, text, prompt)
    return item in _INSTRUCTIONS and _INSTRUCTIONS[item](note)


def _parts(note: str) -> tuple[str, str]:
    """Return (history, examination)."""
    parts: dict[bool, list[str]] = {False: [], True: []}
    for section in split_sections(note):
        parts[section.name == "physical_examination"].append(note[section.start : section.end])
    return "\n".join(parts[False]), "\n".join(parts[True])


def _of(text: str, label: str) -> list[Finding]:
    """Findings of the symptom that an item's label names ("symptom: yes, light")."""
    name = label.split(":")[0].strip()
    concept = load_rules().labels.get(name, name)
    return [f for f in find(text) if f.concept == concept and not f.other]


def _misses(label: str, history: str) -> bool:
    """Whether the history contradicts or omits a symptom or its descriptor (part 1A)."""
    value, _, descriptor = label.partition(": ")[2].partition(", ")
    found = [f for f in _of(history, label) if f.polarity != "uncertain"]
    present = [f for f in found if f.polarity == "present"]
    if found and is_absent(value):
        return any(f.kind != "weak" for f in present)
    return not present or bool(descriptor and not _describes(history, present, descriptor))


def _describes(history: str, present: list[Finding], descriptor: str) -> bool:
    """Whether the descriptor appears in a sentence about the symptom, or right after it."""
    texts = [history[f.sentence[0] : f.sentence[1] + 200].split("\n")[0] for f in present]
    return any(says(text, descriptor) for text in texts)


def _condition(item: str, text: str, prompt: str) -> bool:
    """Whether the text gives the patient a condition that the prompt does not list: a named one, or the n-th other."""
    found = [f for f in find(text) if f.category == "condition" and f.polarity == "present" and not f.other]
    named = {f.concept.lower() for f in found}
    if not item.startswith("other_"):
        return item.replace("_", " ").lower() in named
    known = {name.lower() for name in (*conditions(), *reading().companions)} | {"alcohol use"}
    return sum(name not in prompt.lower() for name in named - known) >= int(item.removeprefix("other_"))


def _names_diagnosis(note: str) -> bool:
    named = [f for f in find(note) if f.category == "diagnosis" and f.polarity != "absent" and not f.other]
    suspected = any(_SUSPECTED.search(note[max(0, f.start - 60) : f.end + 20]) for f in named)
    return suspected or _ASSESSMENT.search(note) is not None


def _has_further_symptom(note: str) -> bool:
    """Whether the history has a complaint outside the domain that is no part of a symptom of the domain."""
    found = [f for f in find(_parts(note)[0] or note) if f.polarity == "present" and not f.other]
    given = [f for f in found if f.category == "symptom"]
    new = [f for f in found if f.category == "other_symptom" and f.kind == "direct"]
    return any(not any(g.start < f.end and f.start < g.end for g in given) for f in new)


_INSTRUCTIONS: dict[str, Callable[[str], bool]] = {
    "sex_or_age": lambda note: bool(find_age_and_sex(note)),
    "diagnosis": _names_diagnosis,
    "further_symptom": _has_further_symptom,
}
"""Whether a note violates an instruction of part 1D."""


def _from_faults(faults: int, *, gentle: bool = False) -> int:
    """Return 5 without faults, 4 for one or two, otherwise 3 or 2; ``gentle`` ratings are at least 3."""
    if faults <= 2:
        return 4 if faults else 5
    return 3 if gentle or faults <= 4 else 2


def _odd_history(note: str) -> int:
    """Count findings of the history that are unusual for a complaint of the domain."""
    history = _parts(note)[0] or note
    odd = [f for f in find(history) if not f.other and f.concept in reading().far]
    return len(odd) if _symptoms(history, "present") else 0


def _symptoms(text: str, polarity: str) -> set[str]:
    """The patient's symptoms of the domain with a polarity."""
    return {f.concept for f in find(text) if f.concept in symptoms() and f.polarity == polarity and not f.other}


def _examination(note: str) -> int:
    """Rate the examination by the checks that the complaints require and it lacks, and by checks unrelated to them."""
    history, examination = _parts(note)
    complaints = _symptoms(history, "present")
    needed = {check for complaint in complaints for check in reading().needed.get(complaint, ())}
    missing = sum(1 for check in needed if not examination_checks()[check].search(examination))
    odd = {match.group().lower() for match in odd_examinations().finditer(examination)} if complaints else set()
    if missing == 0 and not odd:
        return 5
    if missing <= 1 and len(odd) <= 2:
        return 4
    return 3 if missing <= 2 else 2


_PRESSURE = re.compile(r"\b(\d{2,3})\s?/\s?(\d{2,3})\b")
_RATES = (
    (re.compile(r"(?:heart rate|pulse|HR)\D{0,12}(\d{2,3})", re.IGNORECASE), 35, 200),
    (re.compile(r"(?:respiratory rate|resp\.? rate|RR)\D{0,12}(\d{1,3})", re.IGNORECASE), 8, 45),
    (re.compile(r"(?:saturation|SpO2|sats?|O2)\D{0,20}(\d{2,3})\s?%", re.IGNORECASE), 75, 100),
)


def _accuracy_faults(note: str) -> int:
    """Count implausible values and findings that contradict the history."""
    history, examination = _parts(note)
    faults = sum(1 for high, low in _PRESSURE.findall(examination) if not _plausible(int(high), int(low)))
    for pattern, least, most in _RATES:
        faults += sum(1 for value in pattern.findall(examination) if not least <= int(value) <= most)
    denied = {f.concept for f in find(history) if f.concept in symptoms() and f.polarity == "absent"}
    symptom = reading().temperature
    measured = {f.polarity for f in find(examination) if f.concept == symptom}
    return faults + (symptom in denied - _symptoms(history, "present") and "present" in measured)


def _plausible(high: int, low: int) -> bool:
    return 70 <= high <= 230 and 35 <= low <= 140 and high > low


_SHORT = re.compile(r"\b(?:[A-Z][A-Za-z]*\.|[A-Z]{2,}[a-z]?|[A-Za-z]/[A-Za-z]+|[b-df-hj-np-tv-z]{2,5})\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_CONTENT = ((5, 0.74), (4, 0.60), (3, 0.45), (2, 0.30))
"""Rating and minimum share kept, calibrated so that published pairs average the physicians' 4.88."""
_DENSITY = ((5, 0.10), (4, 0.28), (3, 0.45), (2, 0.65))
"""Rating and maximum share of abbreviated words."""


def _content_rating(note: str, compact: str) -> int:
    """Return 1 to 5 by the share of content kept: findings (with polarity) and numbers, and words."""
    wanted, kept = _content(note), _content(compact)
    findings = len(wanted & kept) / len(wanted) if wanted else 1.0
    weights, words = {form: weight(form) for form in bag(note)}, bag(compact)
    said = sum(value for form, value in weights.items() if form in words) / max(sum(weights.values()), 1.0)
    return next((rating for rating, least in _CONTENT if (findings + said) / 2 >= least), 1)


def _content(text: str) -> frozenset[str]:
    findings = {f"{f.concept}/{f.polarity}" for f in find(text) if f.kind not in ("weak", "anaphor", "feature")}
    return frozenset(findings | set(_NUMBER.findall(text)))


def _readability_rating(compact: str) -> int:
    """Return 1 to 5 by the share of abbreviated words; unknown abbreviations count three times."""
    short = _SHORT.findall(compact)
    unknown = [word for word in short if expansion(word) is None]
    density = (len(short) + 2 * len(unknown)) / max(len(compact.split()), 1)
    return next((rating for rating, most in _DENSITY if density <= most), 1)
