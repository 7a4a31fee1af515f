"""Evidence of a case: facts sorted by diagnosis, then grouped by mechanism into sub-clusters (MED-OMIT, Section 3)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tasks.evaluation.med_omit.diagnosis_names import DiagnosisNames
from tasks.evaluation.med_omit.fact_ids import fact_lines
from tasks.evaluation.med_omit.fact_score import Cluster
from tasks.evaluation.med_omit.replies import EvidenceClusters, Mechanisms
from tasks.evaluation.med_omit.steps import (
    Case,
    Failure,
    add_differential,
    add_facts,
    add_importance,
    ask_about_each,
    evidence_fields,
    failed,
    shown_facts,
    step_call,
)
from tasks.llm.calls import Ask, Call

Naming = Callable[[Sequence[str]], DiagnosisNames]
"""Makes the names of a differential recognisable."""
Stance = Literal["supports", "refutes"]


@dataclass(frozen=True)
class _Evidence:
    """The facts of a case that support (or refute) a diagnosis."""

    case: Case
    diagnosis: str
    stance: Stance
    facts: tuple[str, ...]

    @property
    def step(self) -> str:
        return f"mechanisms/{self.diagnosis}/{self.stance}"


async def build_cases(ask: Ask, sources: dict[str, str], naming: Naming) -> list[Case]:
    """Facts, differential, importance and clusters of each source (key -> text), in the order of ``sources``."""
    cases = [Case(key, source) for key, source in sources.items()]
    for step in (add_facts, add_differential, add_importance):
        cases = await step(ask, cases)
    return await _add_clusters(ask, cases, naming)


async def _add_clusters(ask: Ask, cases: Sequence[Case], naming: Naming) -> list[Case]:
    """Add sub-clusters. A failed call for the mechanisms loses its cluster, not the case."""

    def context(case: Case) -> dict[str, object]:
        return shown_facts(case) | {"diagnoses": naming(tuple(case.differential))}

    asked = [case for case in cases if case.facts and case.differential]
    found: list[tuple[Case, Stance, EvidenceClusters]] = []
    stances: tuple[Stance, ...] = ("supports", "refutes")
    for stance in stances:  # asked apart, as in the paper
        answers = await ask_about_each(ask, asked, EvidenceClusters, stance, evidence_fields, context)
        asked = [case for case, _ in answers]
        found += [(case, stance, value) for case, value in answers if value]
    whole = {case.key for case in asked if case.failure is None}
    evidence = [one for case, stance, value in found if case.key in whole for one in _evidence(case, stance, value)]
    subclusters, failures = await _split_by_mechanism(ask, evidence)
    clustered = {}
    for case in asked:
        own = tuple(cluster for one, cluster in subclusters if one.case.key == case.key)
        lost = tuple(failure for failure in failures if failure.key == case.key)
        clustered[case.key] = replace(case, clusters=own, lost_clusters=lost)
    return [clustered.get(case.key, case) for case in cases]


def _evidence(case: Case, stance: Stance, value: EvidenceClusters) -> Iterator[_Evidence]:
    for cluster in value.clusters:
        if cluster.facts:
            yield _Evidence(case, cluster.diagnosis, stance, tuple(dict.fromkeys(one.fact for one in cluster.facts)))


async def _split_by_mechanism(
    ask: Ask, evidence: Sequence[_Evidence]
) -> tuple[list[tuple[_Evidence, Cluster]], list[Failure]]:
    """Sub-clusters, each with its evidence, and the failed calls. A single fact is a sub-cluster without a call."""
    asked = [one for one in evidence if len(one.facts) > 1]
    answers = iter(await ask([_mechanism_call(one) for one in asked]))
    found: list[tuple[_Evidence, Cluster]] = []
    failures: list[Failure] = []
    for one in evidence:
        if len(one.facts) == 1:
            found.append((one, Cluster(one.diagnosis, one.stance, "single fact", frozenset(one.facts))))
            continue
        answer = next(answers)
        if isinstance(answer.value, Mechanisms):
            for group in answer.value.groups:
                if group.facts:
                    cluster = Cluster(one.diagnosis, one.stance, group.mechanism, frozenset(group.facts))
                    found.append((one, cluster))
        else:
            failures.append(failed(one.case.key, one.step, answer))
    return found, failures


def _mechanism_call(one: _Evidence) -> Call:
    facts = {fact: one.case.texts[fact] for fact in one.facts}
    fields = {"diagnosis": one.diagnosis, "stance": one.stance, "facts": fact_lines(facts)}
    return step_call(one.case.key, one.step, Mechanisms, "mechanisms", fields, {"facts": facts})
