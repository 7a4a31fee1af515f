"""The words by which symptoms, conditions, diagnoses and complaints are found.

Symptoms and how they are read come from the domain (``lexicon/*.yaml``), everything else from ``data/concepts.yaml``.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple
from zlib import crc32

from pydantic import BeforeValidator, Field, TypeAdapter

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.domains.rules import load_rules
from tasks.simulator.reader.words import Matcher, stems
from tasks.simulator.resources import load

HELD_OUT, SEED = 10, 3
"""One of so many wordings and sentences escapes the reader; the seed says which."""
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
    abnormal_signs: list[str] = Field(default_factory=list)
    signs_state: list[str] = Field(default_factory=list)
    treated_alike: list[str] = Field(default_factory=list)
    diagnoses: list[list[str]] = Field(default_factory=list)
    opposites: list[Pair] = Field(default_factory=list)
    elsewhere: str
    checks: dict[str, str] = Field(default_factory=dict)
    needed: dict[str, list[str]] = Field(default_factory=dict)


@domain_cache(maxsize=1)
def reading() -> Reading:
    """How the symptoms of the domain in use are read."""
    return Reading.model_validate(domain_data("lexicon/reading"))


def symptoms() -> tuple[str, ...]:
    """Labels of the domain's symptoms, in the order of its wording."""
    return load_rules().symptom_labels


def conditions() -> tuple[str, ...]:
    """Labels of the domain's underlying conditions."""
    return load_rules().condition_labels


def is_absent(value: str) -> bool:
    """Whether the value of a symptom in a prompt means that it is absent."""
    return value in ("no", "none", "absent", *load_rules().absent_value.values())


def level_pattern(level: str) -> re.Pattern[str]:
    """The wordings of a level of the temperature symptom; a pattern that never matches for a level without any."""
    return re.compile(reading().level_words.get(level, r"(?!)"), re.IGNORECASE)


class Entry(NamedTuple):
    """What a term stands for; ``kind`` is the kind of wording (direct, lay, implicit, exam, ...)."""

    concept: str
    category: str
    kind: str


def _terms(listed: Any) -> Any:
    return listed.split(", ") if isinstance(listed, str) else listed


class Item(Section):
    """Terms of one concept and kind of wording in a file of the lexicon, as a list or separated by commas."""

    concept: str
    category: Literal["symptom", "other_symptom", "sign", "condition", "diagnosis", "drug", "none"]
    kind: Literal["direct", "lay", "implicit", "calm", "feature", "exam", "anaphor", "weak", "blocker"]
    terms: Annotated[list[str], Field(min_length=1), BeforeValidator(_terms)]


_ITEMS = TypeAdapter(tuple[Item, ...])


@domain_cache(maxsize=1)
def matcher() -> Matcher[Entry]:
    """The compiled lexicon."""
    compiled: Matcher[Entry] = Matcher()
    for item in _items():
        for pattern in item.terms:
            compiled.add(pattern, Entry(item.concept, item.category, item.kind))
    return compiled


def is_held_out(wording: str) -> bool:
    """Whether a wording or a sentence is of the tenth that escapes the reader; single words are all known."""
    words = wording.lower().split()
    return len(words) > 1 and crc32(f"{SEED} {' '.join(words)}".encode()) % HELD_OUT == 0


@domain_cache(maxsize=1)
def symptom_items() -> tuple[Item, ...]:
    """Entries of ``lexicon/symptoms``. Raises ValidationError for one that is no `Item`."""
    return _ITEMS.validate_python(domain_data("lexicon/symptoms"))


@domain_cache(maxsize=1)
def concepts() -> dict[str, str]:
    """The names of all concepts by their lower-case form."""
    return {item.concept.lower(): item.concept for item in _items() if item.kind != "blocker"}


def shared_concepts() -> frozenset[str]:
    """Concepts of the lexicon of all domains."""
    return frozenset(item.concept for item in _shared("concepts"))


def _items() -> Iterator[Item]:
    yield from symptom_items()
    for name in reading().shared:
        yield from _shared(name)
    replaced = {*reading().replaces, *(symptom.lower() for symptom in symptoms())}
    yield from (item for item in _shared("concepts") if item.concept.lower() not in replaced)


def _shared(name: str) -> tuple[Item, ...]:
    return _ITEMS.validate_python(load("reader", name))


@domain_cache(maxsize=1)
def _descriptors() -> dict[str, re.Pattern[str]]:
    listed = domain_data("lexicon/descriptors").items()
    return {str(name): re.compile(str(pattern), re.IGNORECASE) for name, pattern in listed}


def described(text: str, *, by_name: bool) -> list[tuple[str, tuple[int, int]]]:
    """Descriptors in ``text`` with their places: by any of their wordings, or ``by_name``."""
    low = text.lower()
    if by_name:
        named = [(name, low.find(name)) for name in _descriptors()]
        return [(name, (at, at + len(name))) for name, at in named if at >= 0]
    matches = ((name, pattern.search(text)) for name, pattern in _descriptors().items())
    return [(name, match.span()) for name, match in matches if match]


def says(text: str, descriptor: str) -> bool:
    """Whether ``text`` states a descriptor: by its known wordings, else by half of its content words."""
    pattern, wanted = _descriptors().get(descriptor.strip().lower()), stems(descriptor)
    if pattern is not None:
        return pattern.search(text) is not None
    return len(wanted & stems(text)) >= len(wanted) / 2
