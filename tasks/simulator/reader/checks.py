"""Checks a note against its writer's instructions (SimSUM, Section 2.2), and a compact version against its note.

Rates both under the physicians' instructions: penalties and ratings by counted faults.
"""

import json
import re
from collections.abc import Iterator

from tasks.domains.rules import load_rules
from tasks.simulator import prompts
from tasks.simulator.reader.findings import Finding, condition_of, find, fits_level, mentions, symptom_of
from tasks.simulator.reader.lexicon import level_pattern, reading, says, symptoms
from tasks.simulator.reader.timeline import DATE
from tasks.simulator.reader.words import NUMBERS, UNITS, expansion, stems
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary
from tasks.text.sections import split_sections
from tasks.text.sentences import sentence_spans, sentences

_WORDS = vocabulary()
SUSPECTS = re.compile(rf"\b{_WORDS['suspects']}\b", re.IGNORECASE)
_VAGUE = re.compile(_WORDS["vague"])
_AGE = re.compile(
    r"\b(?:aged?\s+\d{1,3}\b(?!\s*\w+\s+ago)|\d{1,3}[\s‐–-]*(?:years?|yrs?)[\s‐–-]*(?:old|of\s+age)\b|\d{1,3}\s*-?\s*y/?\.?o\b\.?"
    rf"|\d{{1,3}}[\s-]*y\w*[\s-]+(?:female|male|woman|man)\b|(?:in|of)\s+(?:(?:his|her|their)\s+)?(?:early|mid|late)?[-\s]*{_WORDS['decades']}\b"
    rf"|{_WORDS['ages']}\b|(?:young|older|old|adult)\s+{_WORDS['people']}\b)",
    re.IGNORECASE,
)
_SEX = re.compile(rf"\b{_WORDS['sexes']}\b|[♂♀]|\b\d{{2}}\s?(?:y/?o)?\s?[MF]\b(?![°\w])", re.IGNORECASE)
_NOT_PATIENT = re.compile(rf"{_WORDS['others']}\W+(?:\w+\W+){{0,6}}$", re.IGNORECASE)
_AMOUNT = re.compile(
    rf"(?<![\w./-])(?:(?P<figure>\d{{1,3}})|(?P<word>{'|'.join(sorted(NUMBERS, key=len, reverse=True))}))[\s-]*"
    rf"(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})\b(?![/.]\w)",
    re.IGNORECASE,
)
_LATERALITY = re.compile(r"\b(?:r|l|rt|lt|right|left)\b", re.IGNORECASE)


def check(request: ChatRequest) -> str:
    """Reply to the tasks that check a note, the note of a visit, or the compact version of a note."""
    if request.task == "compare a compact note with the note":
        found = list(differences(request.tag("note"), request.tag("compact")))
        listed = [{"kind": kind, "detail": detail} for kind, detail in found]
        return json.dumps({"same": not found, "differences": listed}, ensure_ascii=False)
    note, asked = request.tag("note"), request.tag("instructions")
    if request.task == "check the note of a visit":
        said = list(_visit_departures(note, prompts.read_visit(asked)))
    else:
        said = list(departures(note, asked))
    text = "; ".join(said)
    explanation = f"{text[:1].upper()}{text[1:]}." if text else ""
    return json.dumps({"consistent": not said, "explanation": explanation}, ensure_ascii=False)


def departures(note: str, instructions: str) -> Iterator[str]:
    """What a note says otherwise than its instructions; nothing for a consistent note."""
    asked = prompts.read_instructions(instructions, symptom_of, condition_of)
    for wanted in asked.mentions:
        yield from _present(note, wanted) if wanted.present else _absent(note, wanted.symptom)
    for symptom in asked.absent:
        if any(f.polarity == "present" and f.kind not in ("weak", "feature") for f in mentions(note, symptom)):
            yield f"the note says that the patient has {symptom}, which should be absent"
    for symptom in asked.avoid:
        if not all(_is_incidental(f) for f in mentions(note, symptom)):
            yield f"the note mentions {symptom}, which it should not touch on"
    yield from _conditions(note, asked)


def _absent(note: str, symptom: str) -> Iterator[str]:
    plain = [f for f in mentions(note, symptom) if f.kind != "weak"]
    raised = any(f.celsius is not None and not fits_level(f.celsius, "none") for f in plain)
    if raised or any(f.celsius is None and f.polarity == "present" and f.kind != "feature" for f in plain):
        yield f"the note says that the patient has {symptom}, which should be absent"
    elif not plain:
        yield f"the note does not mention the absence of {symptom}"


