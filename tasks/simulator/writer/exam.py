"""Plan and write the physical examination, consistent with the history."""

import re
from collections.abc import Callable

from tasks.simulator.writer.draft import Draft, Finding, Node
from tasks.simulator.writer.focus import looked_for
from tasks.simulator.writer.grammar import grammar
from tasks.simulator.writer.instructions import Mention
from tasks.simulator.writer.rates import RATES
from tasks.simulator.writer.repetition import EXAMINATION, written_once
from tasks.simulator.writer.sentences import capitalised, in_a_row, joined_nodes, sentence, wrapped

_WET = ("phlegm", "sputum", "productive", "gurgling", "purulent")
_EXAMINES = re.compile(r"examin|inspect|auscult|palpat|percuss|otoscop", re.IGNORECASE)
_VITALS = ("bp", "hr", "rr", "temp", "spo2")


def write_exam(draft: Draft, findings: list[Finding]) -> None:
    """Write the findings as prose, labelled lines or bullets, in one style per note."""
    findings = sorted(findings, key=lambda finding: finding.order)
    style = draft.rng.choices(("prose", "labels", "lines", "bullets"), (77, 9, 7, 7))[0]
    labelled_share = {"prose": 0.03, "labels": 0.85, "lines": 1.0, "bullets": 0.92}[style]
    lead = {"prose": "", "labels": "", "lines": "\n", "bullets": "\n"}[style]
    start = draft.length
    waiting = list(findings)
    while waiting:
        finding = waiting.pop(0)
        before = (lead if draft.length > start else "") + ("- " if style == "bullets" else "")

        def write(node: Node, before: str = before) -> bool:
            return written_once(draft, start, EXAMINATION, lambda: sentence(draft, node, lead=before))

        if finding.short is not None and finding.label and draft.random() < labelled_share:
            write(_labelled(finding.label, finding.short, capital=draft.random() < 0.6))
            continue
        follows = bool(waiting) and style in ("prose", "labels") and finding.joins and waiting[0].joins
        if follows and draft.random() < RATES.style["joined_exam"]:
            if write(joined_nodes(finding.prose, waiting[0].prose)):
                waiting.pop(0)
                continue
        elif finding.joins and draft.random() < RATES.style["adverbial_exam"]:
            finding.prose = _examined(finding.prose)
        write(finding.prose)


def _examined(node: Node) -> Node:
    """Return ``node`` with an adverbial such as "on examination", unless it names a method of examination itself."""

    def write(draft: Draft) -> None:
        names_method = _EXAMINES.search(draft.rendered(node)) is not None
        (node if names_method else wrapped(node, "wrap.exam_front", "wrap.exam_back"))(draft)

    return write


def _labelled(label: str, short: Node, *, capital: bool) -> Node:
    name = grammar()[f"exam.label.{label}"]

    shown = capitalised(short) if capital else short

    def write(draft: Draft) -> None:
        name(draft)
        draft.emit(": ")
        shown(draft)

    return write


def respiratory_findings(
    draft: Draft, mentions: tuple[Mention, ...], conditions: tuple[str, ...], examined: str | None
) -> list[Finding]:
    """Return the findings of a visit for respiratory symptoms. ``examined``: a forbidden symptom that is examined."""
    rules, rng = grammar(), draft.rng
    said = {mention.symptom: mention for mention in mentions}
    findings: list[Finding] = []

    def add(order: float, prose: str, label: str | None = None, short: str | None = None) -> None:
        findings.append(Finding(order, rules[prose], label, rules[short] if short else None))

    high = "fever" in said and said["fever"].value == "high"
    ill = high or sum(mention.present for mention in mentions) >= 2
    if rng.random() < 0.74:
        add(
            1,
            "exam.general_ill" if ill and rng.random() < (1.0 if high else 0.4) else "exam.general",
            "general",
            None if high else "exam.general_colon",
        )
    findings += _fever_and_vitals(draft, said, examined)
    findings += _symptom_findings(draft, said, examined)
    lungs, clear = _lungs(draft, said, conditions)
    findings += [lungs, *looked_for(draft, said, clear=clear)]
    nasal, cough, pain = (said.get(name) for name in ("nasal", "cough", "pain"))
    sore = (cough is not None and cough.present) or (nasal is not None and nasal.present) or "fever" in said
    coughs = cough is not None and cough.present
    if rng.random() < (0.75 if coughs else 0.5 if sore else 0.12):
        windpipe = pain is not None and pain.descriptor is not None and "ing pain in" in pain.descriptor
        chance = 0.7 if coughs else 0.3
        red = rng.random() < (0.75 if windpipe else chance if sore else 0.1)
        state = "red" if red else "clear"
        add(4, f"exam.throat_{state}", "throat", f"exam.throat_colon_{state}")
    guarded = any(name in said and said[name].present for name in ("dyspnea", "pain"))
    sick = RATES.focus["elsewhere"] ** sum(mention.present for mention in said.values())
    for chance, order, prose, label, short in _ELSEWHERE:
        if rng.random() < chance * sick and not (prose == "exam.percussion" and guarded):
            add(order + 0.5 * rng.random(), prose, label, short)
    if nasal is not None and nasal.present and rng.random() < 0.2:
        add(4.2, "exam.sinus")
    return findings


