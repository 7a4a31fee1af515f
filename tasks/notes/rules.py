"""Reads and checks ``prompting.yaml``, the rules for building prompts from records."""

from functools import lru_cache
from importlib.resources import files

import yaml
from pydantic import Field

from schemas.params.base import Section


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


@lru_cache(maxsize=1)
def load_rules() -> PromptingRules:
    """Read ``prompting.yaml``."""
    source = files("tasks.notes").joinpath("prompting.yaml").read_text(encoding="utf-8")
    return PromptingRules.model_validate(yaml.safe_load(source))
