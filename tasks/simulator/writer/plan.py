"""What a note of the domain in use contains, and where (``writer/plan.yaml``)."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.domains.rules import load_rules

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


@domain_cache(maxsize=1)
def symptom_patterns() -> Mapping[str, re.Pattern[str]]:
    """The pattern of each symptom's sentences in a finished note."""
    return {name: re.compile(text, re.IGNORECASE) for name, text in plan().recognised.items()}


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
