"""Rates a note and its compact version under the physicians' instructions: penalties and ratings by counted faults."""

import json
import re

from tasks.domains.rules import load_rules
from tasks.simulator.reader.checks import SUSPECTS, about, age_or_sex, parts
from tasks.simulator.reader.findings import Finding, find, mentions
from tasks.simulator.reader.lexicon import conditions, is_absent, reading, says, symptoms
from tasks.simulator.reader.words import expansion, stems
from tasks.simulator.request import ChatRequest

_ITEM = re.compile(r"^- \[(?P<code>(?P<part>\d[A-D])/(?P<item>[^\]]+))\] (?P<label>.*)$", re.MULTILINE)
_SHORT = re.compile(r"\b(?:[A-Z][A-Za-z]*\.|[A-Z]{2,}[a-z]?|[A-Za-z]/[A-Za-z]+|[b-df-hj-np-tv-z]{2,5})\b")
_PLAUSIBLE = (
    (re.compile(r"\b(\d{2,3})\s?/\s?\d{2,3}\b"), 70, 230),
    (re.compile(r"(?:heart rate|pulse|HR)\D{0,12}(\d{2,3})", re.IGNORECASE), 35, 200),
    (re.compile(r"(?:respiratory rate|resp\.? rate|RR)\D{0,12}(\d{1,3})", re.IGNORECASE), 8, 45),
    (re.compile(r"(?:saturation|SpO2|sats?|O2)\D{0,20}(\d{2,3})\s?%", re.IGNORECASE), 75, 100),
)
_KEPT = ((5, 0.62), (4, 0.5), (3, 0.38), (2, 0.25))
"""Rating and least share of the note's content that the compact version keeps."""
_DENSITY = ((5, 0.10), (4, 0.28), (3, 0.45), (2, 0.65))
"""Rating and greatest share of abbreviated words."""


def rate_note(request: ChatRequest) -> str:
    """Reply to ``rate a clinical note``."""
    note, compact, prompt = request.tag("note"), request.tag("compact"), request.tag("prompt")
    items = [match.groupdict() for match in _ITEM.finditer(request.tag("penalties"))]
    penalties = [one["code"] for one in items if _violated(one["part"], one["item"], one["label"], note, prompt)]
    history, examination = parts(note)
    complaints = {f.concept for f in find(history) if f.concept in symptoms() and f.polarity == "present"}
    needed = {check for complaint in complaints for check in reading().needed.get(complaint, ())}
    missing = sum(re.search(reading().checks[check], examination, re.IGNORECASE) is None for check in needed)
    measured = [(int(value), low, high) for pattern, low, high in _PLAUSIBLE for value in pattern.findall(note)]
    strange = [value for value, low, high in measured if not low <= value <= high]
    kept = len(stems(note) & stems(compact)) / max(len(stems(note)), 1)
    short = _SHORT.findall(compact)
    unknown = sum(expansion(word) is None for word in short)
    density = (len(short) + 2 * unknown) / max(len(compact.split()), 1)
    return json.dumps(
        {
            "reason": f"Penalties for: {', '.join(penalties) or 'nothing'}.",
            "penalties": penalties,
            "realism_history": 5,
            "realism_physical_examination": max(5 - missing, 2),
            "clinical_accuracy": max(5 - len(strange), 3),
            "compact_content": next((rating for rating, least in _KEPT if kept >= least), 1),
            "compact_readability": next((rating for rating, most in _DENSITY if density <= most), 1),
        }
    )


def _violated(part: str, item: str, label: str, note: str, prompt: str) -> bool:
    """Whether a note has the fault of an item of the rating instructions, part 1A (history) to 2B (examination)."""
    text = parts(note)[0] if part in ("1A", "1B", "1C") else note
    name = label.split(":")[0].strip()
    found = mentions(text, load_rules().labels.get(name, name))
    present = [f for f in found if f.polarity == "present" and f.kind not in ("weak", "measured")]
    if part == "1A":
        value, _, descriptor = label.partition(": ")[2].partition(", ")
        if found and is_absent(value):
            return bool(present)
        return not present or bool(descriptor and not says(about(text, present[0].concept), descriptor))
    if part in ("1B", "2A"):
        return bool(present) if part == "2A" else any(f.kind != "weak" for f in found)
    if part in ("1C", "2B"):
        return _condition(item, text, prompt)
    if item == "sex_or_age":
        return age_or_sex(note) is not None
    others = [f for f in find(note) if f.polarity != "absent" and not f.other]
    if item == "diagnosis":
        near = [note[max(0, f.start - 60) : f.end + 20] for f in others if f.category == "diagnosis"]
        return any(SUSPECTS.search(text) for text in near)
    return item == "further_symptom" and any(_is_further(f, others) for f in others)


def _is_further(finding: Finding, others: list[Finding]) -> bool:
    """Whether a mention is a complaint outside the domain that is no part of a symptom of the domain."""
    inside = any(f.category == "symptom" and f.start < finding.end and finding.start < f.end for f in others)
    plain = finding.category == "other_symptom" and finding.kind == "direct" and finding.polarity == "present"
    return plain and not inside and not finding.in_examination


def _condition(item: str, text: str, prompt: str) -> bool:
    """Whether the text gives the patient a condition that the prompt does not list: a named one, or the n-th other."""
    found = [f for f in find(text) if f.category == "condition" and f.polarity == "present" and not f.other]
    named = {f.concept.lower() for f in found}
    if not item.startswith("other_"):
        return item.replace("_", " ").lower() in named
    known = {name.lower() for name in conditions()} | {"alcohol use", "allergies"}
    return sum(name not in prompt.lower() for name in named - known) >= int(item.removeprefix("other_"))
