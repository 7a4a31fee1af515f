"""Checks a note against its writer's instructions (SimSUM, Section 2.2), and a compact version against its note."""

import json
import re
from collections.abc import Iterator

from tasks.simulator.reader.findings import Finding, find, fits_level, mentions
from tasks.simulator.reader.instructions import Asked, Instructions, read_instructions, symptom_of
from tasks.simulator.reader.lexicon import conditions, is_absent, level_pattern, reading, says, symptoms
from tasks.simulator.reader.words import NUMBERS, UNITS
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary
from tasks.simulator.visits import COURSE, PLAN, VisitInstructions, read_visit
from tasks.text.sections import split_sections
from tasks.text.sentences import sentence_spans, sentences

_WORDS = vocabulary("reader")
_PAST = re.compile(rf"{_WORDS['past']}\W+(?:\w+\W+){{0,3}}$", re.IGNORECASE)
SUSPECTS = re.compile(rf"\b{_WORDS['suspects']}\b", re.IGNORECASE)
_NAMES_DIAGNOSIS = re.compile(_WORDS["names_diagnosis"], re.IGNORECASE)
_ASSESSMENT = re.compile(rf"^[\s*#_]*{_WORDS['assessment']}\b[^\n]{{0,30}}[:*]", re.IGNORECASE | re.MULTILINE)
_VAGUE = re.compile(_WORDS["vague"])
_AGE = re.compile(
    r"\b(?:aged?\s+\d{1,3}\b(?!\s*\w+\s+ago)|\d{1,3}[\s‐–-]*(?:years?|yrs?)[\s‐–-]*(?:old|of\s+age)\b|\d{1,3}\s*-?\s*y/?\.?o\b\.?"
    rf"|\d{{1,3}}[\s-]*y\w*[\s-]+(?:female|male|woman|man)\b|(?:in|of)\s+(?:(?:his|her|their)\s+)?(?:early|mid|late)?[-\s]*{_WORDS['decades']}\b"
    rf"|{_WORDS['ages']}\b|(?:young|older|old|adult)\s+{_WORDS['people']}\b)",
    re.IGNORECASE,
)
_SEX = re.compile(rf"\b{_WORDS['sexes']}\b|[♂♀]|\b\d{{2}}\s?(?:y/?o)?\s?[MF]\b(?![°\w])", re.IGNORECASE)
_NOT_PATIENT = re.compile(rf"{_WORDS['others']}\W+(?:\w+\W+){{0,6}}$", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_AMOUNT = re.compile(
    rf"(?<![\w./-])(?:(?P<figure>\d{{1,3}})|(?P<word>{'|'.join(sorted(NUMBERS, key=len, reverse=True))}))[\s-]*"
    rf"(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})\b(?![/.]\w)",
    re.IGNORECASE,
)
_LATERALITY = re.compile(r"\bR\b|\bL\b|\brt\b|\blt\b|\bright\b|\bleft\b", re.IGNORECASE)


def check(request: ChatRequest) -> str:
    """Reply to the tasks that check a note, the note of a visit, or the compact version of a note."""
    if request.task == "compare a compact note with the note":
        found = list(differences(request.tag("note"), request.tag("compact")))
        listed = [{"kind": kind, "detail": detail} for kind, detail in found]
        return json.dumps({"same": not found, "differences": listed}, ensure_ascii=False)
    note, asked = request.tag("note"), request.tag("instructions")
    if request.task == "check the note of a visit":
        said = list(_visit_departures(note, read_visit(asked)))
    else:
        said = list(departures(note, read_instructions(asked)))
    text = "; ".join(said)
    explanation = f"{text[:1].upper()}{text[1:]}." if text else ""
    return json.dumps({"consistent": not said, "explanation": explanation}, ensure_ascii=False)


def departures(note: str, asked: Instructions) -> Iterator[str]:
    """What a note says otherwise than its instructions; nothing for a consistent note."""
    for wanted in asked.mention:
        yield from _absent(note, wanted.symptom) if is_absent(wanted.value) else _present(note, wanted)
    for symptom in asked.absent:
        if any(f.polarity == "present" and f.kind not in ("weak", "feature") for f in mentions(note, symptom)):
            yield f"the note says that the patient has {symptom}, which should be absent"
    for symptom in asked.avoid:
        if not all(_is_incidental(f) for f in mentions(note, symptom)):
            yield f"the note mentions {symptom}, which it should not touch on"
    yield from _conditions(note, asked)
    if asked.no_diagnosis:
        yield from _diagnoses(note, asked)
    if asked.no_demographics and (named := age_or_sex(note)):
        yield f"the note states the patient's age or sex: {named}"


def _absent(note: str, symptom: str) -> Iterator[str]:
    plain = [f for f in mentions(note, symptom) if f.kind != "weak"]
    raised = any(f.celsius is not None and not fits_level(f.celsius, "none") for f in plain)
    if raised or any(f.celsius is None and f.polarity == "present" and f.kind != "feature" for f in plain):
        yield f"the note says that the patient has {symptom}, which should be absent"
    elif not plain:
        yield f"the note does not mention the absence of {symptom}"


def _present(note: str, wanted: Asked) -> Iterator[str]:
    symptom, stated = wanted.symptom, mentions(note, wanted.symptom)
    present = [f for f in stated if f.polarity == "present"]
    direct = [f for f in stated if not f.in_examination and f.celsius is None and f.kind in ("direct", "lay")]
    denied = bool(direct) and all(f.polarity == "absent" for f in direct)
    if not stated:
        yield f"the note does not mention {symptom}"
    elif not present or denied or (symptom == reading().temperature and not _level_fits(note, wanted.value, stated)):
        yield f"what the note says of {symptom} does not agree with: {wanted.value}"
    elif wanted.descriptor and not says(about(note, symptom), wanted.descriptor):
        yield f"the note does not say that the {symptom} is: {wanted.descriptor}"


def _level_fits(note: str, value: str, stated: list[Finding]) -> bool:
    """Whether the highest temperature and the wording agree with the level."""
    if value not in ("low", "high"):
        return True
    readings = [f.celsius for f in stated if f.celsius is not None]
    words = " ".join(note[max(f.sentence[0], f.start - 30) : f.end + 10] for f in stated if f.celsius is None)
    own, other = (level_pattern(name) for name in (("low", "high") if value == "low" else ("high", "low")))
    fits = not readings or fits_level(max(readings), value)
    return fits and (not other.search(words) or own.search(words) is not None)


def about(note: str, symptom: str) -> str:
    """The history's sentences that mention a present symptom, and those after them up to another symptom."""
    found = [f for f in find(note) if f.category == "symptom"]
    present = [f for f in mentions(note, symptom) if f.polarity == "present"]
    own = {f.sentence for f in present if not f.in_examination} or {f.sentence for f in present}
    parts, follows = [], False
    for span in sentence_spans(note):
        others = [f for f in found if f.sentence == span and f.concept != symptom]
        follows = span in own or (follows and not others)
        if span in own and others:
            parts.append(_own_part(note, span, others, [f for f in present if f.sentence == span]))
        elif follows:
            parts.append(note[slice(*span)])
    return "\n".join(parts)


def _own_part(note: str, span: tuple[int, int], others: list[Finding], own: list[Finding]) -> str:
    """The part of a sentence between the mentions of other symptoms."""
    first, last = min(f.start for f in own), max(f.end for f in own)
    before = max([f.end for f in others if f.end <= first], default=span[0])
    after = min([f.start for f in others if f.start >= last], default=span[1])
    joints = [match.start() for match in re.finditer(r",\s|;\s|\s(?:and|with|but|while|&)\s", note[last:after])]
    return note[before : last + joints[-1] if joints and after != span[1] else after]


def _is_incidental(finding: Finding) -> bool:
    """Whether a mention does not name the symptom: a normal sign or temperature, or a consequence in daily life."""
    if finding.kind in ("feature", "weak", "implicit"):
        return True
    if finding.polarity == "present":
        return False
    return finding.kind in ("measured", "calm") or (finding.kind == "exam" and finding.cue is None)


def _conditions(note: str, asked: Instructions) -> Iterator[str]:
    """Conditions that the instructions do not list; a medicine alone tells a condition of the domain."""
    if not (asked.conditions or asked.forbidden):
        return
    seen = set(asked.conditions)
    for finding in find(note):
        name, implicit = finding.concept, finding.kind == "implicit"
        if finding.category != "condition" or finding.other or name in seen:
            continue
        network = name in conditions()
        alike = bool(set(asked.conditions) & set(reading().treated_alike))
        if implicit and (finding.polarity == "absent" or not network or alike):
            continue
        known = network or not (asked.unrelated or _VAGUE.fullmatch(name))
        if (name in asked.forbidden and not implicit) or (finding.polarity == "present" and known):
            seen.add(name)
            yield f"the note mentions {name}, which is no condition of this patient"


def _diagnoses(note: str, asked: Instructions) -> Iterator[str]:
    if _ASSESSMENT.search(note):
        yield "the note holds an assessment"
    if named := _NAMES_DIAGNOSIS.search(note):
        yield f"the note voices a suspected diagnosis: {named.group()}"
    known = {name for line in reading().diagnoses for name in line}
    for finding in find(note):
        if finding.other or finding.polarity == "absent" or finding.category not in ("diagnosis", "condition"):
            continue
        if _PAST.search(note, finding.sentence[0], finding.start) or finding.kind in ("weak", "implicit"):
            continue
        plain = finding.polarity == "present" and finding.kind == "direct" and finding.concept in known
        if SUSPECTS.search(note, *finding.sentence) or (plain and not asked.unrelated):
            yield f"the note names a diagnosis: {note[finding.start : finding.end]}"
            return


def age_or_sex(note: str) -> str | None:
    """The first words that state the patient's age or sex; None without any."""
    for pattern in (_AGE, _SEX):
        for match in pattern.finditer(note):
            if match.group() != "MS" and not _NOT_PATIENT.search(note, max(0, match.start() - 60), match.start()):
                return match.group()
    return None


def _visit_departures(note: str, asked: VisitInstructions) -> Iterator[str]:
    """Today's part as any note, the course against what was known of the last visit, the plan against the decisions."""
    body, _, plan = note.partition(PLAN)
    today, _, course = body.partition(COURSE)
    yield from departures(today.strip(), read_instructions(asked.symptoms))
    for was in asked.was:
        dated = [text for text in sentences(course) if was.day in _DATE.findall(text)[:1]]
        for finding in (f for text in dated for f in mentions(text, symptom_of(was.name))):
            if (finding.polarity == "present") != was.present:
                yield f"what the note says of {was.name} on {was.day} contradicts that visit: {was.value}"
    yield from (f"the plan does not state: {phrase}" for phrase in asked.decided if phrase.lower() not in plan.lower())


def differences(note: str, compact: str) -> Iterator[tuple[str, str]]:
    """The details of ``note`` that ``compact`` loses or changes: symptoms, temperatures, durations, kinds and sides."""
    for symptom in symptoms():
        ours = [f for f in mentions(note, symptom) if f.kind not in ("measured", "weak", "feature")]
        kept = {f.polarity for f in mentions(compact, symptom)}
        if ours and not kept & {f.polarity for f in ours}:
            yield "changed" if kept else "lost", note[ours[0].start : ours[0].end]
        one, other = about(note, symptom), about(compact, symptom)
        for a, b in (*reading().opposites, *(pair[::-1] for pair in reading().opposites)):
            if one and other and says(one, a) and not says(one, b) and says(other, b) and not says(other, a):
                yield "changed", f"{symptom}: {a}"
    measured = [[f.celsius for f in find(text) if f.celsius is not None] for text in (note, compact)]
    if measured[0] and any(min(abs(one - other) for one in measured[0]) > 0.15 for other in measured[1]):
        yield "changed", f"temperature {measured[0][0]} °C"
    before, after = _amounts(note), _amounts(compact)
    units = {unit for _, unit in before}
    yield from (("changed", f"{number} {unit}s") for number, unit in sorted(after - before) if unit in units)
    sides = [{_side(match.group()) for match in _LATERALITY.finditer(text)} for text in (note, compact)]
    if sides[0] and sides[1] - sides[0]:
        yield "changed", f"side: {'/'.join(sorted(sides[0]))}"


def _side(word: str) -> str:
    return "right" if word.lower().startswith("r") else "left"


def _amounts(text: str) -> set[tuple[str, str]]:
    """(number, unit) of each duration; weeks as days and years as months, so that "two weeks" is "14 d"."""
    found = set()
    for match in _AMOUNT.finditer(text):
        number, unit = int(match["figure"] or NUMBERS[match["word"].lower()]), UNITS[match["unit"].lower()]
        times, unit = {"week": (7, "day"), "year": (12, "month")}.get(unit, (1, unit))
        found.add((str(number * times), unit))
    for word in re.findall(r"\b(?:past|last|previous)\s+(day|week|month|year)\b", text, re.IGNORECASE):
        times, unit = {"week": (7, "day"), "year": (12, "month")}.get(word.lower(), (1, word.lower()))
        found.add((str(times), unit))
    return found | ({("14", "day")} if "fortnight" in text else set())


def parts(note: str) -> tuple[str, str]:
    """The history and the examination of a note."""
    found: dict[bool, list[str]] = {False: [], True: []}
    for section in split_sections(note):
        found[section.name == "physical_examination"].append(note[section.start : section.end])
    return "\n".join(found[False]) or note, "\n".join(found[True])
