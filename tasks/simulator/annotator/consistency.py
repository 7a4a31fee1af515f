"""Check a note against the instructions given to its writer (SimSUM, Section 2.2; rating instructions, part 1)."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.simulator.annotator import instructions
from tasks.simulator.annotator.instructions import Asked, Instructions
from tasks.simulator.annotator.mentions import described, mentions
from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.clinical.lexicon import conditions as domain_conditions
from tasks.simulator.clinical.lexicon import diagnoses, is_absent, level_pattern, reading
from tasks.simulator.clinical.patient import find_age_and_sex, fits_level
from tasks.simulator.clinical.similarity import says
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary

_WORDS = vocabulary("annotator")
_VAGUE = re.compile(_WORDS["vague"])
_PAST = re.compile(rf"{_WORDS['past']}\W+(?:\w+\W+){{0,3}}$", re.IGNORECASE)
_SUSPECTS = re.compile(
    rf"\b{_WORDS['suspects']}\b|(?:cannot|can't|not) (?:yet )?(?:be )?(?:excluded|ruled out)", re.IGNORECASE
)
_NAMES_DIAGNOSIS = re.compile(_WORDS["names_diagnosis"], re.IGNORECASE)
_ASSESSMENT = re.compile(rf"^[\s*#_]*{_WORDS['assessment']}\b[^\n]{{0,30}}[:*]", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Departure:
    """One point on which a note departs from its instructions: kind, item concerned, and an explanatory sentence."""

    kind: str
    about: str
    said: str


def check_consistency(request: ChatRequest) -> str:
    """Reply to ``check a clinical note for consistency``."""
    found = departures(request.tag("note"), instructions.read(request.tag("instructions")))
    said = "; ".join(departure.said for departure in found)
    explanation = said[:1].upper() + said[1:] + "." if said else ""
    return json.dumps({"consistent": not found, "explanation": explanation}, ensure_ascii=False)


def departures(note: str, asked: Instructions) -> list[Departure]:
    """Return all departures of ``note`` from its instructions; empty for a consistent note."""
    found = list(_symptoms(note, asked))
    found += _forbidden(note, asked.avoid)
    found += _conditions(note, asked)
    found += _diagnoses(note, asked) if asked.no_diagnosis else []
    found += _demographics(note) if asked.no_demographics else []
    return found


def _symptoms(note: str, asked: Instructions) -> Iterator[Departure]:
    for wanted in asked.mention:
        stated = mentions(note, wanted.symptom)
        yield from _absent(wanted.symptom, stated) if is_absent(wanted.value) else _present(note, wanted, stated)
    for symptom in asked.absent:
        if any(f.polarity == "present" and f.kind != "weak" for f in mentions(note, symptom)):
            yield _contradicted(symptom)


def _contradicted(symptom: str) -> Departure:
    return Departure("contradicted", symptom, f"the note says that the patient has {symptom}, which should be absent")


def _absent(symptom: str, stated: Sequence[Finding]) -> Iterator[Departure]:
    plain = [f for f in stated if f.kind != "weak"]
    raised = any(f.celsius is not None and not fits_level(f.celsius, "none") for f in plain)
    if raised or any(f.celsius is None and f.polarity == "present" and f.kind != "feature" for f in plain):
        yield _contradicted(symptom)
    elif not plain:
        yield Departure("dropped", symptom, f"the note does not mention the absence of {symptom}")


def _present(note: str, wanted: Asked, stated: Sequence[Finding]) -> Iterator[Departure]:
    symptom = wanted.symptom
    present = [f for f in stated if f.polarity == "present"]
    history = [f for f in stated if f.section != "physical_examination" and f.celsius is None and f.kind != "exam"]
    wrong_level = symptom == reading().temperature and not _level_fits(note, wanted.value, stated)
    if not stated:
        yield Departure("dropped", symptom, f"the note does not mention {symptom}")
    elif not present or _denied(history) or wrong_level:
        yield Departure("contradicted", symptom, f"what the note says of {symptom} does not agree with: {wanted.value}")
    elif wanted.descriptor and not says(described(note, symptom, present, wanted.descriptor), wanted.descriptor):
        yield Departure("descriptor", symptom, f"the note does not say that the {symptom} is: {wanted.descriptor}")


def _denied(history: Sequence[Finding]) -> bool:
    """Whether the history denies the symptom: all direct mentions are denied."""
    direct = [f for f in history if f.kind in ("direct", "lay")]
    return bool(direct) and all(f.polarity == "absent" for f in direct)


def _level_fits(note: str, value: str, stated: Sequence[Finding]) -> bool:
    """Whether the highest temperature and the wording agree with the level."""
    if value not in ("low", "high"):
        return True
    readings = [f.celsius for f in stated if f.celsius is not None]
    worded = [f for f in stated if f.celsius is None]
    if (readings and not fits_level(max(readings), value)) or any(f.polarity == "absent" for f in worded):
        return False
    words = " ".join(note[max(f.sentence[0], f.start - 30) : f.end + 10] for f in worded if f.polarity == "present")
    own, other = (level_pattern(name) for name in (("low", "high") if value == "low" else ("high", "low")))
    return not other.search(words) or own.search(words) is not None


def _forbidden(note: str, avoid: Sequence[str]) -> Iterator[Departure]:
    for symptom in avoid:
        if any(not _is_incidental(f) for f in mentions(note, symptom)):
            yield Departure("forbidden", symptom, f"the note mentions {symptom}, which it should not touch on")


def _is_incidental(finding: Finding) -> bool:
    """Whether a mention does not name the symptom: a normal sign or temperature, or a consequence in daily life.

    A denied sign ("no respiratory distress") names the symptom, a sign described as normal ("breathing is comfortable")
    does not: published notes whose spans leave a symptom out contain the second, not the first.
    """
    if finding.kind in ("feature", "weak", "implicit"):
        return True
    if finding.polarity == "present":
        return False
    return finding.kind in ("measured", "calm") or (finding.kind == "exam" and finding.cue is None)


def _conditions(note: str, asked: Instructions) -> Iterator[Departure]:
    if not (asked.conditions or asked.forbidden):
        return  # the instructions say nothing of conditions
    allowed = set(asked.conditions)
    seen: set[str] = set()
    for finding in findings.find(note):
        name, implicit = finding.concept, finding.kind == "implicit"
        if finding.category != "condition" or finding.other or name in allowed | seen:
            continue
        network = name in domain_conditions()
        if implicit and (finding.polarity == "absent" or not network or allowed & set(reading().treated_alike)):
            continue
        mentioned = name in asked.forbidden and finding.kind == "direct"
        known = network or not (asked.unrelated or _VAGUE.fullmatch(name))
        if mentioned or (finding.polarity == "present" and known):
            seen.add(name)
            yield Departure("condition", name, f"the note mentions {name}, which is no condition of this patient")


def _diagnoses(note: str, asked: Instructions) -> Iterator[Departure]:
    if _ASSESSMENT.search(note):
        yield Departure("diagnosis", "assessment", "the note holds an assessment")
    if named := _NAMES_DIAGNOSIS.search(note):
        yield Departure("diagnosis", "suspicion", f"the note voices a suspected diagnosis: {named.group()}")
    for finding in findings.find(note):
        if finding.other or finding.polarity == "absent" or finding.category not in ("diagnosis", "condition"):
            continue
        if _PAST.search(note, finding.sentence[0], finding.start):
            continue
        suspected = _SUSPECTS.search(note, *finding.sentence) and finding.kind not in ("weak", "implicit")
        if suspected or (_is_diagnosis(finding) and not asked.unrelated):
            yield Departure("diagnosis", finding.concept, f"the note names a diagnosis: {finding.text}")
            return


def _is_diagnosis(finding: Finding) -> bool:
    """Whether a mention names a diagnosis; the exacerbation of a disease that the patient has is not a new one."""
    plain = finding.polarity == "present" and finding.kind != "lay" and "exacerbation" not in finding.concept
    return plain and finding.concept in diagnoses()


def _demographics(note: str) -> Iterator[Departure]:
    for what in ("age", "sex"):
        found = next((note[m.start : m.end] for m in find_age_and_sex(note) if m.what == what), None)
        if found is not None:
            yield Departure("demographics", what, f"the note states the patient's {what}: {found}")
