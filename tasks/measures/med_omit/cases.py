"""MED-OMIT's cases: what the judge finds in a source, in steps (Section 3), and what each summary omits of it.

Facts, a differential diagnosis, the importance of each fact, and evidence: facts that support or refute each diagnosis,
grouped by pathophysiological mechanism into sub-clusters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from tasks.llm.ask_all import Unscored, ask_all
from tasks.llm.calls import Ask, Call, Reply, unscored_row
from tasks.llm.printed import in_users_form
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.measures.med_omit.fact_score import (
    LIKELIHOODS,
    Category,
    Cluster,
    DiagnosisNames,
    Likelihood,
    Stance,
    merged,
)
from tasks.measures.med_omit.replies import (
    MAX_DIAGNOSES,
    Differential,
    EvidenceClusters,
    Facts,
    Importances,
    Mechanisms,
    Omissions,
    fact_lines,
    number_facts,
)
from tasks.text.sentences import COMPARISON

Naming = Callable[[Sequence[str]], DiagnosisNames]
"""Makes the names of a differential recognisable."""
Importance = Literal["differential", "note"]
"""What facts are graded for."""
Extent = Literal["whole", "part"]
"""How much of an omitted fact is missing."""
Extents = dict[str, Extent | None]
"""The extent of the omission of each judged fact; None for a fact that the summary includes."""
_EXTENTS: Mapping[str, Extent | None] = {"yes": None, "partly": "part", "no": "whole"}
"""Extents of the omission by `IncludedFact.included`."""


@dataclass(frozen=True)
class Case:
    """A source with the judge's findings that depend on no summary.

    ``evidence``: the facts that a diagnosis has for or against it. ``failure``: the unscored row of the step that
    failed; a case with facts is then scored without grades. ``lost_clusters``: those of the sub-clusters that could not
    be found, which the case does without.
    """

    key: str
    source: str
    facts: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # id -> (kind, fact)
    differential: Mapping[str, Likelihood] = field(default_factory=dict)
    categories: Mapping[str, Category] = field(default_factory=dict)
    evidence: Mapping[tuple[Stance, str], tuple[str, ...]] = field(default_factory=dict)
    clusters: tuple[Cluster, ...] = ()
    failure: Mapping[str, str | None] | None = None
    lost_clusters: tuple[Mapping[str, str | None], ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """Each fact's text by its id."""
        return {name: text for name, (_, text) in self.facts.items()}

    @property
    def ranked(self) -> list[tuple[str, Likelihood]]:
        """The diagnoses of the differential with their likelihoods, the most likely first."""
        return sorted(self.differential.items(), key=lambda one: -LIKELIHOODS.index(one[1]))


def cases_of(verdicts: pd.DataFrame) -> list[Case]:
    """A case without grades for each document with graded facts, whose source is not needed to judge summaries."""
    graded = verdicts[verdicts["metric"] == "importance"]
    return [
        Case(str(document), "", {one.unit: (one.kind, one.text) for one in own.itertuples()})
        for document, own in graded.groupby("document", sort=True)
    ]


async def build_cases(ask: Ask, sources: Mapping[str, str], naming: Naming, importance: Importance) -> list[Case]:
    """Facts, differential, importance and clusters of each source (key -> text), in the order of ``sources``."""
    cases = await add_facts(ask, [Case(key, source) for key, source in sources.items()])
    cases = await add_differential(ask, cases)
    return await add_clusters(ask, await add_importance(ask, cases, importance), naming)


async def _with_step(
    ask: Ask,
    cases: Sequence[Case],
    reply: type[Reply],
    prompt: str,
    read: Callable[[Case, Any], dict[str, Any]],
    fields: Callable[[Case], dict[str, Any]] = lambda case: {"text": case.source},
    context: Callable[[Case], dict[str, Any]] = lambda case: {"facts": case.texts},
    *,
    asked: Callable[[Case], object] = lambda case: True,
    times: float = 2,
) -> list[Case]:
    """The cases with what ``read`` makes of the replies to one question, or its failure.

    The question is asked about each case without a failure for which ``asked`` is true. ``fields`` fill the prompt file
    ``prompt``, which also names the step; replies are checked against ``context``, and may be ``times`` as long as the
    request.
    """
    calls = {
        case.key: _call(f"{case.key}/{prompt}", prompt, reply, fields(case), context(case), times)
        for case in cases
        if case.failure is None and asked(case)
    }
    values, unscored = await ask_all(ask, calls, reply, prompt)
    failures = {str(row["record"]): row for row in unscored}
    read_of = {case.key: read(case, values[case.key]) for case in cases if case.key in values}
    return [replace(one, **read_of.get(one.key, {}), failure=failures.get(one.key, one.failure)) for one in cases]


def _call(
    key: str, prompt: str, reply: type[Reply], fields: Mapping[str, Any], context: Mapping[str, Any], times: float = 2
) -> Call:
    messages = render(__package__, prompt, **fields)
    least = tokens_needed(messages[-1].content, times)  # replies repeat ids, and facts the text
    call = Call(key, messages, reply=reply, context=context, least_tokens=least)
    return in_users_form(call, __package__, prompt)


