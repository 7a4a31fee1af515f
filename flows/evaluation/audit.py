"""`vignette audit`: the texts and cases of a card, a judge's verdicts on them, and its cost."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import pandas as pd

from flows.evaluation.models import CommandRun, estimated, require_confirmed, run_blocking
from flows.evaluation.roles import JUDGE_ROLES, with_judge
from flows.runtime.costs import Line
from flows.runtime.domain import load_domain
from schemas.errors import ParamsError, SourceError
from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.evaluate import CASES, VERDICTS
from tasks.audit.cases import AGAIN, FILLER, VARIED, make_cases
from tasks.audit.claims import KINDS
from tasks.audit.practice import Practice
from tasks.audit.trials import (
    Nobody,
    Rows,
    Take,
    ground_claims,
    judge_answers,
    judge_citations,
    judge_claims,
    judge_consistency,
    judge_omissions,
)
from tasks.domains.in_use import data_of, in_domain
from tasks.domains.rules import rules_of
from tasks.judges.judges_compared import CountedAsk
from tasks.judges.simulated_notes import write_gold
from tasks.llm.calls import Ask
from tasks.measures.doclens.evaluators import make_evaluator
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.texts.reading import read_documents

CLAIMS = 2000
"""Claims of a card by default, with which every kind that most texts allow has 30 cases or more."""
NOTES, FEWEST_NOTES = 400, 30
"""Notes of the simulator that cases are made of by default, where no texts are given, and the fewest."""
LONG, FACTS, EACH = 60, 30, 30
"""By default: texts whose omissions and citations are judged, questions, and notes with each kind of contradiction."""
TASKS = ("claims", "grounding", "omissions", "citations", "answers", "consistency")
WITH_RECORDS = ("answers", "consistency")
"""Tasks that need notes whose record is known."""
STAGE = "audit"


@dataclass(frozen=True)
class Audit:
    """What a judge is asked: ``cases`` (CASES), and tasks made of ``texts`` (by document) and of ``prompts``.

    ``prompts``: the simulator's prompts of the texts, None for a user's own. ``takes``: how often the same is asked.
    ``size``: the number of cases over that of a card by default, by which each task is scaled.
    """

    texts: Mapping[str, str]
    cases: pd.DataFrame
    tasks: Sequence[str]
    takes: int = 1
    prompts: pd.DataFrame | None = None
    size: float = 1.0

    def scaled(self, number: int) -> int:
        """A number of the default card in proportion, at least 1."""
        return max(ceil(number * self.size), 1)


def make_audit(
    file: Path | None, params: Params, *, cases: int, tasks: Sequence[str] | None = None, takes: int = 1
) -> Audit:
    """The audit of texts of a file, references or else sources, or of the simulator's notes; by default of all tasks.

    Raises SourceError for texts that no claim can be planted into, ParamsError for a task that needs the simulator's
    notes.
    """
    size = cases / CLAIMS
    prompts = None
    possible = [task for task in TASKS if file is None or task not in WITH_RECORDS]
    if tasks is not None and (lacking := [task for task in tasks if task not in possible]):
        raise ParamsError(
            f"--tasks {lacking[0]}: needs notes whose record is known, as the simulator's are; leave out --texts, or "
            f"choose of {', '.join(possible)}"
        )
    if file is None:
        prompts = prompts_of(params, max(ceil(NOTES * min(size, 1.0)), FEWEST_NOTES))
    texts = written(prompts, params) if prompts is not None else _read(file)
    return Audit(texts, cases_of(texts, params, cases=cases), tasks or possible, takes, prompts, size)


def _read(file: Path | None) -> dict[str, str]:
    documents = read_documents(file, {}, {}).documents if file is not None else []
    return {one.id: one.reference or one.text for one in documents}


def prompts_of(params: Params, notes: int) -> pd.DataFrame:
    """The simulator's prompts for ``notes`` records of the domain and seed."""
    domain = load_domain(params.domain)
    with in_domain(params.domain):
        return build_prompts(sample(domain.network, notes, params.seed), domain.network, domain.wording, params.seed)


def written(prompts: pd.DataFrame, params: Params) -> dict[str, str]:
    """The simulator's notes for these prompts, by record."""
    with in_domain(params.domain):
        return {str(record): note.text for record, note in write_gold(prompts).normal.items()}


def cases_of(texts: Mapping[str, str], params: Params, *, cases: int, varied: int | None = None) -> pd.DataFrame:
    """CASES of the texts, of all kinds. Raises SourceError for texts that no claim can be planted into."""
    symptoms, most = rules_of(params.domain).symptom_labels, ceil(VARIED * cases) if varied is None else varied
    try:
        return make_cases(texts, symptoms, cases=cases, seed=params.seed, varied=most, kinds=KINDS)
    except ValueError as error:
        raise SourceError(f"--texts: {error}") from error


