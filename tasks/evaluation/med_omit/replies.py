"""What the judge is asked to reply in each step of MED-OMIT."""

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
    """A possible diagnosis, how likely it is, and why in a few words."""

    diagnosis: str
    likelihood: Likelihood
    explanation: str


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
