"""MED-OMIT's cases: what the judge finds in a source, in steps (Section 3), and what each summary omits of it.

Facts, a differential diagnosis, the importance of each fact, and evidence: facts that support or refute each diagnosis,
grouped by pathophysiological mechanism into sub-clusters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

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

R = TypeVar("R", bound=Reply)
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

    ``failure``: the unscored row of the step that failed; a case with facts is then scored without grades.
    ``lost_clusters``: those of the sub-clusters that could not be found, which the case does without.
    """

    key: str
    source: str
    facts: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # id -> (kind, fact)
    differential: Mapping[str, Likelihood] = field(default_factory=dict)
    categories: Mapping[str, Category] = field(default_factory=dict)
    clusters: tuple[Cluster, ...] = ()
    failure: Mapping[str, str | None] | None = None
    lost_clusters: tuple[Mapping[str, str | None], ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """Each fact's text by its id."""
        return {name: text for name, (_, text) in self.facts.items()}

    @property
    def is_listed(self) -> bool:
        """Whether the facts are known; a step after their listing may have failed."""
        return self.failure is None or bool(self.facts)

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


async def _ask_about(
    ask: Ask,
    cases: Sequence[Case],
    reply: type[R],
    prompt: str,
    fields: Callable[[Case], dict[str, Any]],
    context: Callable[[Case], dict[str, Any]] = lambda case: {},
    *,
    times: float = 2,
) -> tuple[dict[str, R], dict[str, Mapping[str, str | None]]]:
    """Ask one question about every case without a failure: replies and unscored rows by key.

    ``fields`` fill the prompt file ``prompt``, which also names the step; replies are checked against ``context``, and
    may be ``times`` as long as the request.
    """
    calls = {
        case.key: _call(f"{case.key}/{prompt}", prompt, reply, fields(case), context(case), times)
        for case in cases
        if case.failure is None
    }
    values, unscored = await ask_all(ask, calls, reply, prompt)
    return values, {str(row["record"]): row for row in unscored}


def _call(
    key: str, prompt: str, reply: type[Reply], fields: Mapping[str, Any], context: Mapping[str, Any], times: float = 2
) -> Call:
    messages = render(__package__, prompt, **fields)
    least = tokens_needed(messages[-1].content, times)  # replies repeat ids, and facts the text
    call = Call(key, messages, reply=reply, context=context, least_tokens=least)
    return in_users_form(call, __package__, prompt)


def _with_failures(cases: Sequence[Case], failures: Mapping[str, Mapping[str, str | None]]) -> list[Case]:
    return [replace(case, failure=failures.get(case.key, case.failure)) for case in cases]


async def add_facts(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    """Add the numbered facts of each source to its case."""
    found, failures = await _ask_about(ask, cases, Facts, "facts", lambda case: {"text": case.source})
    listed = {key: number_facts(value.model_dump()) for key, value in found.items()}
    return [replace(case, facts=listed.get(case.key, {})) for case in _with_failures(cases, failures)]


async def add_differential(ask: Ask, cases: Sequence[Case], *, times: float = 2) -> list[Case]:
    """Add the differential of each source, with names in lower case and synonyms merged, to its case."""
    found, failures = await _ask_about(
        ask, cases, Differential, "differential", lambda case: {"text": case.source}, times=times
    )
    named = {
        key: merged((one.diagnosis, one.likelihood) for one in value.diagnoses[:MAX_DIAGNOSES])
        for key, value in found.items()
    }
    return [replace(case, differential=named.get(case.key, {})) for case in _with_failures(cases, failures)]


def _shown(case: Case) -> dict[str, Any]:
    """Facts and differential, as prompts show them: the most likely diagnoses first."""
    return {"facts": fact_lines(case.texts), "differential": case.ranked}


def _facts_context(case: Case) -> dict[str, Any]:
    """The context of replies that name facts."""
    return {"facts": case.texts}


async def add_importance(ask: Ask, cases: Sequence[Case], importance: Importance = "differential") -> list[Case]:
    """Add a category for every fact to each case; a case without facts is not asked about.

    ``importance``: by what a fact contributes to the differential, as in the paper, or by how much a note needs it.
    """
    asked = [case for case in cases if case.facts]
    prompt = "importance_note" if importance == "note" else "importance"
    found, failures = await _ask_about(ask, asked, Importances, prompt, _shown, _facts_context)
    graded = {key: {entry.fact: entry.category for entry in value.facts} for key, value in found.items()}
    return [replace(case, categories=graded.get(case.key, {})) for case in _with_failures(cases, failures)]


async def add_clusters(ask: Ask, cases: Sequence[Case], naming: Naming) -> list[Case]:
    """Add sub-clusters to each case. A failed call for the mechanisms loses its cluster, not the case."""

    def context(case: Case) -> dict[str, object]:
        return _facts_context(case) | {"diagnoses": naming(tuple(case.differential))}

    stances: tuple[Stance, ...] = ("supports", "refutes")
    found: dict[Stance, dict[str, EvidenceClusters]] = {}
    for stance in stances:  # asked apart, as in the paper
        asked = [case for case in cases if case.facts and case.differential]
        found[stance], failures = await _ask_about(ask, asked, EvidenceClusters, stance, _shown, context)
        cases = _with_failures(cases, failures)
    clusters = {
        (case.key, stance, cluster.diagnosis): tuple(dict.fromkeys(one.fact for one in cluster.facts))
        for case in cases
        if case.failure is None
        for stance in stances
        if case.key in found[stance]
        for cluster in found[stance][case.key].clusters
        if cluster.facts
    }
    split, unscored = await _split_by_mechanism(ask, {case.key: case for case in cases}, clusters)
    return [
        replace(
            case,
            clusters=tuple(one for key, ones in split.items() if key[0] == case.key for one in ones),
            lost_clusters=tuple(row for row in unscored if row["record"] == case.key),
        )
        for case in cases
    ]


async def _split_by_mechanism(
    ask: Ask, cases: Mapping[str, Case], clusters: Mapping[tuple[str, Stance, str], tuple[str, ...]]
) -> tuple[dict[tuple[str, Stance, str], list[Cluster]], Unscored]:
    """Sub-clusters of the facts by case, stance and diagnosis. A single fact is a sub-cluster without a call."""
    calls = {}
    for (key, stance, diagnosis), listed in clusters.items():
        if len(listed) > 1:
            facts = {fact: cases[key].texts[fact] for fact in listed}
            fields = {"diagnosis": diagnosis, "stance": stance, "facts": fact_lines(facts)}
            place = f"{key}/mechanisms/{diagnosis}/{stance}"
            calls[key, stance, diagnosis] = _call(place, "mechanisms", Mechanisms, fields, {"facts": facts})
    found, unscored = await ask_all(ask, calls, Mechanisms, lambda place: f"mechanisms/{place[2]}/{place[1]}")
    split = {}
    for (key, stance, diagnosis), listed in clusters.items():
        groups: list[tuple[str, tuple[str, ...]]] = [("single fact", listed)] if len(listed) == 1 else []
        if (key, stance, diagnosis) in found:
            groups = [(one.mechanism, tuple(one.facts)) for one in found[key, stance, diagnosis].groups if one.facts]
        split[key, stance, diagnosis] = [Cluster(diagnosis, stance, name, frozenset(facts)) for name, facts in groups]
    return split, unscored


async def find_omissions(
    ask: Ask, cases: Sequence[Case], summaries: Mapping[str, str]
) -> tuple[dict[str, Extents], Unscored]:
    """The verdicts on the facts of each case by key, and unscored rows of failed calls and of facts without a verdict.

    A fact of which a part is missing is omitted (Section 3, "Fact Omission Detection"). An empty summary omits every
    fact; no call is made for it. Cases whose facts could not be listed are skipped; failed grades are no obstacle.
    """
    scored = [replace(case, failure=None) for case in cases if case.is_listed]
    empty = [case for case in scored if not summaries[case.key].strip() or not case.facts]
    found: dict[str, Extents] = {case.key: dict.fromkeys(case.facts, "whole") for case in empty}

    def fields(case: Case) -> dict[str, Any]:
        return {"facts": fact_lines(case.texts), "summary": summaries[case.key], "comparison": COMPARISON}

    asked = [case for case in scored if case.key not in found]
    replies, failures = await _ask_about(ask, asked, Omissions, "omissions", fields, _facts_context, times=3)
    found |= {key: {one.fact: _EXTENTS[one.included] for one in value.facts} for key, value in replies.items()}
    unscored = [dict(row) for row in failures.values()]
    for case in asked:
        if case.key in found and (skipped := [fact for fact in case.facts if fact not in found[case.key]]):
            reason = f"{len(skipped)} of {len(case.facts)} facts without a verdict"
            unscored.append(unscored_row(case.key, "omissions", reason, ", ".join(skipped)))
    return found, unscored
