"""The steps of MED-OMIT that call the judge: facts, differential, importance, clusters, sub-clusters, omissions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from tasks.evaluation.med_omit.differential_difference import Likelihood
from tasks.evaluation.med_omit.fact_score import Category, Cluster
from tasks.evaluation.med_omit.replies import (
    MAX_DIAGNOSES,
    Differential,
    EvidenceClusters,
    Facts,
    Importances,
    Mechanisms,
    Omissions,
    number_facts,
)
from tasks.llm.calls import Answer, Ask, Call, Reply
from tasks.llm.prompts import render

R = TypeVar("R", bound=Reply)


@dataclass(frozen=True)
class Failure:
    """A step of a case that could not be scored."""

    key: str
    step: str
    reason: str
    raw: str | None = None


@dataclass(frozen=True)
class Case:
    """A source with the judge's findings that depend on no summary. A case with a ``failure`` is not scored."""

    key: str
    source: str
    facts: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # id -> (kind, fact)
    differential: Mapping[str, Likelihood] = field(default_factory=dict)
    categories: Mapping[str, Category] = field(default_factory=dict)
    clusters: tuple[Cluster, ...] = ()
    failure: Failure | None = None


async def build_cases(ask: Ask, sources: Mapping[str, str]) -> list[Case]:
    """Facts, differential, importance and clusters of each source (key -> text), in the order of ``sources``."""
    cases = [Case(key, source) for key, source in sources.items()]
    for step in (add_facts, _add_differential, _add_importance, _add_clusters):
        cases = await step(ask, cases)
    return cases


async def _each(
    ask: Ask, cases: Sequence[Case], step: str, kind: type[R], prompt: str, **fields: Any
) -> list[tuple[Case, R | None]]:
    """Ask one question about every case without a failure; a failed call becomes the case's failure."""
    open_cases = [case for case in cases if case.failure is None]
    calls = [_call(case.key, step, kind, prompt, _fields(case, fields)) for case in open_cases]
    answers = dict(zip([case.key for case in open_cases], await ask(calls), strict=True))
    found: list[tuple[Case, R | None]] = []
    for case in cases:
        answer = answers.get(case.key)
        if answer is None:
            found.append((case, None))
        elif isinstance(answer.value, kind):
            found.append((case, answer.value))
        else:
            found.append((replace(case, failure=failed(case.key, step, answer)), None))
    return found


def _fields(case: Case, wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: make(case) for name, make in wanted.items()}


def _call(key: str, step: str, kind: type[Reply], prompt: str, fields: Mapping[str, Any]) -> Call:
    return Call(f"{key}/{step}", render("tasks.evaluation.med_omit", prompt, **fields), reply=kind)


def failed(key: str, step: str, answer: Answer) -> Failure:
    """Why a step of a case has no score."""
    return Failure(key, step, answer.failure or "not the reply asked for", answer.raw or answer.text)


