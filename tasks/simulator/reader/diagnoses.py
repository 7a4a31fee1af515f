"""Differential diagnosis and importance of facts, by the posterior of the domain's network given what a text states."""

import json
import re
from collections import Counter

import pandas as pd

from tasks.domains.in_use import domain_cache, domain_file
from tasks.domains.rules import load_rules
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import posterior
from tasks.simulator.reader.findings import find, level_of
from tasks.simulator.reader.lexicon import level_pattern
from tasks.simulator.reader.verdicts import facts
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary

PROBABLE, POSSIBLE = 0.5, 0.2
CRITICAL, BEARING = 0.15, 0.01
"""Least change of a posterior by a critical fact, and by one that supports or refutes a diagnosis."""
_WORDS = vocabulary()
_KINDS = {
    kind: re.compile(rf"\b{_WORDS[words]}\b", re.IGNORECASE)
    for kind, words in (("test", "test"), ("treatment", "treatment"), ("social", "circumstances"))
}
Evidence = tuple[tuple[str, str], ...]
"""Variables of the network with their values, sorted."""


@domain_cache(maxsize=1)
def _network() -> NetworkDefinition:
    return load_definition(domain_file("network"))


@domain_cache(maxsize=4_000)
def evidence(text: str) -> Evidence:
    """What a text states of the network's symptoms and conditions; the first statement of each counts."""
    columns = {label: column for column, label in load_rules().labels.items()}
    found: dict[str, str] = {}
    for finding in find(text):
        column = columns.get(finding.concept)
        if column is None or finding.other or finding.polarity == "uncertain" or finding.kind == "weak":
            continue
        values = _network().values(column)
        value = values[0] if finding.polarity == "absent" else values[-1]
        if finding.polarity == "present" and len(values) > 2:
            words = text[slice(*finding.sentence)]
            worded = next((level for level in values[1:] if level_pattern(level).search(words)), values[1])
            value = level_of(finding.celsius) if finding.celsius is not None else worded
        found.setdefault(column, value if value in values else values[-1])
    return tuple(sorted(found.items()))


@domain_cache(maxsize=4_000)
def diagnoses(known: Evidence) -> dict[str, float]:
    """The posterior probability of each diagnosis, by name."""
    frame = pd.DataFrame([dict(known)], index=[0])
    names = _network().of_type("diagnosis")
    return {name.replace("_", " "): float(posterior(_network(), frame, name)[0, -1]) for name in names}


def judge_differential(request: ChatRequest) -> str:
    """Reply to the tasks about a differential diagnosis."""
    if request.task == "give a differential diagnosis":
        return _differential(request.tag("text"))
    listed = facts(request)
    if request.task == "group facts by mechanism":
        return _mechanisms(listed)
    if request.task in ("grade the importance of facts", "grade facts for the note"):
        return json.dumps({"facts": [{"fact": fact, "category": _importance(fact, listed)} for fact in listed]})
    lines = (line.rsplit(":", 1) for line in request.tag("differential").split("\n") if ":" in line)
    named = [name.strip() for name, _ in lines]
    sign = 1 if request.task == "find supporting facts" else -1
    clusters = []
    for name in named:
        shifts = {fact: sign * _shift(evidence(text), name) for fact, text in listed.items()}
        held = [{"fact": fact, "explanation": f"{shift:+.2f}"} for fact, shift in shifts.items() if shift >= BEARING]
        clusters.append({"diagnosis": name, "facts": held})
    return json.dumps({"clusters": clusters})


def _differential(text: str) -> str:
    ranked = sorted(diagnoses(evidence(text)).items(), key=lambda one: (-one[1], one[0]))
    listed = []
    for name, share in ranked[:10]:
        likelihood = "probable" if share >= PROBABLE else "possible" if share >= POSSIBLE else "unlikely"
        listed.append({"diagnosis": name, "likelihood": likelihood, "explanation": f"posterior {share:.2f}"})
    return json.dumps({"diagnoses": listed})


def _shift(known: Evidence, diagnosis: str) -> float:
    """How much a fact alone changes the probability of a diagnosis; 0 for one that the network does not have."""
    name = diagnosis.lower()
    return diagnoses(known).get(name, 0.0) - diagnoses(()).get(name, 0.0) if known else 0.0


def _importance(fact: str, listed: dict[str, str]) -> str:
    """Critical if the differential without the fact would be another, important if the fact bears on it."""
    own = evidence(listed[fact])
    if not own:
        return "other"
    others = dict(one for name, text in listed.items() if name != fact for one in evidence(text))
    full, less = (diagnoses(tuple(sorted(known.items()))) for known in (others | dict(own), others))
    change = max(abs(full[name] - less[name]) for name in full)
    return "critical" if change >= CRITICAL else "important"


def _mechanisms(listed: dict[str, str]) -> str:
    """Facts grouped by the finding that they are about, each group with the kind of most of its facts."""
    groups: dict[str, dict[str, str]] = {}
    for fact, text in listed.items():
        about = next((finding.concept for finding in find(text)), "not specific")
        kind = next((kind for kind, words in _KINDS.items() if words.search(text)), "symptom")
        groups.setdefault(about, {})[fact] = kind
    made = [
        {"kind": Counter(held.values()).most_common(1)[0][0], "mechanism": name, "facts": list(held)}
        for name, held in groups.items()
    ]
    return json.dumps({"groups": made})
