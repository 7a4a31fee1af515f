"""The lexicon of concepts, one entry for each concept and kind of wording.

Symptoms come from the domain, everything else from ``data/*.yaml``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tasks.domains.in_use import domain_cache, domain_data
from tasks.simulator.clinical.patterns import Matcher
from tasks.simulator.clinical.resources import load
from tasks.simulator.clinical.vocabulary import reading

FILES = ("conditions", "diagnoses", "other_symptoms", "signs", "drugs")


@dataclass(frozen=True)
class Entry:
    """Label of a lexicon match: ``kind`` is the kind of wording (direct, lay, implicit, exam, ...)."""

    concept: str
    category: str
    kind: str


@domain_cache(maxsize=1)
def matcher() -> Matcher[Entry]:
    """The compiled lexicon."""
    compiled: Matcher[Entry] = Matcher()
    for item in _items():
        entry = Entry(item["concept"], item["category"], item["kind"])
        terms = item["terms"] if isinstance(item["terms"], list) else item["terms"].split(", ")
        for pattern in terms:
            compiled.add(str(pattern), entry)
    return compiled


@domain_cache(maxsize=1)
def concepts() -> dict[str, str]:
    """Return the category of each concept."""
    found: dict[str, str] = {}
    for item in _items():
        if item["kind"] != "blocker":
            found.setdefault(item["concept"], item["category"])
    return found


def _items() -> Iterator[dict[str, Any]]:
    yield from domain_data("lexicon/symptoms")
    for name in reading().shared:
        yield from load(name)
    for name in FILES:
        yield from (item for item in load(name) if item["concept"] not in reading().replaces)
