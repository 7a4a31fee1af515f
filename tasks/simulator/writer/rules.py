"""The domain's part in notes: their plan (``writer/plan.yaml``), rates (``writer/rates.yaml``) and grammar.

Rules are those of the domain, and those of ``data`` for every domain.
"""

from typing import Annotated, Any

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data, domain_folder
from tasks.domains.rules import load_rules
from tasks.simulator.resources import load
from tasks.simulator.writer.grammar import Grammar

Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
"""For a normal and an abnormal finding."""


class SymptomFindings(Section):
    """Place of a symptom's findings; ``by_descriptor``: another rule if the descriptor contains the text."""

    order: float
    label: str | None = None
    by_descriptor: dict[str, str] = Field(default_factory=dict)


class Weight(Section):
    """Weight that a present symptom adds to a state; ``raised`` with certain descriptors or conditions."""

    state: str
    symptom: str
    weight: float
    along_with: str | None = None
    raised: float | None = None
    descriptors: list[str] = Field(default_factory=list)
    conditions: list[str] = Field(default_factory=list)
    sided: bool = False  # the finding is on the side that the descriptor names


class Region(Section):
    """The main examination: normal, or in one of several states."""

    order: float
    label: str
    normal: str
    normal_short: str
    frame: str
    states: dict[str, str]
    weights: list[Weight] = Field(default_factory=list)


class Focus(Section):
    """Places of complaint-specific examinations, and rule suffixes for a normal and an abnormal region."""

    order: dict[str, float] = Field(default_factory=dict)
    by_region: dict[str, Pair] = Field(default_factory=dict)


class Chance(Section):
    """A probability that holds if the condition is met: a symptom present, mentioned, or described in certain words."""

    chance: float = Field(ge=0, le=1)
    present: str | None = None
    mentioned: str | None = None
    descriptor: dict[str, str] = Field(default_factory=dict)


class Site(Section):
    """A further region: rules and short forms of a normal and an abnormal finding."""

    order: float
    label: str
    rules: Pair
    short: Pair
    examined: list[Chance]
    abnormal: list[Chance]


class Elsewhere(Section):
    """A finding of another system; left out in the presence of the symptoms ``not_with``."""

    chance: float = Field(ge=0, le=1)
    order: float
    rule: str
    label: str | None = None
    short: str | None = None
    not_with: list[str] = Field(default_factory=list)


class Also(Section):
    """A finding of a present symptom outside its own rules."""

    symptom: str
    chance: float = Field(ge=0, le=1)
    order: float
    rule: str


class Examination(Section):
    """The physical examination."""

    symptoms: dict[str, SymptomFindings] = Field(default_factory=dict)
    region: Region | None = None
    focus: Focus = Focus()
    sites: list[Site] = Field(default_factory=list)
    elsewhere: list[Elsewhere] = Field(default_factory=list)
    also: list[Also] = Field(default_factory=list)


class WriterPlan(Section):
    """The content of ``plan.yaml``, which explains each key."""

    letters: dict[str, str]
    shared: list[str] = Field(default_factory=list)
    temperature: str | None = None
    breathing: str | None = None
    lasting: dict[str, str] = Field(default_factory=dict)
    spoken: dict[str, str] = Field(default_factory=dict)
    recognised: dict[str, str] = Field(default_factory=dict)
    families_left_out: list[str] = Field(default_factory=list)
    examination: Examination = Examination()


@domain_cache(maxsize=1)
def plan() -> WriterPlan:
    """The plan of the domain in use."""
    return WriterPlan.model_validate(domain_data("writer/plan"))


@domain_cache(maxsize=32)
def _present_values(symptom: str) -> tuple[str, ...]:
    node = domain_data("network")["variables"].get(symptom, {})
    return tuple(value for value in node.get("values", ("yes",)) if value != absent_value(symptom))


def levels(symptom: str) -> tuple[str, ...]:
    """Values of a symptom that are levels of its presence, in rising order; empty for one that is present or not."""
    values = _present_values(symptom)
    return values if len(values) > 1 else ()


def present_value(symptom: str) -> str:
    """The value of a clearly present symptom: its highest level."""
    return _present_values(symptom)[-1]


def absent_value(symptom: str) -> str:
    """The value of an absent symptom."""
    return load_rules().absent_value.get(symptom, "no")


def rule_of(name: str, symptom: str, value: str) -> str:
    """A rule's name, by level for a symptom with levels: ``x.tail`` at the level high is ``x.tail.high``."""
    scale = levels(symptom)
    return f"{name}.{value if value in scale else scale[0]}" if scale else name


NOTE_ERRORS = (
    "symptom_dropped",
    "contradicted",
    "descriptor_lost",
    "forbidden_mentioned",
    "forbidden_examined",
    "extra_condition",
    "diagnosis_named",
    "age_or_sex_named",
)
COMPACT_ERRORS = ("detail_lost", "detail_changed")
CALIBRATION_MODEL = "vignette-writer-calibration"


ErrorRates = dict[str, float]
"""Probability of each kind of planted error; at most one error per text."""


class Rates(Section):
    """The content of ``rates.yaml``, which explains each key."""

    planted: dict[str, float]
    calibration: dict[str, float]
    compact: dict[str, float]
    style: dict[str, Any]
    spans: dict[str, Any]
    more: dict[str, float]
    exam: dict[str, Any]
    exam_absent: dict[str, float]
    examined: dict[str, float]
    focus: dict[str, Any]
    unrelated: dict[str, Any]


@domain_cache(maxsize=1)
def writer_rates() -> Rates:
    """Return the rates of the domain in use."""
    return Rates.model_validate(domain_data("writer/rates"), strict=False)


def rates_of(model: str) -> ErrorRates:
    """Return the error rates of a model. The calibration model plants all kinds of a version equally often."""
    if not model.startswith(CALIBRATION_MODEL):
        return writer_rates().planted
    rates = writer_rates().calibration
    kinds = {"note": NOTE_ERRORS, "compact": COMPACT_ERRORS}
    return {kind: rates[version] / len(listed) for version, listed in kinds.items() for kind in listed}


SHARED_FILES = ("words", "history", "exam", "complaints")
NO_RULES = ("plan", "rates", "shorthand")
"""Files of a domain's ``writer`` folder that are no rule files."""


def flatten(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten nested rule blocks to names of the form ``outer.inner``."""
    rules: dict[str, str] = {}
    for name, value in tree.items():
        rules |= flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": str(value)}
    return rules


@domain_cache(maxsize=1)
def grammar() -> Grammar:
    """Return the compiled grammar of all rule files: the domain's, and those of ``data`` for every domain."""
    rules: dict[str, str] = {}
    for name in (*SHARED_FILES, *plan().shared):
        rules |= flatten(load("writer", name))
    folder = domain_folder() / "writer"
    for file in sorted(folder.glob("*.yaml")):
        if file.stem not in NO_RULES:
            rules |= flatten(domain_data(f"writer/{file.stem}"))
    return Grammar(rules, plan().letters, folder)