async def add_facts(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    """Add the numbered facts of each source to its case."""
    return await _with_step(ask, cases, Facts, "facts", lambda _, found: {"facts": number_facts(found.model_dump())})


async def add_differential(ask: Ask, cases: Sequence[Case], *, times: float = 2) -> list[Case]:
    """Add the differential of each source, with names in lower case and synonyms merged, to its case."""

    def read(_: Case, found: Differential) -> dict[str, Any]:
        listed = found.diagnoses[:MAX_DIAGNOSES]
        return {"differential": merged((one.diagnosis, one.likelihood) for one in listed)}

    return await _with_step(ask, cases, Differential, "differential", read, times=times)


def _shown(case: Case) -> dict[str, Any]:
    """Facts and differential, as prompts show them: the most likely diagnoses first."""
    return {"facts": fact_lines(case.texts), "differential": case.ranked}


async def add_importance(ask: Ask, cases: Sequence[Case], importance: Importance = "differential") -> list[Case]:
    """Add a category for every fact to each case; a case without facts is not asked about.

    ``importance``: by what a fact contributes to the differential, as in the paper, or by how much a note needs it.
    """

    def read(_: Case, found: Importances) -> dict[str, Any]:
        return {"categories": {one.fact: one.category for one in found.facts}}

    prompt = "importance_note" if importance == "note" else "importance"
    return await _with_step(ask, cases, Importances, prompt, read, _shown, asked=lambda case: case.facts)


async def add_clusters(ask: Ask, cases: Sequence[Case], naming: Naming) -> list[Case]:
    """Add sub-clusters to each case. A failed call for the mechanisms loses its cluster, not the case."""

    def context(case: Case) -> dict[str, object]:
        return {"facts": case.texts, "diagnoses": naming(tuple(case.differential))}

    def has_both(case: Case) -> bool:
        return bool(case.facts and case.differential)

    stances: tuple[Stance, ...] = ("supports", "refutes")
    for stance in stances:  # asked apart, as in the paper

        def read(case: Case, found: EvidenceClusters, stance: Stance = stance) -> dict[str, Any]:
            of = {(stance, one.diagnosis): [fact.fact for fact in one.facts] for one in found.clusters if one.facts}
            return {"evidence": {**case.evidence, **{place: tuple(dict.fromkeys(own)) for place, own in of.items()}}}

        cases = await _with_step(ask, cases, EvidenceClusters, stance, read, _shown, context, asked=has_both)
    return await _split_by_mechanism(ask, cases)


async def _split_by_mechanism(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    """Add the sub-clusters of the evidence to each case. A single fact is a sub-cluster without a call."""
    evidence, calls = {}, {}
    for case in cases:
        for (stance, diagnosis), listed in case.evidence.items() if case.failure is None else ():
            evidence[case.key, stance, diagnosis] = listed
            facts = {fact: case.texts[fact] for fact in listed}
            fields = {"diagnosis": diagnosis, "stance": stance, "facts": fact_lines(facts)}
            if len(listed) > 1:
                key = f"{case.key}/mechanisms/{diagnosis}/{stance}"
                calls[case.key, stance, diagnosis] = _call(key, "mechanisms", Mechanisms, fields, {"facts": facts})
    found, unscored = await ask_all(ask, calls, Mechanisms, lambda place: f"mechanisms/{place[2]}/{place[1]}")
    clusters: dict[str, list[Cluster]] = {case.key: [] for case in cases}
    for (key, stance, diagnosis), listed in evidence.items():
        groups: list[tuple[str, Sequence[str]]] = [("single fact", listed)] if len(listed) == 1 else []
        if (key, stance, diagnosis) in found:
            groups = [(one.mechanism, one.facts) for one in found[key, stance, diagnosis].groups if one.facts]
        clusters[key] += [Cluster(diagnosis, stance, name, frozenset(facts)) for name, facts in groups]
    lost = {case.key: tuple(row for row in unscored if row["record"] == case.key) for case in cases}
    return [replace(one, clusters=tuple(clusters[one.key]), lost_clusters=lost[one.key]) for one in cases]


async def find_omissions(
    ask: Ask, cases: Sequence[Case], summaries: Mapping[str, str]
) -> tuple[dict[str, Extents], Unscored]:
    """The verdicts on the facts of each case by key, and unscored rows of failed calls and of facts without a verdict.

    A fact of which a part is missing is omitted (Section 3, "Fact Omission Detection"). An empty summary omits every
    fact; no call is made for it. Cases whose facts could not be listed are skipped; failed grades are no obstacle.
    """
    found: dict[str, Extents] = {}
    calls = {}
    for case in (one for one in cases if one.facts or one.failure is None):
        summary = summaries[case.key]
        if summary.strip() and case.facts:
            fields = {"facts": fact_lines(case.texts), "summary": summary, "comparison": COMPARISON}
            context = {"facts": case.texts}
            calls[case.key] = _call(f"{case.key}/omissions", "omissions", Omissions, fields, context, times=3)
        else:
            found[case.key] = dict.fromkeys(case.facts, "whole")
    replies, unscored = await ask_all(ask, calls, Omissions, "omissions")
    for case in (one for one in cases if one.key in replies):
        own = found[case.key] = {one.fact: _EXTENTS[one.included] for one in replies[case.key].facts}
        if skipped := [fact for fact in case.facts if fact not in own]:
            reason = f"{len(skipped)} of {len(case.facts)} facts without a verdict"
            unscored.append(unscored_row(case.key, "omissions", reason, ", ".join(skipped)))
    return found, unscored