_ELSEWHERE: tuple[tuple[float, float, str, str | None, str | None], ...] = (
    (0.44, 4.5, "exam.nodes", "nodes", "exam.nodes_colon"),
    (0.22, 7.0, "exam.percussion", None, None),
    (0.58, 7.5, "exam.heart", "heart", "exam.heart_colon"),
    (0.3, 8.0, "exam.abdomen", "abdomen", "exam.abdomen_colon"),
    (0.22, 8.3, "exam.skin", "skin", "exam.skin_colon"),
    (0.42, 8.5, "exam.limbs", "limbs", "exam.limbs_colon"),
    (0.1, 8.8, "exam.neuro", "neuro", "exam.neuro_colon"),
    (0.04, 4.4, "exam.ears", None, None),
    (0.2, 9.0, "exam.closing", None, None),
)


def _fever_and_vitals(draft: Draft, said: dict[str, Mention], examined: str | None) -> list[Finding]:
    rules, rng = grammar(), draft.rng
    fever, dyspnea = said.get("fever"), said.get("dyspnea")
    breathless = dyspnea is not None and dyspnea.present
    findings: list[Finding] = []
    listed = rng.random() < 0.4
    level = fever.value if fever is not None and fever.present else None
    parts = [name for name in _VITALS if rng.random() < (0.8 if name != "spo2" else 0.5)]
    if level is not None or fever is None:
        parts = [name for name in parts if name != "temp"]
    temperature: list[Node] = []
    if level is not None:
        count = draft.count(RATES.exam["fever"][level])
        if count and listed:
            temperature = [rules[f"fever.exam_colon.{level}"]]
        elif count:
            findings.append(Finding(2.1, rules[f"fever.exam.{level}"], "vitals", rules[f"fever.exam_colon.{level}"]))
        if count > 1:
            findings.append(Finding(2.4 + rng.random(), rules[f"fever.exam_more.{level}"]))
    elif examined == "fever" or (fever is not None and rng.random() < RATES.exam_absent["fever"]):
        findings.append(Finding(2.2, rules["fever.exam_absent"]))
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


def _symptom_findings(draft: Draft, said: dict[str, Mention], examined: str | None) -> list[Finding]:
    rules, rng = grammar(), draft.rng
    findings: list[Finding] = []
    places: dict[str, tuple[float, str | None]] = {
        "nasal": (3.5, "nose"),
        "dyspnea": (5.5, None),
        "cough": (5.2, None),
        "pain": (7.2, "chest_wall"),
    }
    for symptom, (order, label) in places.items():
        mention = said.get(symptom)
        if mention is not None and mention.present:
            count = draft.count(RATES.exam[symptom])
            name = f"{symptom}.exam"
            if symptom == "pain" and mention.descriptor and "ing pain in" in mention.descriptor:
                name = "pain.exam_trachea"
            if count:
                short = f"{name}_short"
                findings.append(Finding(order, rules[name], label, rules.get(short)))
            if count > 1:
                findings.append(Finding(order + 0.1, rules[f"{symptom}.exam_more"]))
        elif mention is not None:
            if rng.random() < RATES.exam_absent[symptom]:
                findings.append(Finding(order, rules[f"{symptom}.exam_absent"]))
        elif symptom == examined:
            findings.append(Finding(order, rules[f"{symptom}.exam_absent"]))
    return findings


def _lungs(draft: Draft, said: dict[str, Mention], conditions: tuple[str, ...]) -> tuple[Finding, bool]:
    """Return the lung sounds, consistent with cough and dyspnea: wheeze, coarse or focal sounds, or clear lungs."""
    rules, rng = grammar(), draft.rng
    present = {name: mention for name, mention in said.items() if mention.present}
    weights = {"clear": 1.0, "wheeze": 0.0, "coarse": 0.0, "focal": 0.0}
    dyspnea, cough, pain = (present.get(name) for name in ("dyspnea", "cough", "pain"))
    if dyspnea is not None:
        weights["wheeze"] = 8.0 if dyspnea.descriptor == "wheezing" or {"asthma", "COPD"} & set(conditions) else 5.0
        weights["coarse"] = 0.5
    if cough is not None:
        wet = cough.descriptor is not None and any(word in cough.descriptor for word in _WET)
        weights["coarse"] += 4.0 if wet else 0.5
    if pain is not None and "fever" in present:
        weights["focal"] = 1.5
        draft.variables |= _side(pain)
    state = rng.choices(list(weights), list(weights.values()))[0]
    if state == "clear":
        return Finding(6, rules["exam.clear"], "lungs", rules["exam.clear_colon"]), True
    sound = rules[f"exam.{state}"]
    draft.variables |= {"sound": sound, "Sound": capitalised(sound)}
    return Finding(6, rules["exam.sound_frame"], "lungs", sound), False


def _side(pain: Mention) -> dict[str, str | Callable[[Draft], None]]:
    side = next((side for side in ("right", "left") if pain.descriptor and side in pain.descriptor), None)
    return {"side": side, "side_lobe": f"over the {side} lower lobe"} if side else {}
