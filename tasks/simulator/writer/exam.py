"""Plan and write the physical examination, consistent with the history; and follow-up questions about a complaint.

What is examined for the complaints of the domain follows from the ``examination`` of its plan. Follow-up questions and
examinations for a complaint (rules ``focus``) mention no symptom of the domain.
"""

import re
from collections.abc import Mapping, Sequence

from tasks.simulator.prompts import Mention
from tasks.simulator.writer.grammar import Draft, Finding, Node, Piece
from tasks.simulator.writer.rules import Chance, Region, grammar, levels, plan, rule_of, writer_rates
from tasks.simulator.writer.sentences import (
    avoiding,
    capitalised,
    in_a_row,
    sentence,
    wrapped,
    written_as_pair,
    written_once,
)


def asked_about(draft: Draft, present: list[Mention], start: dict[str, float]) -> list[Piece]:
    """Return follow-up statements for each present symptom: relief, provocation, accompanying complaints."""
    pieces = []
    for mention in present:
        rule = rule_of(f"focus.history.{mention.symptom}", mention.symptom, mention.value)
        for _ in range(draft.count(writer_rates().focus["history"][mention.symptom])):
            place = max(start[mention.symptom], 1.0) + 0.2 + 1.0 * draft.random()
            pieces.append(Piece(place, grammar()[rule], mention.symptom, optional=True))
    return pieces


def looked_for(draft: Draft, said: Mapping[str, Mention], *, normal: bool) -> list[Finding]:
    """Return further examinations for each complaint; ``normal``: whether the main examination is."""
    rates, found = writer_rates().focus, []
    focus = plan().examination.focus
    for symptom, order in focus.order.items():
        mention = said.get(symptom)
        if mention is None or not mention.present:
            continue
        place = plan().examination.symptoms.get(symptom)
        if place and any(text in mention.descriptor for text in place.by_descriptor):
            continue  # the rule's findings are of the usual place of the complaint
        rule = rule_of(f"focus.exam.{symptom}", symptom, mention.value)
        if symptom in focus.by_region:
            rule += focus.by_region[symptom][0 if normal else 1]
        for n in range(draft.count(rates["exam"][symptom])):
            found.append(Finding(order + 0.1 * n, grammar()[rule]))
    if draft.random() < rates["exam_none"]:
        found.append(Finding(5 + 3 * draft.random(), grammar()["focus.exam.none"]))
    return found


_AT_EASE = re.compile(r"distress")
_VITALS = ("bp", "hr", "rr", "temp", "spo2")

Said = Mapping[str, Mention]
"""The mentioned symptoms by name."""


def related_findings(
    draft: Draft, mentions: Sequence[Mention], conditions: Sequence[str], examined: str | None
) -> list[Finding]:
    """Return the findings of a visit for symptoms of the domain. ``examined``: a forbidden symptom that is examined."""
    rules, said = grammar(), {mention.symptom: mention for mention in mentions}
    findings = [*_general(draft, said), *_vitals(draft, said, examined), *_symptom_findings(draft, said, examined)]
    normal, region = True, plan().examination.region
    if region is not None:
        finding, normal = _region(draft, region, said, conditions)
        findings.append(finding)
    findings += looked_for(draft, said, normal=normal)
    for site in plan().examination.sites:
        if draft.random() < _chance(site.examined, said):
            found = int(draft.random() < _chance(site.abnormal, said))
            findings.append(Finding(site.order, rules[site.rules[found]], site.label, rules[site.short[found]]))
    sick = writer_rates().focus["elsewhere"] ** sum(mention.present for mention in said.values())
    for one in plan().examination.elsewhere:
        if draft.random() < one.chance * sick and not any(_is_present(said, name) for name in one.not_with):
            order = one.order + 0.5 * draft.random()
            findings.append(Finding(order, rules[one.rule], one.label, rules[one.short] if one.short else None))
    for also in plan().examination.also:
        if _is_present(said, also.symptom) and draft.random() < also.chance:
            findings.append(Finding(also.order, rules[also.rule]))
    return findings


