"""The lexicon of concepts. Data in ``data/*.yaml``, one entry for each concept and kind of wording."""

from dataclasses import dataclass
from functools import lru_cache

from tasks.simulator.clinical.patterns import Matcher
from tasks.simulator.clinical.resources import load

SYMPTOMS = ("dyspnea", "cough", "respiratory pain", "fever", "nasal symptoms")
FILES = ("symptoms", "conditions", "diagnoses", "other_symptoms", "signs", "drugs")


@dataclass(frozen=True)
class Entry:
    """Label of a lexicon match: ``kind`` is the kind of wording (direct, lay, implicit, exam, ...)."""

    concept: str
    category: str
    kind: str


@lru_cache(maxsize=1)
def matcher() -> Matcher[Entry]:
    """The compiled lexicon."""
    compiled: Matcher[Entry] = Matcher()
    for name in FILES:
        for item in load(name):
            entry = Entry(item["concept"], item["category"], item["kind"])
            terms = item["terms"] if isinstance(item["terms"], list) else item["terms"].split(", ")
            for pattern in terms:
                compiled.add(str(pattern), entry)
    return compiled


@lru_cache(maxsize=1)
def concepts() -> dict[str, str]:
    """Return the category of each concept."""
    found: dict[str, str] = {}
    for name in FILES:
        for item in load(name):
            if item["kind"] != "blocker":
                found.setdefault(item["concept"], item["category"])
    return found
