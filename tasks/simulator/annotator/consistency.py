"""Check a note against the instructions given to its writer (SimSUM, Section 2.2; rating instructions, part 1)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.simulator.annotator.instructions import Asked, Instructions
from tasks.simulator.annotator.mentions import described, mentions
from tasks.simulator.clinical import demographics, findings, temperature
from tasks.simulator.clinical.descriptors import says
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.clinical.vocabulary import conditions as domain_conditions
from tasks.simulator.clinical.vocabulary import diagnoses, is_absent, level_pattern, reading

_VAGUE_CONDITIONS = frozenset(
    ["allergies", "alcohol use", "pregnancy", "cancer", "thrombosis", "trauma", "anxiety", "glaucoma"]
)
_PAST = re.compile(
    r"(?:history of|hx of|h/o|previous(?:ly)?|prior|recent(?:ly)?|past|childhood|exposure to|exposed to|"
    r"contact with|vaccin\w* (?:for|against)"
    r"|recover\w* from|years? ago|remote)\W+(?:\w+\W+){0,3}$",
    re.IGNORECASE,
)
_SUSPECTS = re.compile(
    r"\b(?:suggest\w*|consistent with|c/w|suspect\w*|suspicio\w*|likely|possible|possibly|probabl\w*|"
    r"impression|assessment|diagnos\w*|"
    r"concern(?:ing|s)? for|indicative of|points? (?:to|toward)|compatible with|raises? the possibility|"
    r"rule out|r/o|differential|"
    r"in keeping with|typical of|may represent|thought to be|considered)\b|(?:cannot|can't|"
    r"not) (?:yet )?(?:be )?(?:excluded|ruled out)",
    re.IGNORECASE,
)
_NAMES_DIAGNOSIS = re.compile(
    r"(?:working|likely|probable|suspected|presumed|provisional|differential) diagnosis|diagnosis (?:is|"
    r"of)\b|(?:presentation|picture|findings)"
    r" (?:\w+ )?(?:suggests?|points?|fits?|is consistent|are consistent|is typical|is in keeping)|(?:is|"
    r"are) suspected\b"
    r"|(?:is|seems|are) considered (?:likely|possible|probable)|cannot be (?:excluded|ruled out)",
    re.IGNORECASE,
)
_ASSESSMENT = re.compile(
    r"^[\s*#_]*(?:assessment|impression|diagnos[ie]s|differential|a/p|plan|dx)\b[^\n]{0,30}[:*]",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Departure:
    """One point on which a note departs from its instructions: kind, item concerned, and an explanatory sentence."""

    kind: str
    about: str
    said: str


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
        plain = [f for f in stated if f.kind != "weak"]
        if is_absent(wanted.value):
            yield from _absent(wanted.symptom, plain)
        else:
            yield from _present(note, wanted, stated)
    for symptom in asked.absent:
        if any(f.polarity == "present" and f.kind != "weak" for f in mentions(note, symptom)):
            yield Departure(
                "contradicted", symptom, f"the note says that the patient has {symptom}, which should be absent"
            )


def _absent(symptom: str, stated: Sequence[Finding]) -> Iterator[Departure]:
    readings = [f for f in stated if f.celsius is not None]
    high = [f for f in readings if not temperature.fits(f.celsius or 0.0, "none")]
    plain = [f for f in stated if f.celsius is None]
    if high or any(f.polarity == "present" and f.kind != "feature" for f in plain):
        yield Departure(
            "contradicted", symptom, f"the note says that the patient has {symptom}, which should be absent"
        )
    elif not stated:
        yield Departure("dropped", symptom, f"the note does not mention the absence of {symptom}")


def _present(note: str, wanted: Asked, stated: Sequence[Finding]) -> Iterator[Departure]:
    symptom = wanted.symptom
    present = [f for f in stated if f.polarity == "present"]
    history = [f for f in stated if f.section != "physical_examination" and f.celsius is None and f.kind != "exam"]
    if not stated:
        yield Departure("dropped", symptom, f"the note does not mention {symptom}")
    elif (
        not present
        or _denied(history)
        or (symptom == reading().temperature and not _level_fits(note, wanted.value, stated))
    ):
        yield Departure("contradicted", symptom, f"what the note says of {symptom} does not agree with: {wanted.value}")
    elif wanted.descriptor and not says(described(note, symptom, present, wanted.descriptor), wanted.descriptor):
        yield Departure("descriptor", symptom, f"the note does not say that the {symptom} is: {wanted.descriptor}")


def _denied(history: Sequence[Finding]) -> bool:
    """Whether the history denies the symptom: all direct mentions are denied."""
    direct = [f for f in history if f.kind in ("direct", "lay")]
    return bool(direct) and direct[0].polarity == "absent" and all(f.polarity == "absent" for f in direct)


def _level_fits(note: str, value: str, stated: Sequence[Finding]) -> bool:
    """Whether the highest temperature and the wording agree with the level."""
    if value not in ("low", "high"):
        return True
    readings = [f.celsius for f in stated if f.celsius is not None]
    if readings and not temperature.fits(max(readings), value):
        return False
    if any(f.polarity == "absent" and f.kind == "direct" and f.text.lower().startswith("afeb") for f in stated):
        return False
    denied = [f for f in stated if f.polarity == "absent" and f.celsius is None]
    words = " ".join(
        note[max(f.sentence[0], f.start - 30) : f.end + 10]
        for f in stated
        if f.polarity == "present" and f.celsius is None
    )
    own, other = (level_pattern(name) for name in (("low", "high") if value == "low" else ("high", "low")))
    return not denied and not (other.search(words) and not own.search(words))


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
    allowed = set(asked.conditions)
    seen: set[str] = set()
    for finding in findings.find(note):
        if finding.category != "condition" or finding.other or finding.concept in allowed | seen:
            continue
        network = finding.concept in domain_conditions()
        if finding.kind == "implicit" and (
            finding.polarity == "absent" or not network or allowed & set(reading().treated_alike)
        ):
            continue
        mentioned = finding.concept in asked.forbidden and finding.kind == "direct"
        extra = finding.polarity == "present" and (
            network or not (asked.unrelated or finding.concept in _VAGUE_CONDITIONS)
        )
        if mentioned or extra:
            seen.add(finding.concept)
            yield Departure(
                "condition",
                finding.concept,
                f"the note mentions {finding.concept}, which is no condition of this patient",
            )


def _diagnoses(note: str, asked: Instructions) -> Iterator[Departure]:
    if _ASSESSMENT.search(note):
        yield Departure("diagnosis", "assessment", "the note holds an assessment")
    named = _NAMES_DIAGNOSIS.search(note)
    if named:
        yield Departure("diagnosis", "suspicion", f"the note voices a suspected diagnosis: {named.group()}")
    for finding in findings.find(note):
        if finding.other or finding.polarity == "absent" or finding.category not in ("diagnosis", "condition"):
            continue
        if _PAST.search(note, finding.sentence[0], finding.start):
            continue
        suspected = _SUSPECTS.search(note, *finding.sentence) is not None
        known = (
            "exacerbation" in finding.concept
        )  # exacerbation of a disease that the patient has: not a new diagnosis unless it is suspected
        plain = finding.concept in diagnoses() and finding.polarity == "present" and finding.kind != "lay" and not known
        if (suspected and finding.kind != "weak" and finding.kind != "implicit") or (plain and not asked.unrelated):
            yield Departure("diagnosis", finding.concept, f"the note names a diagnosis: {finding.text}")
            return


def _demographics(note: str) -> Iterator[Departure]:
    for what in ("age", "sex"):
        found = next((m for m in demographics.find(note) if m.what == what), None)
        if found is not None:
            yield Departure(
                "demographics", what, f"the note states the patient's {what}: {note[found.start : found.end]}"
            )