async def add_facts(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    """Add the numbered facts of each source to its case."""
    answers = await _each(ask, cases, "facts", Facts, "facts", text=lambda case: case.source)
    return [replace(case, facts=number_facts(value.model_dump())) if value else case for case, value in answers]


async def _add_differential(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    answers = await _each(ask, cases, "differential", Differential, "differential", text=lambda case: case.source)
    return [replace(case, differential=_differential(value)) if value else case for case, value in answers]


def _differential(value: Differential) -> dict[str, Likelihood]:
    found: dict[str, Likelihood] = {}
    for diagnosis in value.diagnoses[:MAX_DIAGNOSES]:
        found.setdefault(diagnosis.diagnosis.strip().lower(), diagnosis.likelihood)
    return found


async def _add_importance(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    answers = await _each(
        ask,
        cases,
        "importance",
        Importances,
        "importance",
        facts=lambda case: fact_lines(case.facts),
        differential=lambda case: list(case.differential.items()),
    )
    made = []
    for case, value in answers:
        if value:
            given = {entry.fact: entry.category for entry in value.facts if entry.fact in case.facts}
            case = replace(case, categories=given)
        made.append(case)
    return made


async def _add_clusters(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    answers = await _each(
        ask,
        cases,
        "clusters",
        EvidenceClusters,
        "clusters",
        facts=lambda case: fact_lines(case.facts),
        differential=lambda case: list(case.differential.items()),
    )
    groups = [(case, evidence) for case, value in answers if value for evidence in _evidence(case, value)]
    split = await ask([_mechanism_call(case, *evidence) for case, evidence in groups])
    clusters: dict[str, list[Cluster]] = {case.key: [] for case in cases}
    failures: dict[str, Failure] = {}
    for (case, (diagnosis, stance, facts)), answer in zip(groups, split, strict=True):
        if isinstance(answer.value, Mechanisms):
            clusters[case.key].extend(_subclusters(diagnosis, stance, facts, answer.value))
        else:
            failures.setdefault(case.key, failed(case.key, "mechanisms", answer))
    return [
        replace(case, clusters=tuple(clusters[case.key]), failure=case.failure or failures.get(case.key))
        for case, _ in answers
    ]


def _evidence(case: Case, value: EvidenceClusters) -> Iterable[tuple[str, Literal["supports", "refutes"], list[str]]]:
    seen: set[str] = set()
    for evidence in value.clusters:
        name = evidence.diagnosis.strip().lower()
        if name not in case.differential or name in seen:
            continue
        seen.add(name)
        for stance, listed in (("supports", evidence.supports), ("refutes", evidence.refutes)):
            facts = [fact for fact in dict.fromkeys(listed) if fact in case.facts]
            if facts:
                yield name, stance, facts  # type: ignore[misc]


def _mechanism_call(case: Case, diagnosis: str, stance: str, facts: Sequence[str]) -> Call:
    fields = {
        "diagnosis": diagnosis,
        "stance": stance,
        "facts": fact_lines({fact: case.facts[fact] for fact in facts}),
    }
    return _call(case.key, f"mechanisms/{diagnosis}/{stance}", Mechanisms, "mechanisms", fields)


def _subclusters(
    diagnosis: str, stance: Literal["supports", "refutes"], facts: Sequence[str], value: Mechanisms
) -> list[Cluster]:
    found, left = [], set(facts)
    for group in value.groups:
        held = frozenset(group.facts) & left
        if held:
            found.append(Cluster(diagnosis, stance, group.mechanism, held))
            left -= held
    # A fact that the judge left out of all groups is still evidence, so it forms a sub-cluster of one.
    return found + [Cluster(diagnosis, stance, "not named", frozenset({fact})) for fact in sorted(left)]


def fact_lines(facts: Mapping[str, tuple[str, str]]) -> list[str]:
    """Facts as shown to the judge: ``F3: fact``."""
    return [f"{name}: {text}" for name, (_, text) in facts.items()]


async def find_omissions(
    ask: Ask, cases: Sequence[Case], summaries: Mapping[str, str]
) -> tuple[dict[str, list[str]], list[Failure]]:
    """Ids of the facts that each case's summary omits, wholly or in part (Section 3), and the failed calls.

    An empty summary omits every fact; no call is made for it. Cases that failed before are skipped.
    """
    open_cases = [case for case in cases if case.failure is None]
    found = {case.key: list(case.facts) for case in open_cases if not summaries[case.key].strip()}
    asked = [case for case in open_cases if case.key not in found and case.facts]
    found |= {case.key: [] for case in open_cases if not case.facts}
    calls = []
    for case in asked:
        fields = {"facts": fact_lines(case.facts), "summary": summaries[case.key]}
        calls.append(_call(case.key, "omissions", Omissions, "omissions", fields))
    failures = []
    for case, answer in zip(asked, await ask(calls), strict=True):
        if isinstance(answer.value, Omissions):
            found[case.key] = [fact for fact in dict.fromkeys(answer.value.omitted) if fact in case.facts]
        else:
            failures.append(failed(case.key, "omissions", answer))
    return found, failures


async def differentials(ask: Ask, texts: Mapping[str, str]) -> tuple[dict[str, dict[str, Likelihood]], list[Failure]]:
    """The differential of each text (key -> text) for `differential_difference`, and the failed calls."""
    calls = [
        Call(f"{key}/differential", render("tasks.evaluation.med_omit", "differential", text=text), reply=Differential)
        for key, text in texts.items()
    ]
    found, failures = {}, []
    for key, answer in zip(texts, await ask(calls), strict=True):
        if isinstance(answer.value, Differential):
            found[key] = _differential(answer.value)
        else:
            failures.append(failed(key, "differential", answer))
    return found, failures
