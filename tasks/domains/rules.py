"""Reads and checks ``wording.yaml``, the rules for building prompts from records."""

from typing import Protocol

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import data_of, domain_cache, domain_name


class Network(Protocol):
    """The part of a network that the other files of a domain, and prompts, refer to."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in order."""
        ...

    def of_type(self, *types: str) -> tuple[str, ...]:
        """The variables of these types."""
        ...

    def values(self, name: str) -> tuple[str, ...]:
        """The values of a variable, the reference first; empty for a count."""
        ...

    def parents(self, name: str) -> tuple[str, ...]:
        """The parents of a variable."""
        ...


class Phrases(Section):
    """Words of the domain in prompts that all domains share."""

    adjective: str  # of the domain's symptoms
    outside: str  # complaints outside the domain, as in "a complaint outside this region"
    denials: list[str] = Field(min_length=1)  # examination findings that deny a symptom
    denial_of: str  # one of them, with the symptom that it mentions
    unrestricted: str  # findings that may be noted in every note
    shown: list[str] = Field(min_length=1)  # examination findings that show a symptom or deny it
    side_findings: list[str] = Field(min_length=1)  # what merely goes with a symptom


class PromptingRules(Section):
    """SimSUM, Section 2.2 and Table 2, as data. Keys of all mappings are column names of the record table."""

    subject: str  # of the network: "a Bayesian network of ..."
    phrases: Phrases
    claims: dict[str, dict[str, str]] = Field(default_factory=dict)  # symptom -> value -> what the patient has
    labels: dict[str, str]  # column -> name shown to the model
    definitions: dict[str, str]  # symptom -> what its name covers
    absent_value: dict[str, str]  # symptom -> the value that means it is absent
    mention_probability: dict[str, dict[str, float]]  # symptom -> value -> P(mentioned | value)
    overruling_causes: list[str] = Field(default_factory=list)  # strongest first
    further_causes: dict[str, list[str]] = Field(default_factory=dict)  # causes in Table 2 that are not parents
    conditions: list[str]  # underlying conditions, the only other variables in prompts
    descriptors: dict[str, dict[str, list[str]]] = Field(default_factory=dict)  # symptom -> cause -> descriptors

    @property
    def symptoms(self) -> tuple[str, ...]:
        """Column names of the symptoms, in the order of the rules."""
        return tuple(self.absent_value)

    @property
    def symptom_labels(self) -> tuple[str, ...]:
        """The symptoms' names in prompts, in the order of the rules."""
        return tuple(self.labels[symptom] for symptom in self.symptoms)

    @property
    def condition_labels(self) -> tuple[str, ...]:
        """The underlying conditions' names in prompts, in the order of the rules."""
        return tuple(self.labels[condition] for condition in self.conditions)

    @property
    def symptom_by_label(self) -> dict[str, str]:
        """Column names of the symptoms by their name in prompts, in lower case."""
        return {self.labels[symptom].lower(): symptom for symptom in self.symptoms}

    def is_plain(self, symptom: str) -> bool:
        """Whether a symptom is present or not, without levels."""
        return len(self.mention_probability.get(symptom, ())) <= 2

    @property
    def glossary(self) -> dict[str, str]:
        """What each symptom covers, by the name shown to the model."""
        return {self.labels[symptom]: self.definitions[symptom] for symptom in self.symptoms}


def variables_of(domain: str, role: str) -> tuple[str, ...]:
    """Variables of a role (symptom, diagnosis, ...) in the network of a domain, in order."""
    return tuple(name for name, node in data_of(domain, "network")["variables"].items() if node["type"] == role)


@domain_cache(maxsize=4)
def rules_of(domain: str) -> PromptingRules:
    """Read ``wording.yaml`` of a domain."""
    return PromptingRules.model_validate(data_of(domain, "wording"))


def load_rules() -> PromptingRules:
    """`rules_of` the domain in use."""
    return rules_of(domain_name())
