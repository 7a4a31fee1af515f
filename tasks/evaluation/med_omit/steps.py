"""The steps of MED-OMIT that call the judge, but for clusters: facts, differential, importance, omissions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tasks.evaluation.med_omit.diagnosis_names import merged
from tasks.evaluation.med_omit.differential_difference import LIKELIHOODS, Likelihood
from tasks.evaluation.med_omit.fact_ids import fact_lines, number_facts
from tasks.evaluation.med_omit.fact_score import Category, Cluster
from tasks.evaluation.med_omit.replies import MAX_DIAGNOSES, Differential, Extent, Facts, Importances, Omissions
from tasks.llm.calls import Answer, Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.reply_length import tokens_needed
from tasks.text.comparison import COMPARISON

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
    lost_clusters: tuple[Failure, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """Each fact's text by its id."""
        return {name: text for name, (_, text) in self.facts.items()}


async def ask_about_each(
    ask: Ask,
    cases: Sequence[Case],
    kind: type[R],
    prompt: str,
    fields: Callable[[Case], dict[str, Any]],
    context: Callable[[Case], dict[str, Any]] | None = None,
) -> list[tuple[Case, R | None]]:
    """Ask one question about every case without a failure; a failed call becomes the case's failure.

    ``fields`` fill the prompt file ``prompt``, which also names the step; replies are checked against ``context``.
    """
    open_cases = [case for case in cases if case.failure is None]
    calls = []
    for case in open_cases:
        checked = context(case) if context else {}
        calls.append(step_call(case.key, prompt, kind, prompt, fields(case), checked))
    answers = dict(zip([case.key for case in open_cases], await ask(calls), strict=True))
    found: list[tuple[Case, R | None]] = []
    for case in cases:
        answer = answers.get(case.key)
        if answer is None:
            found.append((case, None))
        elif isinstance(answer.value, kind):
            found.append((case, answer.value))
        else:
            found.append((replace(case, failure=failed(case.key, prompt, answer)), None))
    return found


def step_call(
    key: str, step: str, kind: type[Reply], prompt: str, fields: Mapping[str, Any], context: Mapping[str, Any]
) -> Call:
    """The request of one step for one case."""
    messages = render("tasks.evaluation.med_omit", prompt, **fields)
    least = tokens_needed(messages[-1].content, times=2)  # replies repeat ids, and facts the text
    return Call(f"{key}/{step}", messages, reply=kind, context=context, least_tokens=least)


def failed(key: str, step: str, answer: Answer) -> Failure:
    """Why a step of a case has no score."""
    return Failure(key, step, answer.failure or "not the reply asked for", answer.raw or answer.text)


async def add_facts(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    """Add the numbered facts of each source to its case."""
    answers = await ask_about_each(ask, cases, Facts, "facts", lambda case: {"text": case.source})
    return [replace(case, facts=number_facts(value.model_dump())) if value else case for case, value in answers]


async def add_differential(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    """Add the differential of each source, with names in lower case and synonyms merged, to its case."""
    answers = await ask_about_each(ask, cases, Differential, "differential", lambda case: {"text": case.source})
    return [replace(case, differential=_differential(value)) if value else case for case, value in answers]


def _differential(value: Differential) -> dict[str, Likelihood]:
    return merged((one.diagnosis, one.likelihood) for one in value.diagnoses[:MAX_DIAGNOSES])


async def add_importance(ask: Ask, cases: Sequence[Case]) -> list[Case]:
    """Add a category for every fact to each case; a case without facts is not asked about."""
    with_facts = [case for case in cases if case.facts]
    answers = await ask_about_each(ask, with_facts, Importances, "importance", evidence_fields, shown_facts)
    graded = {}
    for case, value in answers:
        categories = {entry.fact: entry.category for entry in value.facts} if value else {}
        graded[case.key] = replace(case, categories=categories)
    return [graded.get(case.key, case) for case in cases]


def evidence_fields(case: Case) -> dict[str, Any]:
    """Facts and differential, as prompts show them: the most likely diagnoses first."""
    return {"facts": fact_lines(case.texts), "differential": by_likelihood(case.differential)}


def by_likelihood(differential: Mapping[str, Likelihood]) -> list[tuple[str, Likelihood]]:
    """The diagnoses of a differential with their likelihoods, the most likely first."""
    return sorted(differential.items(), key=lambda one: -LIKELIHOODS.index(one[1]))


def shown_facts(case: Case) -> dict[str, Any]:
    """The context of replies that name facts."""
    return {"facts": case.texts}


async def find_omissions(
    ask: Ask, cases: Sequence[Case], summaries: Mapping[str, str]
) -> tuple[dict[str, dict[str, Extent | None]], list[Failure]]:
    """Facts that each case's summary omits (id -> extent of the omission, if given), and the failed calls.

    A fact of which a part is missing is omitted (Section 3, "Fact Omission Detection"). An empty summary omits every
    fact; no call is made for it. Cases that failed before are skipped.
    """
    open_cases = [case for case in cases if case.failure is None]
    found: dict[str, dict[str, Extent | None]] = {}
    found |= {case.key: dict.fromkeys(case.facts, "whole") for case in open_cases if not summaries[case.key].strip()}
    asked = [case for case in open_cases if case.key not in found and case.facts]
    found |= {case.key: {} for case in open_cases if not case.facts}
    calls = []
    for case in asked:
        fields = {"facts": fact_lines(case.texts), "summary": summaries[case.key], "comparison": COMPARISON}
        calls.append(step_call(case.key, "omissions", Omissions, "omissions", fields, shown_facts(case)))
    failures = []
    for case, answer in zip(asked, await ask(calls), strict=True):
        if isinstance(answer.value, Omissions):
            found[case.key] = {one.fact: one.extent for one in answer.value.omitted}
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
