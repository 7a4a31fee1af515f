"""Reads and checks ``wording.yaml``, the rules for building prompts from records."""

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data


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

    def is_plain(self, symptom: str) -> bool:
        """Whether a symptom is present or not, without levels."""
        return len(self.mention_probability.get(symptom, ())) <= 2

    @property
    def glossary(self) -> dict[str, str]:
        """What each symptom covers, by the name shown to the model."""
        return {self.labels[symptom]: self.definitions[symptom] for symptom in self.symptoms}


@domain_cache(maxsize=16)
def variables_of(role: str) -> tuple[str, ...]:
    """Variables of a role (symptom, diagnosis, ...) in the network of the domain in use, in order."""
    return tuple(name for name, node in domain_data("network")["variables"].items() if node["type"] == role)


@domain_cache(maxsize=64)
def reference_value(name: str) -> str:
    """The first value of a variable in the network of the domain in use: that of an absent condition."""
    return str(domain_data("network")["variables"][name]["values"][0])


@domain_cache(maxsize=1)
def load_rules() -> PromptingRules:
    """Read ``wording.yaml`` of the domain in use."""
    return PromptingRules.model_validate(domain_data("wording"))
