"""Plant at most one error in a note: change the content, or add a sentence."""

import random
from dataclasses import dataclass, replace

from tasks.domains.rules import load_rules
from tasks.simulator.writer.grammar import Draft, Node
from tasks.simulator.writer.history import phrase
from tasks.simulator.writer.instructions import Instructions, Mention
from tasks.simulator.writer.plan import absent_value, levels, present_value
from tasks.simulator.writer.rules import NOTE_ERRORS, ErrorRates, grammar, writer_rates
from tasks.simulator.writer.sentences import present_list


@dataclass(frozen=True)
class Plan:
    """The content of a note after planting, and the planted error."""

    instructions: Instructions
    kind: str | None = None
    item: str | None = None  # the symptom or condition
    extra_history: Node | None = None
    extra_exam: Node | None = None

    @property
    def examined(self) -> str | None:
        """The forbidden symptom with a normal finding in the examination, if any."""
        return self.item if self.kind == "forbidden_examined" else None


def plant(rng: random.Random, instructions: Instructions, rates: ErrorRates) -> Plan:
    """Draw an error with the sum of all rates; its kind is drawn among those that the instructions allow.

    An examination finding of a forbidden symptom is drawn separately, since it is as frequent as in published notes.
    """
    others = tuple(kind for kind in NOTE_ERRORS if kind != "forbidden_examined")
    if rng.random() < rates.total(others):
        plan = _drawn(rng, instructions, rates, others)
        if plan is not None:
            return plan
    chance = rates.probabilities.get("forbidden_examined", 0.0)
    if instructions.related and instructions.avoid and rng.random() < chance:
        examined = writer_rates().examined
        if possible := [symptom for symptom in instructions.avoid if examined.get(symptom)]:
            symptom = rng.choices(possible, [examined[symptom] for symptom in possible])[0]
            return Plan(instructions, "forbidden_examined", symptom)
    return Plan(instructions)


def _drawn(rng: random.Random, instructions: Instructions, rates: ErrorRates, kinds: tuple[str, ...]) -> Plan | None:
    possible = [kind for kind in kinds if rates.probabilities.get(kind, 0) > 0 and _targets(instructions, kind)]
    if not possible:
        return None
    kind = rng.choices(possible, [rates.probabilities[name] for name in possible])[0]
    return _planted(rng, instructions, kind, rng.choice(_targets(instructions, kind)))


def _targets(instructions: Instructions, kind: str) -> list[str]:
    names = [mention.symptom for mention in instructions.mentions]
    if kind == "symptom_dropped":
        return names if len(names) > 1 else []
    if kind == "contradicted":
        others = [] if instructions.avoid else list(load_rules().symptoms)
        return names if instructions.related else others
    if kind == "descriptor_lost":
        return [mention.symptom for mention in instructions.mentions if mention.descriptor]
    if kind == "forbidden_mentioned":
        return list(instructions.avoid)
    if kind == "extra_condition":
        listed = instructions.conditions and load_rules().condition_labels  # without a list, none contradicts it
        return [name for name in instructions.forbidden or listed if name not in instructions.conditions]
    return ["note"]


def _planted(rng: random.Random, instructions: Instructions, kind: str, target: str) -> Plan:
    mentions = instructions.mentions
    if kind in ("contradicted", "forbidden_mentioned") and not instructions.related:
        return Plan(instructions, kind, target, extra_history=_present_sentence(rng, target))
    if kind == "symptom_dropped":
        mentions = tuple(mention for mention in mentions if mention.symptom != target)
    elif kind == "contradicted":
        mentions = tuple(_opposite(m) if m.symptom == target else m for m in mentions)
    elif kind == "descriptor_lost":
        mentions = tuple(replace(m, descriptor=None) if m.symptom == target else m for m in mentions)
    elif kind == "forbidden_mentioned":
        mentions = (*mentions, Mention(target, rng.choice((present_value(target), absent_value(target)))))
        instructions = replace(instructions, avoid=tuple(name for name in instructions.avoid if name != target))
    elif kind == "extra_condition":
        return Plan(instructions, kind, target, extra_history=grammar()[f"error.condition.{target}"])
    elif kind == "diagnosis_named":
        sentence = grammar()["error.diagnosis" if instructions.related else "error.diagnosis_other"]
        history, exam = (sentence, None) if rng.random() < 0.5 else (None, sentence)
        return Plan(instructions, kind, extra_history=history, extra_exam=exam)
    else:
        return Plan(instructions, kind, extra_history=grammar()["error.who"])
    return Plan(replace(instructions, mentions=mentions), kind, target)


def _opposite(mention: Mention) -> Mention:
    turned = absent_value(mention.symptom) if mention.present else present_value(mention.symptom)
    return Mention(mention.symptom, turned)


def _present_sentence(rng: random.Random, symptom: str) -> Node:
    scale = levels(symptom)
    value = rng.choice(scale[::-1]) if scale else present_value(symptom)
    named = present_list([(symptom, phrase(Mention(symptom, value), False))])
    frame = grammar()["frame.later_plain"]

    def write(draft: Draft) -> None:
        draft.variables["nps"] = named
        frame(draft)

    return write