def _is_present(said: Said, symptom: str | None) -> bool:
    return symptom in said and said[symptom].present  # type: ignore[index]


def _general(draft: Draft, said: Said) -> list[Finding]:
    measured = said.get(plan().temperature or "")
    high = measured is not None and measured.value == levels(measured.symptom)[-1]
    ill = high or sum(mention.present for mention in said.values()) >= 2
    if draft.random() >= 0.74:
        return []
    rules = grammar()
    unwell = ill and draft.random() < (1.0 if high else 0.4)
    if _is_present(said, plan().breathing):  # its findings speak of effort and distress
        return [Finding(1, avoiding(rules["exam.general_ill"], _AT_EASE), "general")]
    short = None if high else rules["exam.general_colon"]
    return [Finding(1, rules["exam.general_ill" if unwell else "exam.general"], "general", short)]


def _vitals(draft: Draft, said: Said, examined: str | None) -> list[Finding]:
    rules, rng, rates = grammar(), draft.rng, writer_rates()
    name = plan().temperature or ""
    measured, breathless = said.get(name), _is_present(said, plan().breathing)
    findings: list[Finding] = []
    listed = rng.random() < 0.4
    level = measured.value if measured is not None and measured.present else None
    parts = [part for part in _VITALS if rng.random() < (0.8 if part != "spo2" else 0.5)]
    if level is not None or measured is None:
        parts = [part for part in parts if part != "temp"]
    temperature: list[Node] = []
    if level is not None:
        count = draft.count(rates.exam[name][level])
        if count and listed:
            temperature = [rules[f"{name}.exam_colon.{level}"]]
        elif count:
            findings.append(Finding(2.1, rules[f"{name}.exam.{level}"], "vitals", rules[f"{name}.exam_colon.{level}"]))
        if count > 1:
            findings.append(Finding(2.4 + rng.random(), rules[f"{name}.exam_more.{level}"]))
    elif name and measured is not None and rng.random() < rates.exam_absent[name]:
        findings.append(Finding(2.2, rules[f"{name}.exam_absent"]))
    elif name and examined == name:
        findings.append(Finding(2.2, _normal_finding(name)))
    if listed and (len(parts) + len(temperature)) > 1:
        nodes = [rules[f"exam.{name}"] for name in parts] + temperature
        rng.shuffle(nodes)
        joint = (", and " if len(nodes) > 2 else " and ") if rng.random() < 0.3 else ", "
        findings.append(listed_vitals(draft, nodes, joint))
    else:
        if temperature:
            findings.append(Finding(2.1, temperature[0], "vitals", temperature[0]))
        if level is None and rng.random() < 0.7:
            findings.append(Finding(2, rules["exam.vitals_calm" if breathless else "exam.vitals_normal"]))
    if "spo2" not in parts and rng.random() < (0.1 if breathless else 0.14):
        findings.append(Finding(6.8, rules["exam.saturation"]))
    return findings


def listed_vitals(draft: Draft, nodes: list[Node], last_joint: str = ", ") -> Finding:
    """Return vital signs as one finding."""
    vitals = in_a_row(nodes, last_joint)
    draft.variables |= {"vitals": vitals, "Vitals": capitalised(vitals)}
    return Finding(2, grammar()["exam.vitals_list"], "vitals", vitals, joins=False)


def _symptom_findings(draft: Draft, said: Said, examined: str | None) -> list[Finding]:
    rules, rng, rates = grammar(), draft.rng, writer_rates()
    findings: list[Finding] = []
    for symptom, place in plan().examination.symptoms.items():
        mention = said.get(symptom)
        if mention is not None and mention.present:
            count = draft.count(rates.exam[symptom])
            other = (rule for text, rule in place.by_descriptor.items() if text in mention.descriptor)
            name = next(other, f"{symptom}.exam")
            if count:
                findings.append(Finding(place.order, rules[name], place.label, rules.get(f"{name}_short")))
            if count > 1:
                findings.append(Finding(place.order + 0.1, rules[f"{symptom}.exam_more"]))
        elif mention is not None:
            if rng.random() < rates.exam_absent[symptom]:
                findings.append(Finding(place.order, rules[f"{symptom}.exam_absent"]))
        elif symptom == examined:
            findings.append(Finding(place.order, _normal_finding(symptom)))
    return findings


