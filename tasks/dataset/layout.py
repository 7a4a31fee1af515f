"""Layout of the dataset files: SimSUM's, with the column and value names of the domain in use."""

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.domains.rules import load_rules

NOTE, COMPACT = "text", "advanced_text"
INDEX_NAMES = ("record", "", "Unnamed: 0", "index", "id")
"""Columns that may hold the record ids; without any of them records are numbered in order."""


class Layout(Section):
    """The content of ``dataset.yaml``."""

    columns: dict[str, str]  # variable -> column of SimSUM.csv
    other_names: dict[str, list[str]] = Field(default_factory=dict)  # column -> names in other releases
    other_values: dict[str, dict[str, str]] = Field(default_factory=dict)  # variable -> their value -> ours


@domain_cache(maxsize=1)
def layout() -> Layout:
    """The layout of the domain in use."""
    return Layout.model_validate(domain_data("dataset"))


def values_of(variable: str) -> tuple[str, ...]:
    """The values of a variable; empty for a count."""
    values = domain_data("network")["variables"][variable]["values"]
    return () if values == "count" else tuple(values)


def symptom_names() -> dict[str, str]:
    """Names of symptoms in span files."""
    rules = load_rules()
    return {symptom: rules.labels[symptom] for symptom in rules.symptoms}