async def verdicts_of(run: CommandRun, audit: Audit) -> tuple[pd.DataFrame, Practice]:
    """VERDICTS of the run's judge on all cases, their variants and further takes, and what they took."""
    await run.identify(JUDGE_ROLES)
    asks, began = [CountedAsk(run.ask(role)) for role in JUDGE_ROLES], time.monotonic()
    rows = await answers_of(audit, run.params, *asks)
    run.require_answers()
    frame = typed(pd.DataFrame(rows).assign(judge=asks[0].label).to_dict("records"), VERDICTS)
    practice = Practice(len(frame), sum(ask.calls for ask in asks), run.used(), time.monotonic() - began)
    return frame.sort_values(["case", "factor"], ignore_index=True), practice


def all_cases(audit: Audit, params: Params) -> pd.DataFrame:
    """CASES of all tasks, in the order in which a judge is asked; the same whoever judges."""
    rows = asyncio.run(answers_of(audit, params, Nobody(), Nobody(), fillers=True))
    return typed(rows, CASES)


async def answers_of(audit: Audit, params: Params, ask: Ask, checks: Ask, *, fillers: bool = False) -> Rows:
    """Rows of VERDICTS with the columns of CASES on every task; ``checks`` answers whether notes contradict records.

    ``fillers``: with the claims that only fill a call.
    """
    seed, evaluator = params.seed, make_evaluator(params.doclens, ask)
    fewer = {name: audit.texts[name] for name in sorted(audit.texts)[: audit.scaled(LONG)]}
    rows: Rows = []
    if "claims" in audit.tasks:
        rows += await judge_claims(evaluator, audit.cases)
        varied = audit.cases.loc[audit.cases["factor"] != "", "case"].unique()
        same = audit.cases[(audit.cases["factor"] == "") & audit.cases["case"].isin(varied)]
        for take in range(2, audit.takes + 1):
            other = make_evaluator(params.doclens, Take(ask, take))
            rows += await judge_claims(other, _again(same, take))
    if "grounding" in audit.tasks:
        plain = audit.cases[audit.cases["factor"] == ""]
        rows += await ground_claims(ask, plain, params.doclens.claims_a_call)
    if "omissions" in audit.tasks:
        rows += await judge_omissions(ask, fewer, removed=params.calibrate.facts, seed=seed)
    if "citations" in audit.tasks:
        rows += await judge_citations(evaluator, fewer, seed=seed)
    if audit.prompts is not None:
        rules = rules_of(params.domain)
        with in_domain(params.domain):
            if "answers" in audit.tasks:
                words = rules.labels, data_of(params.domain, "near_synonyms") or ()
                asked = audit.scaled(FACTS)
                rows += await judge_answers(ask, audit.prompts, *words, params.note_qa, asked=asked, seed=seed)
            if "consistency" in audit.tasks:
                each = audit.scaled(EACH)
                rows += await judge_consistency(checks, audit.prompts, each=each, seed=seed)
    return [row for row in rows if fillers or row["task"] != FILLER]


def _again(cases: pd.DataFrame, take: int) -> pd.DataFrame:
    """The same cases asked another time, under ids and calls of their own."""
    factor = f"{AGAIN}, take {take}"
    named = {name: cases[name] + factor for name in ("id", "call")}
    return cases.assign(factor=factor, pair=cases["id"], **named)


async def audit_cost(params: Params, audit: Audit) -> list[Line]:
    """Calls, tokens and dollars of an audit by the judge, counted in a rehearsal with the simulator."""
    return await estimated(params, STAGE, JUDGE_ROLES, lambda run: verdicts_of(run, audit))


def judges_of(params: Params, judges: Sequence[str]) -> list[Params]:
    """``params`` with each of the judges. Raises ParamsError for two that are the same model at the same endpoint."""
    every = [with_judge(params, judge) for judge in judges]
    models = [(one.roles["judge"].base_url, one.roles["judge"].model) for one in every]
    for place, model in enumerate(models):
        if model in models[:place]:
            raise ParamsError(
                f"judge {judges[place]}: the same model as {judges[models.index(model)]}; name each judge once (how "
                "often its answers change is measured with --takes)"
            )
    return every


def judged(every: Sequence[Params], made: Audit, *, confirmed: bool) -> tuple[pd.DataFrame, dict[str, Practice]]:
    """The judges' VERDICTS, and what they took by judge; every answered call is kept, so that an audit resumes.

    Endpoints that answer to one name get a number. Raises BudgetError before the first call of an audit that may cost
    more than ``budget.confirm_above_dollars``, unless ``confirmed``.
    """
    paid = [one for one in every if not one.roles["judge"].is_simulator]

    def lines() -> list[Line]:
        return [line for one in paid for line in run_blocking(audit_cost(one, made))]

    if paid and not confirmed:
        require_confirmed(every[0], lines, "this audit", "use --yes (from Python: confirmed=True)")

    async def run(params: Params) -> tuple[pd.DataFrame, Practice]:
        asked = CommandRun(params)
        try:
            return await verdicts_of(asked, made)
        finally:
            await asked.close()

    parts, practice = [], dict[str, Practice]()
    for params in every:
        verdicts, took = run_blocking(run(params))
        label = name = str(verdicts["judge"].iloc[0])
        while name in practice:
            name = f"{label} ({len(practice) + 1})"
        practice[name] = took
        parts.append(verdicts.assign(judge=name))
    return pd.concat(parts, ignore_index=True), practice
