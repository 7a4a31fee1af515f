"""Rate a note under the physicians' instructions: penalties from its content, ratings from counted faults."""

import json
import re

from tasks.domains.rules import load_rules
from tasks.simulator.clinical import demographics
from tasks.simulator.clinical.descriptors import says
from tasks.simulator.clinical.findings import Finding, find
from tasks.simulator.clinical.vocabulary import conditions, is_absent, reading, symptoms
from tasks.simulator.judge.rating_compact import content_rating, readability_rating
from tasks.simulator.judge.rating_examination import accuracy_faults, missing_checks, odd_checks
from tasks.simulator.request import ChatRequest
from tasks.text.sections import split_sections

_ITEM = re.compile(r"^- \[(?P<code>(?P<part>\d[A-D])/(?P<item>[^\]]+))\] (?P<label>.*)$", re.MULTILINE)
_ASSESSMENT = re.compile(r"^\W*(?:assessment|impression|diagnosis|differential|plan)\b", re.IGNORECASE | re.MULTILINE)
_SUSPECTED = re.compile(
    r"\b(?:suspect\w*|suggest\w*|consistent with|concern(?:ing)? for|likely|probable|possible|indicative of|diagnos\w+"
    r"|rule out)\b",
    re.IGNORECASE,
)


def rate_note(request: ChatRequest) -> str:
    """Reply to ``rate a clinical note``."""
    note, compact, prompt = request.tag("note"), request.tag("compact"), request.tag("prompt")
    items = [match.groupdict() for match in _ITEM.finditer(request.tag("penalties"))]
    penalties = [item["code"] for item in items if _violated(item["part"], item["item"], item["label"], note, prompt)]
    return json.dumps(
        {
            "penalties": penalties,
            "realism_history": _from_faults(_odd_history(note)),
            "realism_physical_examination": _examination(note),
            "clinical_accuracy": _from_faults(accuracy_faults(note), gentle=True),
            "compact_content": content_rating(note, compact),
            "compact_readability": readability_rating(compact),
        }
    )


def _violated(part: str, item: str, label: str, note: str, prompt: str) -> bool:
    text = _history(note) if part.startswith("1") and part != "1D" else note
    if part == "1A":
        return _misses(label, text)
    if part == "1B":
        return any(f.kind != "weak" for f in _of(text, _concept(label)))
    if part == "2A":
        return any(f.polarity == "present" and f.kind not in ("weak", "measured") for f in _of(text, _concept(label)))
    if part in ("1C", "2B"):
        return _condition(item, text, prompt)
    return _instruction(item, note, prompt)


def _history(note: str) -> str:
    sections = [note[s.start : s.end] for s in split_sections(note) if s.name != "physical_examination"]
    return "\n".join(sections) or note


def _concept(label: str) -> str:
    """Return the lexicon's name of a symptom, given an item's label ("symptom: yes, light")."""
    name = label.split(":")[0].strip()
    return load_rules().labels.get(name, name)


def _of(text: str, concept: str) -> list[Finding]:
    return [f for f in find(text) if f.concept == concept and not f.other]


def _misses(label: str, history: str) -> bool:
    """Whether the history contradicts or omits a symptom or its descriptor (part 1A)."""
    concept, _, state = label.partition(": ")
    value, _, descriptor = state.partition(", ")
    found = [f for f in _of(history, _concept(concept)) if f.polarity != "uncertain"]
    absent = is_absent(value)
    if not found:
        return True
    if absent:
        return any(f.polarity == "present" and f.kind != "weak" for f in found)
    present = [f for f in found if f.polarity == "present"]
    return not present or bool(descriptor and not _describes(history, present, descriptor))


def _describes(history: str, present: list[Finding], descriptor: str) -> bool:
    """Whether the descriptor appears in a sentence about the symptom, or right after it."""
    texts = [history[f.sentence[0] : f.sentence[1] + 200].split("\n")[0] for f in present]
    return any(says(text, descriptor) for text in texts)


def _condition(item: str, text: str, prompt: str) -> bool:
    """Whether the text gives the patient a condition that the prompt does not list."""
    found = [f for f in find(text) if f.category == "condition" and f.polarity == "present" and not f.other]
    name = item.replace("_", " ").lower()
    if item != "other":
        return any(f.concept.lower() == name for f in found)
    listed = prompt.lower()
    known = {name.lower() for name in (*conditions(), *reading().companions)} | {"alcohol use"}
    return any(f.concept.lower() not in listed and f.concept.lower() not in known for f in found)


def _instruction(item: str, note: str, prompt: str) -> bool:
    history = _history(note)
    if item == "sex_or_age":
        return bool(demographics.find(note))
    if item == "diagnosis":
        named = [f for f in find(note) if f.category == "diagnosis" and f.polarity != "absent" and not f.other]
        suspected = [f for f in named if _SUSPECTED.search(note[max(0, f.start - 60) : f.end + 20])]
        return bool(suspected or _ASSESSMENT.search(note))
    if item == "further_symptom":
        found = [f for f in find(history) if f.polarity == "present" and not f.other]
        given = [f for f in found if f.category == "symptom"]
        new = [f for f in found if f.category == "other_symptom" and f.kind == "direct"]
        return any(not any(g.start < f.end and f.start < g.end for g in given) for f in new)
    return False


def _odd_history(note: str) -> int:
    """Count findings of the history that are unusual for a complaint of the domain."""
    found = [f for f in find(_history(note)) if not f.other]
    related = any(f.concept in symptoms() and f.polarity == "present" for f in found)
    return sum(1 for f in found if related and f.concept in reading().far)


def _from_faults(faults: int, *, gentle: bool = False) -> int:
    """Return 5 without faults, 4 for one or two, otherwise 3 or 2; ``gentle`` ratings are at least 3."""
    if faults == 0:
        return 5
    if faults <= 2:
        return 4
    return 3 if gentle or faults <= 4 else 2


def _examination(note: str) -> int:
    odd, missing = odd_checks(note), missing_checks(note)
    if missing == 0 and odd == 0:
        return 5
    if missing <= 1 and odd <= 2:
        return 4
    return 3 if missing <= 2 else 2
