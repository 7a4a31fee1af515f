"""Reads and checks ``wording.yaml``, the rules for building prompts from records."""

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data


class PromptingRules(Section):
    """SimSUM, Section 2.2 and Table 2, as data. Keys of all mappings are column names of the record table."""

    labels: dict[str, str]  # column -> name shown to the model
    definitions: dict[str, str]  # symptom -> what its name covers
    absent_value: dict[str, str]  # symptom -> the value that means it is absent
    mention_probability: dict[str, dict[str, float]]  # symptom -> value -> P(mentioned | value)
    overruling_causes: list[str]  # strongest first
    further_causes: dict[str, list[str]] = Field(default_factory=dict)  # causes in Table 2 that are not parents
    conditions: list[str]  # underlying conditions, the only other variables in prompts
    descriptors: dict[str, dict[str, list[str]]]  # symptom -> cause -> descriptors

    @property
    def symptoms(self) -> tuple[str, ...]:
        """Column names of the symptoms, in the order of the rules."""
        return tuple(self.absent_value)

    @property
    def glossary(self) -> dict[str, str]:
        """What each symptom covers, by the name shown to the model."""
        return {self.labels[symptom]: self.definitions[symptom] for symptom in self.symptoms}


@domain_cache(maxsize=1)
def load_rules() -> PromptingRules:
    """Read ``wording.yaml`` of the domain in use."""
    return PromptingRules.model_validate(domain_data("wording"))
