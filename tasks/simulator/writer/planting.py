"""Plants at most one error in a note: changes what is to be written, or adds a sentence that should not be there."""

import random
from dataclasses import dataclass, replace

from tasks.simulator.writer.grammar import grammar
from tasks.simulator.writer.history import phrase
from tasks.simulator.writer.line import Line, Node
from tasks.simulator.writer.order import CONDITIONS, Mention, Order
from tasks.simulator.writer.rates import NOTE_ERRORS, ErrorRates
from tasks.simulator.writer.surface import present_list

_OPPOSITE = {"yes": "no", "no": "yes", "high": "none", "low": "none", "none": "high"}


@dataclass(frozen=True)
class Plan:
    """What will be written: the order after planting, and which error was planted in it."""

    order: Order
    kind: str | None = None
    item: str | None = None  # symptom or condition concerned
    extra_history: Node | None = None
    extra_exam: Node | None = None


def plant(rng: random.Random, order: Order, rates: ErrorRates) -> Plan:
    """Decide on an error. The chance is the sum of all rates; the kind is drawn among those the order allows."""
    draw = rng.random() < rates.total(NOTE_ERRORS)
    if not draw:
        return Plan(order)
    possible = [kind for kind in NOTE_ERRORS if rates.chances.get(kind, 0) > 0 and _targets(order, kind)]
    if not possible:
        return Plan(order)
    kind = rng.choices(possible, [rates.chances[name] for name in possible])[0]
    return _planted(rng, order, kind, rng.choice(_targets(order, kind)))


def _targets(order: Order, kind: str) -> list[str]:
    names = [mention.symptom for mention in order.mentions]
    if kind == "symptom_dropped":
        return names if len(names) > 1 else []
    if kind == "contradicted":
        return names if order.respiratory else ["dyspnea", "cough", "pain", "fever", "nasal"]
    if kind == "descriptor_lost":
        return [mention.symptom for mention in order.mentions if mention.descriptor]
    if kind == "forbidden_mentioned":
        return list(order.avoid)
    if kind == "extra_condition":
        return [name for name in CONDITIONS if name not in order.conditions]
    return ["note"]


def _planted(rng: random.Random, order: Order, kind: str, target: str) -> Plan:
    rules = grammar()
    mentions = order.mentions
    if kind == "symptom_dropped":
        kept = tuple(mention for mention in mentions if mention.symptom != target)
        return Plan(replace(order, mentions=kept), kind, target)
    if kind == "contradicted":
        if not order.respiratory:
            return Plan(order, kind, target, extra_history=_present_sentence(rng, target))
        turned = tuple(Mention(m.symptom, _OPPOSITE.get(m.value, "no")) if m.symptom == target else m for m in mentions)
        return Plan(replace(order, mentions=turned), kind, target)
    if kind == "descriptor_lost":
        bare = tuple(replace(m, descriptor=None) if m.symptom == target else m for m in mentions)
        return Plan(replace(order, mentions=bare), kind, target)
    if kind == "forbidden_mentioned":
        value = rng.choice(("high", "none") if target == "fever" else ("yes", "no"))
        kept_away = tuple(name for name in order.avoid if name != target)
        return Plan(replace(order, mentions=(*mentions, Mention(target, value)), avoid=kept_away), kind, target)
    if kind == "extra_condition":
        return Plan(order, kind, target, extra_history=rules[f"error.condition.{target}"])
    if kind == "diagnosis_named":
        sentence = rules["error.diagnosis" if order.respiratory else "error.diagnosis_other"]
        if rng.random() < 0.5:
            return Plan(order, kind, extra_history=sentence)
        return Plan(order, kind, extra_exam=sentence)
    return Plan(order, kind, extra_history=rules["error.who"])


def _present_sentence(rng: random.Random, symptom: str) -> Node:
    value = rng.choice(("high", "low")) if symptom == "fever" else "yes"
    named = present_list([(symptom, phrase(Mention(symptom, value), False))])
    frame = grammar()["frame.later_plain"]

    def write(line: Line) -> None:
        line.variables["nps"] = named
        frame(line)

    return write
