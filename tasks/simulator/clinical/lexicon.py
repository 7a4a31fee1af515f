"""The lexicon of concepts, one entry for each concept and kind of wording.

Symptoms come from the domain, everything else from ``data/*.yaml``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, TypeAdapter

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.simulator.clinical.patterns import Matcher
from tasks.simulator.clinical.resources import load
from tasks.simulator.clinical.vocabulary import reading, symptoms

FILES = ("conditions", "diagnoses", "other_symptoms", "signs", "drugs")


@dataclass(frozen=True)
class Entry:
    """Label of a lexicon match: ``kind`` is the kind of wording (direct, lay, implicit, exam, ...)."""

    concept: str
    category: str
    kind: str


class Item(Section):
    """Terms of one concept and kind of wording in a file of the lexicon."""

    concept: str
    category: Literal["symptom", "other_symptom", "sign", "condition", "diagnosis", "drug", "none"]
    kind: Literal["direct", "lay", "implicit", "calm", "feature", "exam", "anaphor", "weak", "blocker"]
    terms: list[str] = Field(min_length=1)


@domain_cache(maxsize=1)
def matcher() -> Matcher[Entry]:
    """The compiled lexicon."""
    compiled: Matcher[Entry] = Matcher()
    for item in _items():
        entry = Entry(item.concept, item.category, item.kind)
        for pattern in item.terms:
            compiled.add(pattern, entry)
    return compiled


@domain_cache(maxsize=1)
def concepts() -> dict[str, str]:
    """Return the category of each concept."""
    found: dict[str, str] = {}
    for item in _items():
        if item.kind != "blocker":
            found.setdefault(item.concept, item.category)
    return found


@domain_cache(maxsize=1)
def symptom_items() -> tuple[Item, ...]:
    """Entries of ``lexicon/symptoms``. Raises ValidationError for one that is no `Item`."""
    return TypeAdapter(tuple[Item, ...]).validate_python(domain_data("lexicon/symptoms"))


def shared_concepts() -> frozenset[str]:
    """Concepts of the lexicon of all domains."""
    return frozenset(item.concept for name in FILES for item in _shared(name))


def _items() -> Iterator[Item]:
    yield from symptom_items()
    for name in reading().shared:
        yield from _shared(name)
    replaced = {*reading().replaces, *(symptom.lower() for symptom in symptoms())}
    for name in FILES:
        yield from (item for item in _shared(name) if item.concept.lower() not in replaced)


def _shared(name: str) -> Iterator[Item]:
    for item in load(name):
        terms = item["terms"] if isinstance(item["terms"], list) else item["terms"].split(", ")
        yield Item.model_validate({**item, "terms": list(map(str, terms))})
