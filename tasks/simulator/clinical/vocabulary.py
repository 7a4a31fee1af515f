"""The symptoms and conditions of the domain in use, and how they are read (``lexicon/reading.yaml``)."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.domains.rules import load_rules

Pair = Annotated[list[str], Field(min_length=2, max_length=2)]


class Reading(Section):
    """How the rules read the symptoms of a domain. Symptoms are given by label; the file explains each key."""

    temperature: str | None = None
    shared: list[str] = Field(default_factory=list)
    replaces: list[str] = Field(default_factory=list)
    level_words: dict[str, str] = Field(default_factory=dict)
    known_by: dict[str, str] = Field(default_factory=dict)
    anaphors: dict[str, list[str]] = Field(default_factory=dict)
    normal_by_last_word: list[str] = Field(default_factory=list)
    absent_words: list[str] = Field(default_factory=list)
    normal_endings: list[str] = Field(default_factory=list)
    abnormal_signs: list[str] = Field(default_factory=list)
    pseudo_negations: list[str] = Field(default_factory=list)
    modifiers: list[str] = Field(default_factory=list)
    synonyms: list[str] = Field(default_factory=list)
    signs_state: list[str] = Field(default_factory=list)
    denied_signs_state: list[str] = Field(default_factory=list)
    treated_alike: list[str] = Field(default_factory=list)
    diagnoses: list[list[str]] = Field(default_factory=list)
    opposites: list[Pair] = Field(default_factory=list)
    companions: list[str] = Field(default_factory=list)
    elsewhere: str
    far: list[str] = Field(default_factory=list)
    checks: dict[str, str] = Field(default_factory=dict)
    needed: dict[str, list[str]] = Field(default_factory=dict)
    odd: str | None = None


@domain_cache(maxsize=1)
def reading() -> Reading:
    """How the symptoms of the domain in use are read."""
    return Reading.model_validate(domain_data("lexicon/reading"))


@domain_cache(maxsize=1)
def symptoms() -> tuple[str, ...]:
    """Labels of the domain's symptoms, in the order of its wording."""
    rules = load_rules()
    return tuple(rules.labels[name] for name in rules.symptoms)


@domain_cache(maxsize=64)
def is_absent(value: str) -> bool:
    """Whether the value of a symptom in a prompt means that it is absent."""
    return value in ("no", "none", "absent", *load_rules().absent_value.values())


@domain_cache(maxsize=1)
def conditions() -> tuple[str, ...]:
    """Labels of the domain's underlying conditions."""
    rules = load_rules()
    return tuple(rules.labels[name] for name in rules.conditions)


@domain_cache(maxsize=1)
def diagnoses() -> frozenset[str]:
    """Acute diseases of the domain, whose mention is a diagnosis."""
    return frozenset(name for line in reading().diagnoses for name in line)


@domain_cache(maxsize=8)
def level_pattern(level: str) -> re.Pattern[str]:
    """The wordings of a level of the temperature symptom; a pattern that never matches for a level without any."""
    return re.compile(reading().level_words.get(level, r"(?!)"), re.IGNORECASE)


@domain_cache(maxsize=1)
def examination_checks() -> Mapping[str, re.Pattern[str]]:
    """The pattern of each examination that complaints of the domain require."""
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in reading().checks.items()}


@domain_cache(maxsize=1)
def odd_examinations() -> re.Pattern[str]:
    """Examinations that are unusual for the complaints of the domain."""
    return re.compile(reading().odd or r"(?!)", re.IGNORECASE)