def _present(note: str, wanted: prompts.Mention) -> Iterator[str]:
    symptom, stated = wanted.symptom, mentions(note, wanted.symptom)
    present = [f for f in stated if f.polarity == "present"]
    direct = [f for f in stated if not f.in_examination and f.celsius is None and f.kind in ("direct", "lay")]
    denied = bool(direct) and all(f.polarity == "absent" for f in direct)
    if not stated:
        yield f"the note does not mention {symptom}"
    elif not present or denied or (symptom == reading().temperature and not _level_fits(note, wanted.value, stated)):
        yield f"what the note says of {symptom} does not agree with: {wanted.value}"
    elif (descriptor := wanted.descriptor.strip("()").lower()) and not says(about(note, symptom), descriptor):
        yield f"the note does not say that the {symptom} is: {descriptor}"


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


def _conditions(note: str, asked: prompts.Instructions) -> Iterator[str]:
    """Conditions that the instructions do not list; a medicine alone tells a condition of the domain."""
    if not (asked.conditions or asked.forbidden):
        return
    seen = set(asked.conditions)
    for finding in find(note):
        name, implicit = finding.concept, finding.kind == "implicit"
        if finding.category != "condition" or finding.other or name in seen:
            continue
        network = name in load_rules().condition_labels
        alike = bool(set(asked.conditions) & set(reading().treated_alike))
        if implicit and (finding.polarity == "absent" or not network or alike):
            continue
        known = network or not (asked.absent or not asked.mentions or _VAGUE.fullmatch(name))
        if (name in asked.forbidden and not implicit) or (finding.polarity == "present" and known):
            seen.add(name)
            yield f"the note mentions {name}, which is no condition of this patient"


def age_or_sex(note: str) -> str | None:
    """The first words that state the patient's age or sex; None without any."""
    for pattern in (_AGE, _SEX):
        for match in pattern.finditer(note):
            if match.group() != "MS" and not _NOT_PATIENT.search(note, max(0, match.start() - 60), match.start()):
                return match.group()
    return None


def _visit_departures(note: str, asked: prompts.VisitInstructions) -> Iterator[str]:
    """Today's part as any note, the course against what was known of the last visit, the plan against the decisions."""
    body, _, plan = note.partition(prompts.PLAN)
    today, _, course = body.partition(prompts.COURSE)
    yield from departures(today.strip(), asked.symptoms)
    for was in asked.was:
        dated = [text for text in sentences(course) if was.day in DATE.findall(text)[:1]]
        for finding in (f for text in dated for f in mentions(text, symptom_of(was.symptom))):
            if (finding.polarity == "present") != was.present:
                yield f"what the note says of {was.symptom} on {was.day} contradicts that visit: {was.value}"
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
    sides, other_sides = (
        {"right" if word[0] in "rR" else "left" for word in _LATERALITY.findall(text)} for text in (note, compact)
    )
    if sides and other_sides - sides:
        yield "changed", f"side: {'/'.join(sorted(sides))}"


def _amounts(text: str) -> set[tuple[str, str]]:
    """(number, unit) of each duration; weeks as days and years as months, so that "two weeks" is "14 d"."""
    found = [
        (int(match["figure"] or NUMBERS[match["word"].lower()]), UNITS[match["unit"].lower()])
        for match in _AMOUNT.finditer(text)
    ]
    last = re.findall(r"\b(?:past|last|previous)\s+(day|week|month|year)\b", text, re.IGNORECASE)
    found += [(1, unit.lower()) for unit in last] + [(2, "week")] * ("fortnight" in text)
    smaller = {"week": (7, "day"), "year": (12, "month")}
    amounts = ((number, *smaller.get(unit, (1, unit))) for number, unit in found)
    return {(str(number * times), unit) for number, times, unit in amounts}


def parts(note: str) -> tuple[str, str]:
    """The history and the examination of a note."""
    found: dict[bool, list[str]] = {False: [], True: []}
    for section in split_sections(note):
        found[section.name == "physical_examination"].append(note[section.start : section.end])
    return "\n".join(found[False]) or note, "\n".join(found[True])


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
        if found and prompts.is_absent(value):
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
    own = [f for f in others if f.category == "symptom"]
    return item == "further_symptom" and any(
        (f.category, f.kind, f.polarity) == ("other_symptom", "direct", "present")
        and not f.in_examination
        and not any(one.start < f.end and f.start < one.end for one in own)  # no part of a symptom of the domain
        for f in others
    )


def _condition(item: str, text: str, prompt: str) -> bool:
    """Whether the text gives the patient a condition that the prompt does not list: a named one, or the n-th other."""
    found = [f for f in find(text) if f.category == "condition" and f.polarity == "present" and not f.other]
    named = {f.concept.lower() for f in found}
    if not item.startswith("other_"):
        return item.replace("_", " ").lower() in named
    known = {name.lower() for name in load_rules().condition_labels} | {"alcohol use", "allergies"}
    return sum(name not in prompt.lower() for name in named - known) >= int(item.removeprefix("other_"))