def _normal_finding(symptom: str) -> Node:
    """A normal finding that names the symptom, so that it violates a prompt that forbids the symptom."""
    return grammar().get(f"{symptom}.examined") or grammar()[f"{symptom}.exam_absent"]


def _region(draft: Draft, region: Region, said: Said, conditions: Sequence[str]) -> tuple[Finding, bool]:
    """Return the finding of the main examination, consistent with the symptoms, and whether it is normal."""
    rules = grammar()
    weights = {"": 1.0, **dict.fromkeys(region.states, 0.0)}
    for rule in region.weights:
        if _is_present(said, rule.symptom) and (rule.along_with is None or _is_present(said, rule.along_with)):
            described = said[rule.symptom].descriptor
            noted = any(word in described for word in rule.descriptors) or set(rule.conditions) & set(conditions)
            weights[rule.state] += rule.raised if rule.raised and noted else rule.weight
            side = next((side for side in ("right", "left") if side in described), None)
            if rule.sided and side:
                draft.variables |= {"side": side, "side_lobe": f"over the {side} lower lobe"}
    state = draft.rng.choices(list(weights), list(weights.values()))[0]
    if not state:
        return Finding(region.order, rules[region.normal], region.label, rules[region.normal_short]), True
    found = rules[region.states[state]]
    draft.variables |= {"sound": found, "Sound": capitalised(found)}
    return Finding(region.order, rules[region.frame], region.label, found), False


def _chance(chances: Sequence[Chance], said: Said) -> float:
    """The first chance whose condition holds; 0 if none does."""
    for one in chances:
        described = all(name in said and text in said[name].descriptor for name, text in one.descriptor.items())
        known = one.mentioned is None or one.mentioned in said
        if described and known and (one.present is None or _is_present(said, one.present)):
            return one.chance
    return 0.0


_EXAMINES = re.compile(r"examin|inspect|auscult|palpat|percuss|otoscop|on (?:inspiration|confrontation)", re.IGNORECASE)


def write_exam(draft: Draft, findings: list[Finding]) -> None:
    """Write the findings as prose, labelled lines or bullets, in one style per note."""
    findings = sorted(findings, key=lambda finding: finding.order)
    style = draft.rng.choices(("prose", "labels", "lines", "bullets"), (77, 9, 7, 7))[0]
    labelled_share = {"prose": 0.03, "labels": 0.85, "lines": 1.0, "bullets": 0.92}[style]
    lead = {"prose": "", "labels": "", "lines": "\n", "bullets": "\n"}[style]
    start = draft.length
    waiting, fronted = list(findings), False
    while waiting:
        finding = waiting.pop(0)
        before = (lead if draft.length > start else "") + ("- " if style == "bullets" else "")

        def write(node: Node, before: str = before) -> bool:
            return written_once(draft, start, "examination", lambda: sentence(draft, node, lead=before))

        if finding.short is not None and finding.label and draft.random() < labelled_share:
            shown = capitalised(finding.short) if draft.random() < 0.6 else finding.short
            write(in_a_row([grammar()[f"exam.label.{finding.label}"], shown], ": "))
            continue
        follows = bool(waiting) and style in ("prose", "labels") and finding.joins and waiting[0].joins
        if follows and draft.random() < writer_rates().style["joined_exam"]:
            pair = (finding.prose, waiting[0].prose)
            apart = int(finding.order) != int(waiting[0].order)  # of different parts of the body
            if written_as_pair(draft, start, "examination", pair, lead=before, apart=apart) == 2:
                waiting.pop(0)
            continue
        if finding.joins and not fronted and draft.random() < writer_rates().style["adverbial_exam"]:
            finding.prose = wrapped(finding.prose, "wrap.exam_front", "wrap.exam_back", unless=_EXAMINES)
            fronted = True
        write(finding.prose)
