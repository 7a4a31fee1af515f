"""Plan the findings of an examination for the complaints of the domain, by the ``examination`` of its plan."""

from collections.abc import Mapping, Sequence

from tasks.simulator.writer.draft import Draft, Finding, Node
from tasks.simulator.writer.focus import looked_for
from tasks.simulator.writer.instructions import Mention
from tasks.simulator.writer.plan import Chance, Region, Site, Weight, levels, plan
from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.rules import grammar
from tasks.simulator.writer.sentences import capitalised, in_a_row

_VITALS = ("bp", "hr", "rr", "temp", "spo2")

Said = Mapping[str, Mention]
"""The mentioned symptoms by name."""


def related_findings(
    draft: Draft, mentions: Sequence[Mention], conditions: Sequence[str], examined: str | None
) -> list[Finding]:
    """Return the findings of a visit for symptoms of the domain. ``examined``: a forbidden symptom that is examined."""
    said = {mention.symptom: mention for mention in mentions}
    findings = [*_general(draft, said), *_vitals(draft, said, examined), *_symptom_findings(draft, said, examined)]
    normal, region = True, plan().examination.region
    if region is not None:
        finding, normal = _region(draft, region, said, conditions)
        findings.append(finding)
    findings += looked_for(draft, said, normal=normal)
    for site in plan().examination.sites:
        findings += _site(draft, site, said)
    findings += _elsewhere(draft, said)
    for also in plan().examination.also:
        if _is_present(said, also.symptom) and draft.random() < also.chance:
            findings.append(Finding(also.order, grammar()[also.rule]))
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
    prose = rules["exam.general_ill" if ill and draft.random() < (1.0 if high else 0.4) else "exam.general"]
    return [Finding(1, prose, "general", None if high else rules["exam.general_colon"])]


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
        findings.append(Finding(2.2, _examined(name)))
    if listed and (len(parts) + len(temperature)) > 1:
        draft.variables |= _vitals_list(draft, parts, temperature)
        short = draft.variables["vitals"]
        assert not isinstance(short, str)
        findings.append(Finding(2, rules["exam.vitals_list"], "vitals", short, joins=False))
    else:
        if temperature:
            findings.append(Finding(2.1, temperature[0], "vitals", temperature[0]))
        if level is None and rng.random() < 0.7:
            findings.append(Finding(2, rules["exam.vitals_calm" if breathless else "exam.vitals_normal"]))
    if "spo2" not in parts and rng.random() < (0.1 if breathless else 0.14):
        findings.append(Finding(6.8, rules["exam.saturation"]))
    return findings


def _vitals_list(draft: Draft, parts: list[str], temperature: list[Node]) -> dict[str, str | Node]:
    rules, rng = grammar(), draft.rng
    nodes = [rules[f"exam.{name}"] for name in parts] + temperature
    rng.shuffle(nodes)
    vitals = in_a_row(nodes, ", and " if rng.random() < 0.3 else ", ")
    return {"vitals": vitals, "Vitals": capitalised(vitals)}


def _symptom_findings(draft: Draft, said: Said, examined: str | None) -> list[Finding]:
    rules, rng, rates = grammar(), draft.rng, writer_rates()
    findings: list[Finding] = []
    for symptom, place in plan().examination.symptoms.items():
        mention = said.get(symptom)
        if mention is not None and mention.present:
            count = draft.count(rates.exam[symptom])
            other = (rule for text, rule in place.by_descriptor.items() if text in (mention.descriptor or ""))
            name = next(other, f"{symptom}.exam")
            if count:
                findings.append(Finding(place.order, rules[name], place.label, rules.get(f"{name}_short")))
            if count > 1:
                findings.append(Finding(place.order + 0.1, rules[f"{symptom}.exam_more"]))
        elif mention is not None:
            if rng.random() < rates.exam_absent[symptom]:
                findings.append(Finding(place.order, rules[f"{symptom}.exam_absent"]))
        elif symptom == examined:
            findings.append(Finding(place.order, _examined(symptom)))
    return findings


def _examined(symptom: str) -> Node:
    """A normal finding that names the symptom, so that it violates a prompt that forbids the symptom."""
    return grammar().get(f"{symptom}.examined") or grammar()[f"{symptom}.exam_absent"]


def _region(draft: Draft, region: Region, said: Said, conditions: Sequence[str]) -> tuple[Finding, bool]:
    """Return the finding of the main examination, consistent with the symptoms, and whether it is normal."""
    rules = grammar()
    weights = {"": 1.0, **dict.fromkeys(region.states, 0.0)}
    for rule in region.weights:
        if _is_present(said, rule.symptom) and (rule.along_with is None or _is_present(said, rule.along_with)):
            weights[rule.state] += _weight(rule, said[rule.symptom], conditions)
            if rule.sided:
                draft.variables |= _side(said[rule.symptom])
    state = draft.rng.choices(list(weights), list(weights.values()))[0]
    if not state:
        return Finding(region.order, rules[region.normal], region.label, rules[region.normal_short]), True
    found = rules[region.states[state]]
    draft.variables |= {"sound": found, "Sound": capitalised(found)}
    return Finding(region.order, rules[region.frame], region.label, found), False


def _weight(rule: Weight, mention: Mention, conditions: Sequence[str]) -> float:
    described = any(word in (mention.descriptor or "") for word in rule.descriptors)
    return rule.raised if rule.raised and (described or set(rule.conditions) & set(conditions)) else rule.weight


def _side(mention: Mention) -> dict[str, str | Node]:
    side = next((side for side in ("right", "left") if mention.descriptor and side in mention.descriptor), None)
    return {"side": side, "side_lobe": f"over the {side} lower lobe"} if side else {}


def _site(draft: Draft, site: Site, said: Said) -> list[Finding]:
    if draft.random() >= _chance(site.examined, said):
        return []
    found = int(draft.random() < _chance(site.abnormal, said))
    rules = grammar()
    return [Finding(site.order, rules[site.rules[found]], site.label, rules[site.short[found]])]


def _chance(chances: Sequence[Chance], said: Said) -> float:
    return next((one.chance for one in chances if _holds(one, said)), 0.0)


def _holds(one: Chance, said: Said) -> bool:
    if one.present is not None:
        return _is_present(said, one.present)
    if one.mentioned is not None:
        return one.mentioned in said
    return all(name in said and text in (said[name].descriptor or "") for name, text in one.descriptor.items())


def _elsewhere(draft: Draft, said: Said) -> list[Finding]:
    """Findings of other systems, fewer the more symptoms there are."""
    rules, found = grammar(), []
    sick = writer_rates().focus["elsewhere"] ** sum(mention.present for mention in said.values())
    for one in plan().examination.elsewhere:
        if draft.random() < one.chance * sick and not any(_is_present(said, name) for name in one.not_with):
            order = one.order + 0.5 * draft.random()
            found.append(Finding(order, rules[one.rule], one.label, rules[one.short] if one.short else None))
    return found
