"""Structured replies of the judge, one class per step of MED-OMIT, and how facts get their ids."""

from collections.abc import Mapping, Sequence

from tasks.evaluation.med_omit.differential_difference import Likelihood
from tasks.evaluation.med_omit.fact_score import Category
from tasks.llm.calls import Reply

MAX_DIAGNOSES = 10


class Facts(Reply):
    """Single facts of the text: medical ones, ones on access to care or social circumstances, and all others."""

    medical: list[str]
    access_and_social: list[str]
    other: list[str]


class Diagnosis(Reply):
    """A possible diagnosis, why in a few words, and how likely it is."""

    diagnosis: str
    explanation: str
    likelihood: Likelihood


class Differential(Reply):
    """Possible diagnoses, most likely first, at most ten."""

    diagnoses: list[Diagnosis]


class Omissions(Reply):
    """Ids of the facts that the summary leaves out, wholly or in part."""

    omitted: list[str]


class FactCategory(Reply):
    """The id of a fact and how much it matters to the differential."""

    fact: str
    category: Category


class Importances(Reply):
    """A category for every fact."""

    facts: list[FactCategory]


class Evidence(Reply):
    """A diagnosis with the ids of the facts that support it and of those that speak against it."""

    diagnosis: str
    supports: list[str]
    refutes: list[str]


class EvidenceClusters(Reply):
    """Supporting and refuting facts of every diagnosis."""

    clusters: list[Evidence]


class Mechanism(Reply):
    """A pathophysiological mechanism and the ids of the facts that point to it."""

    mechanism: str
    facts: list[str]


class Mechanisms(Reply):
    """The facts grouped by mechanism; every fact in one group."""

    groups: list[Mechanism]


def number_facts(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """Number facts F0, F1, ... in order: id -> (kind, fact). Repeats, within and across kinds, are dropped first.

    The released code drops repeats after numbering, which leaves ids that repeat; that is not reproduced.
    """
    found: dict[str, tuple[str, str]] = {}
    for kind, facts in lists.items():
        for fact in facts:
            text = " ".join(fact.split())
            if text:
                found.setdefault(text.lower(), (kind, text))
    return {f"F{number}": fact for number, fact in enumerate(found.values())}
