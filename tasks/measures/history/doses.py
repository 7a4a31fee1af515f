"""Summaries with a known dose of damage: facts removed from a summary of all facts, or false statements added to it.

What such a summary keeps and how much of it is true follow from its construction, so that a metric can be tested: it
has to get worse with the dose. Doses are nested: a larger dose has the damage of the smaller ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, get_args

import numpy as np

from tasks.visits.facts import Fact, Visits, Worder, facts_of

Damage = Literal["removed", "invented", "contradicted"]
DAMAGES: tuple[Damage, ...] = get_args(Damage)
UNDAMAGED = "undamaged"
"""Name of the summary of all facts, the dose 0 of every damage."""
_STREAM = 1301


@dataclass(frozen=True)
class Dose:
    """A summary damaged by ``dose`` statements. ``kept``: the keys of the facts that it states.

    ``recall``: share of the patient's facts that it states; ``precision``: share of its statements that are true.
    """

    damage: Damage
    dose: int
    text: str
    kept: frozenset[str]
    recall: float
    precision: float

    @property
    def system(self) -> str:
        """Name among the systems."""
        return f"{self.damage} {self.dose}" if self.dose else UNDAMAGED


def dosed_summaries(visits: Visits, worder: Worder, doses: Sequence[int], seed: int) -> list[Dose]:
    """All damages of one patient's summary at ``doses``, but those that leave no fact or lack statements to add."""
    patient = int(visits[0]["patient"])
    facts = facts_of(visits, worder)
    random = np.random.default_rng([seed, _STREAM, patient])
    statements = {fact.key: worder.statement(fact, patient) for fact in facts}
    order = [facts[at].key for at in random.permutation(len(facts))]
    false = {
        "invented": [worder.statement(fact, patient) for fact in invented_facts(visits, facts, worder)],
        "contradicted": list(dict.fromkeys(worder.denial(fact, patient) for fact in facts)),
    }
    for texts in false.values():
        random.shuffle(texts)
    found = []
    for damage, dose in product(DAMAGES, doses):
        of = false.get(damage, [])
        if dose < len(facts) and (damage == "removed" or 0 < dose <= len(of)):
            kept = frozenset(statements) - set(order[:dose] if damage == "removed" else ())
            added = of[:dose]
            text = " ".join([*(text for key, text in statements.items() if key in kept), *added])
            recall, precision = len(kept) / len(statements), len(kept) / (len(kept) + len(added))
            found.append(Dose(damage, dose, text, kept, recall, precision))
    return found


def invented_facts(visits: Visits, facts: Sequence[Fact], worder: Worder) -> Iterator[Fact]:
    """Facts that the record has not: conditions and symptoms that the patient never had, treatments not given."""
    network, had, days = worder.network, {fact.item for fact in facts}, [int(visit["day"]) for visit in visits]
    for condition in worder.rules.conditions:
        if all(visit[condition] == network.values(condition)[0] for visit in visits):
            yield Fact("trait", condition, days[0])
    for symptom, start in product(worder.rules.symptoms, days):
        if symptom not in had:
            yield Fact("episode", symptom, start)
    for visit, name in product(visits, worder.words.treatments):
        if visit[name] == network.values(name)[0]:
            yield Fact("treatment", name, int(visit["day"]), network.values(name)[-1])
    for fact in facts:
        if fact.kind == "decision" and fact.value != "1":
            yield replace(fact, value="1")
