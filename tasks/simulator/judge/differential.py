"""The judge's differential diagnosis: diagnoses by their findings, importance of facts, and mechanisms."""

import json
import re
from collections import Counter
from typing import NamedTuple

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.premise import differential, facts, units
from tasks.simulator.judge.scopes import Word, read
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import load, vocabulary

MAX_DIAGNOSES = 10
PROBABLE, POSSIBLE = 3, 2  # findings in favour minus findings against


class Finding(NamedTuple):
    """Evidence for a diagnosis (or ``against`` it): stems that must occur together."""

    keys: frozenset[str]
    mechanism: str
    against: bool


@domain_cache(maxsize=1)
def knowledge() -> dict[str, tuple[Finding, ...]]:
    """Return the findings by diagnosis."""
    raw = load("judge", "diagnoses")
    found: dict[str, tuple[Finding, ...]] = {}
    for diagnosis, mechanisms in raw.items():
        findings = []
        for mechanism, phrases in mechanisms.items():
            for phrase in phrases:
                keys = frozenset(word.key for word in read(phrase))
                if keys:
                    findings.append(Finding(keys, mechanism, mechanism == "against"))
        found[diagnosis] = tuple(findings)
    return found


def evidence(words: tuple[Word, ...], diagnosis: str) -> tuple[str, str] | None:
    """Return the (stance, mechanism) of a sentence towards a diagnosis; None if it is no evidence.

    A present finding supports, a denied one refutes; the finding with most words decides.
    """
    stands = {word.key: word.negated for word in words}
    met = [finding for finding in knowledge().get(diagnosis, ()) if finding.keys and finding.keys <= stands.keys()]
    if not met:
        return None
    finding = max(met, key=lambda one: len(one.keys))
    denied = any(stands[key] for key in finding.keys)
    if finding.against:
        return None if denied else ("refutes", "not expected")
    return ("refutes" if denied else "supports"), finding.mechanism


def give_differential(request: ChatRequest) -> str:
    """Reply with at most ten diagnoses, ranked by findings in favour minus findings against."""
    sentences = [unit.words for unit in units(request.tag("text"))]
    scored = [(name, *_weigh(sentences, name)) for name in knowledge()]
    named = sorted((row for row in scored if row[1] > 0), key=lambda row: (-(row[1] - row[2]), row[0]))[:MAX_DIAGNOSES]
    listed = []
    for name, favour, against in named:
        explanation = f"{favour} findings in favour, {against} against"
        listed.append({"diagnosis": name, "likelihood": _likelihood(favour - against), "explanation": explanation})
    return json.dumps({"diagnoses": listed})


def _weigh(sentences: list[tuple[Word, ...]], diagnosis: str) -> tuple[int, int]:
    """Count the distinct findings for and against a diagnosis."""
    favour: set[frozenset[str]] = set()
    against: set[frozenset[str]] = set()
    for words in sentences:
        stands = {word.key: word.negated for word in words}
        for finding in knowledge()[diagnosis]:
            if finding.keys <= stands.keys():
                denied = any(stands[key] for key in finding.keys)
                (against if denied != finding.against else favour).add(finding.keys)
    return len(favour), len(against)


def _likelihood(balance: int) -> str:
    return "probable" if balance >= PROBABLE else "possible" if balance >= POSSIBLE else "unlikely"


def grade_importance(request: ChatRequest) -> str:
    """Reply with the grade of each fact: critical if it is the only evidence of its kind for a likely diagnosis."""
    named, listed = differential(request), facts(request)
    likely = [name for name, likelihood in named if likelihood != "unlikely"] or [name for name, _ in named[:1]]
    words = {fact: read(text) for fact, text in listed.items()}
    bearing = {fact: {(name, *found) for name, _ in named if (found := evidence(words[fact], name))} for fact in listed}
    alike = Counter(point for points in bearing.values() for point in points)
    graded = []
    for fact, points in bearing.items():
        critical = any(name in likely and alike[name, stance, mechanism] == 1 for name, stance, mechanism in points)
        graded.append({"fact": fact, "category": "critical" if critical else "important" if points else "other"})
    return json.dumps({"facts": graded})


def find_supporting(request: ChatRequest) -> str:
    """Reply with the supporting facts of each diagnosis."""
    return _clusters(request, "supports")


def find_refuting(request: ChatRequest) -> str:
    """Reply with the refuting facts of each diagnosis."""
    return _clusters(request, "refutes")


def _clusters(request: ChatRequest, wanted: str) -> str:
    clusters = []
    for name, _ in differential(request):
        stances = {fact: evidence(read(text), name) for fact, text in facts(request).items()}
        held = [(fact, stance[1]) for fact, stance in stances.items() if stance and stance[0] == wanted]
        named = [{"fact": fact, "explanation": mechanism} for fact, mechanism in held]
        clusters.append({"diagnosis": name, "facts": named})
    return json.dumps({"clusters": clusters})


def group_by_mechanism(request: ChatRequest) -> str:
    """Reply with the facts of one diagnosis grouped by mechanism, each group with the kind of most of its facts."""
    diagnosis = request.tag("diagnosis").strip()
    groups: dict[str, dict[str, str]] = {}
    for fact, text in facts(request).items():
        stance = evidence(read(text), diagnosis)
        groups.setdefault(stance[1] if stance else "not specific", {})[fact] = _kind(text)
    listed = [
        {"kind": Counter(held.values()).most_common(1)[0][0], "mechanism": name, "facts": list(held)}
        for name, held in groups.items()
    ]
    return json.dumps({"groups": listed})


_WORDS = vocabulary("judge")
_KINDS = {
    kind: re.compile(rf"\b{_WORDS[words]}\b", re.IGNORECASE)
    for kind, words in (("test", "test"), ("treatment", "treatment"), ("social", "circumstances"))
}


def _kind(fact: str) -> str:
    """Return what a fact is about: a drug is a treatment; a fact without words of a kind is a symptom."""
    if any(word.kind == "drug" for word in read(fact)):
        return "treatment"
    return next((kind for kind, words in _KINDS.items() if words.search(fact)), "symptom")
