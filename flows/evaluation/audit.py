"""`vignette audit`: the texts and cases of a card, a judge's verdicts on them, and its cost."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import ceil
from pathlib import Path

import pandas as pd

from flows.evaluation.judges import JUDGE_ROLES
from flows.evaluation.models import CommandRun, rehearse, run_blocking
from flows.repository.params import confirmation_limit
from flows.runtime.costs import Line, identified, priced, require_affordable
from flows.runtime.domain import load_domain
from flows.runtime.sources import VARIABLE, sources_folder
from schemas.errors import MissingSourceError, ParamsError, SourceError, did_you_mean
from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.evaluate import CASES
from schemas.tables.verdicts import verdict_table
from tasks.audit.card import STAGE, Practice
from tasks.audit.cases import AGAIN, FILLER, VARIED, make_cases, opaque
from tasks.audit.errors import ErrorText, drawn_texts, error_texts, judge_errors
from tasks.audit.people import FURTHER, OF_PEOPLE, PeopleSet, agreement_rows, judge_set, people_sets
from tasks.audit.people import STAGE as WITH_PEOPLE
from tasks.audit.trials import ON_CARD, Nobody, Rows, Take, judge_cases, judge_claims
from tasks.domains.in_use import in_domain
from tasks.judges.cases import Given
from tasks.judges.simulated_notes import write_gold
from tasks.llm.calls import Ask
from tasks.llm.costs import CountedAsk, Estimate
from tasks.measures.cases import CASES_OF
from tasks.measures.described import OF_OUTPUTS
from tasks.measures.doclens.planted import make_claims
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.reporting.evaluation_text import RULES
from tasks.statistics.metric_rows import Row, metric_table
from tasks.texts.files import read_rows
from tasks.texts.judged_units import K_QA, STATEMENTS
from tasks.texts.reading import read_documents

CLAIMS = 2000
"""Claims of a card by default, with which every kind that most texts allow has 30 cases or more."""
NOTES, FEWEST_NOTES = 400, 30
"""Notes of the simulator that cases are made of by default, where no texts are given, and the fewest."""
LONG = 60
"""By default: texts of which cases other than claims are made."""
ERRORS = "errors"
TASKS = (*ON_CARD, ERRORS)
MEDEC, ERROR_TEXTS = "medec/validation.csv", 319
"""File of errors that people made, in the folder of outside data, and how many of its texts are judged by default."""
REPLY_TOKENS = 60
"""Tokens of a reply about an error, for estimates."""
NO_RULE = (
    "errors: the simulator's rules know no rule for errors that people made; name a language model to have it tested"
)


@dataclass(frozen=True)
class Audit:
    """What a judge is asked: ``cases`` (CASES), and tasks made of ``texts`` (by document) and of ``prompts``.

    ``prompts``: the simulator's prompts of the texts, None for a user's own. ``takes``: how often the same is asked.
    ``size``: the number of cases over that of a card by default, by which each task is scaled. ``errors``: texts with
    errors that people made; ``people``: sets of people's verdicts on units. ``left_out``: why a task that was
    asked for is not among ``tasks``, and what of the texts' file was assumed or is not read.
    """

    texts: Mapping[str, str]
    cases: pd.DataFrame
    tasks: Sequence[str]
    takes: int = 1
    prompts: pd.DataFrame | None = None
    size: float = 1.0
    errors: Sequence[ErrorText] = ()
    left_out: Sequence[str] = ()
    people: Sequence[PeopleSet] = ()

    def given(self, params: Params) -> Given:
        """What cases other than claims are made of."""
        whole = Given(self.texts, params, self.prompts, card=True, size=self.size)
        return replace(whole, texts={name: self.texts[name] for name in sorted(self.texts)[: whole.scaled(LONG)]})


def tasks_of(file: Path | None, tasks: Sequence[str] | None) -> list[str]:
    """The tasks of an audit, by default those that the texts of ``file``, or the simulator's notes, allow.

    Raises ParamsError for one that is none, or that they do not allow.
    """
    if unknown := [task for task in tasks or () if task not in TASKS]:
        raise ParamsError(f"--tasks {unknown[0]}: expected some of {', '.join(TASKS)}{did_you_mean(unknown[0], TASKS)}")
    possible = [task for task in TASKS if file is None or task == ERRORS or not ON_CARD[task].of_records]
    if lacking := [task for task in tasks or () if task not in possible]:
        raise ParamsError(
            f"--tasks {lacking[0]}: needs notes whose record is known, as the simulator's are; leave out --texts, or "
            f"choose of {', '.join(possible)}"
        )
    by_default = [task for task in possible if task != ERRORS]  # of public texts, which a model may have seen
    return list(tasks or by_default)


def make_audit(
    file: Path | None,
    params: Params,
    mapping: Mapping[str, str] | None = None,
    *,
    cases: int,
    tasks: Sequence[str] | None = None,
    takes: int = 1,
    people: Path | None = None,
    encoding: str | None = None,
) -> Audit:
    """The audit of texts of a file, references or else sources, or of the simulator's notes.

    ``mapping``: column of the file by field; ``encoding``: of a file that is not UTF-8; ``tasks``: as of `tasks_of`;
    ``people``: folder with people's verdicts.
    Raises SourceError for one without any, and for texts that no claim can be planted into.
    """
    size, chosen = cases / CLAIMS, tasks_of(file, tasks)
    errors, left_out, sets = list[ErrorText](), list[str](), people_sets(people)
    if people is not None and not sets:
        raise SourceError(f"--people {people}: no {K_QA} or {STATEMENTS} in it; see docs/outside-data.md")
    if ERRORS in chosen:
        try:
            errors = drawn_texts(_errors(params), max(ceil(ERROR_TEXTS * size), 1), seed=params.seed)
        except MissingSourceError as error:
            left_out.append(f"errors: left out: {error}")
            chosen.remove(ERRORS)
            if not chosen:
                raise
    if chosen == [ERRORS]:
        if file is not None:
            raise ParamsError("--texts: has no effect with --tasks errors; leave it out, or name further tasks")
        return Audit({}, typed([], CASES), chosen, takes, None, size, errors, (), sets)
    prompts = None if file is not None else prompts_of(params, max(ceil(NOTES * min(size, 1.0)), FEWEST_NOTES))
    if prompts is not None:
        texts = written(prompts, params)
    else:
        read = read_documents(Path(str(file)), mapping=mapping, encoding=encoding)
        texts, left_out = {one.id: one.reference or one.text for one in read.documents}, [*left_out, *read.notes]
    return Audit(texts, cases_of(texts, params, cases=cases), chosen, takes, prompts, size, errors, left_out, sets)


def _errors(params: Params) -> list[ErrorText]:
    """MEDEC's texts with an error. Raises MissingSourceError without the file, SourceError for another one."""
    folder = sources_folder(params.sources.folder, [])
    if folder is None:
        raise MissingSourceError(f"no folder of outside data; set {VARIABLE} or sources.folder to one with {MEDEC}")
    file = folder / MEDEC
    try:
        return error_texts(row.values for row in read_rows(file).rows)
    except ValueError as error:
        raise SourceError(f"{file}: {error}") from error


def prompts_of(params: Params, notes: int) -> pd.DataFrame:
    """The simulator's prompts for ``notes`` records of the domain and seed."""
    domain = load_domain(params.domain)
    with in_domain(params.domain):
        return build_prompts(sample(domain.network, notes, params.seed), domain.network, domain.wording, params.seed)


def written(prompts: pd.DataFrame, params: Params) -> dict[str, str]:
    """The simulator's notes for these prompts, by record."""
    with in_domain(params.domain):
        return {str(record): note.text for record, note in write_gold(prompts)["normal"].items()}


def cases_of(texts: Mapping[str, str], params: Params, *, cases: int, varied: int | None = None) -> pd.DataFrame:
    """CASES of the texts, of all kinds. Raises SourceError for texts that no claim can be planted into."""
    most, claims = ceil(VARIED * cases) if varied is None else varied, make_claims(Given(texts, params, card=True))
    try:
        return make_cases(claims, cases=cases, seed=params.seed, varied=most)
    except ValueError as error:
        raise SourceError(f"--texts: {error}") from error


async def verdicts_of(run: CommandRun, audit: Audit) -> tuple[pd.DataFrame, Practice]:
    """VERDICTS of the run's judge on all cases, their variants and further takes, and what they took."""
    await run.identify(JUDGE_ROLES)
    asks, began = [CountedAsk(run.ask(role)) for role in JUDGE_ROLES], time.monotonic()
    reader = Nobody() if run.params.roles["judge"].is_simulator else asks[0]
    rows = await answers_of(audit, run.params, *asks, reader=reader)
    run.require_answers()
    frame = verdict_table(rows, judge=asks[0].label)
    failures = asks[0].failures + asks[1].failures
    calls = sum(ask.calls for ask in asks)
    role, used = run.params.roles["judge"], run.used()
    if not role.is_simulator and role.model not in run.params.prices:
        used = replace(used, dollars=float("nan"))
    practice = Practice(len(frame), calls, used, time.monotonic() - began, failures)
    return frame.sort_values(["unit", "condition"], ignore_index=True), practice


def all_cases(audit: Audit, params: Params) -> pd.DataFrame:
    """CASES of all tasks, in the order in which a judge is asked, without further takes; the same whoever judges.

    Ids depend on the texts, so that a verdict never counts for another text than the judge saw.
    """
    rows = asyncio.run(answers_of(replace(audit, takes=1), params, Nobody(), Nobody(), fillers=True))
    cases = typed(rows, CASES)
    ids = {one.id: opaque(params.seed, one.id, one.premise, one.text) for one in cases.itertuples()}
    pairs = [ids.get(one, "") for one in cases["pair"]]  # a pair may be a case that was not drawn
    calls = [opaque(params.seed, one) for one in cases["call"]]
    return cases.assign(id=cases["id"].map(ids), call=calls, pair=pairs)


async def answers_of(
    audit: Audit, params: Params, ask: Ask, checks: Ask, *, reader: Ask | None = None, fillers: bool = False
) -> Rows:
    """Rows of VERDICTS with the columns of CASES on every task; ``checks`` answers whether notes contradict records.

    ``reader`` answers which errors people made, by default ``ask``. ``fillers``: with the claims that only fill a call.
    """
    given, rows = audit.given(params), Rows()
    plain = audit.cases["condition"] == ""
    chosen = [one for one in ON_CARD.values() if one.name in audit.tasks]
    for one in (one for one in chosen if not one.of_records):
        if one.of_claims is None:
            rows += await judge_cases(ask, one, given)
        elif one.name != "claims":
            rows += await judge_claims(ask, one, audit.cases[plain], given)
        else:  # cases have variants and are asked again
            rows += await judge_claims(ask, one, audit.cases, given)
            same = audit.cases[plain & audit.cases["unit"].isin(audit.cases.loc[~plain, "unit"])]
            for take in range(2, audit.takes + 1):  # under ids and calls of their own
                again = f"{AGAIN}, take {take}"
                named = {name: same[name] + again for name in ("id", "call")}
                cases = same.assign(condition=again, pair=same["id"], **named)
                rows += await judge_claims(Take(ask, take), one, cases, given)
    if ERRORS in audit.tasks:
        rows += await judge_errors(reader or ask, audit.errors, seed=params.seed)
    with in_domain(params.domain):
        for one in (one for one in chosen if one.of_records):
            rows += await judge_cases(checks if one.checks else ask, one, given)
    return [row for row in rows if fillers or row["metric"] != FILLER]


async def judged_sets(run: CommandRun, people: Sequence[PeopleSet]) -> list[dict[str, pd.DataFrame]]:
    """VERDICTS of the run's judge on the units of each set, by reading."""
    asks, most = [run.ask("judge")], run.params.doclens.claims_a_call
    return [(await judge_set(asks, one, most))[0] for one in people]


def agreement_with_people(
    every: Sequence[Params], names: Sequence[str], people: Sequence[PeopleSet], *, seed: int
) -> pd.DataFrame:
    """METRICS of the agreement of judges, by their names, with people, and of people with each other."""

    async def asked(params: Params) -> list[dict[str, pd.DataFrame]]:
        async with CommandRun(params, title=STAGE) as run:
            await run.identify(JUDGE_ROLES)
            found = await judged_sets(run, people)
            run.require_answers()
            return found

    verdicts = {name: run_blocking(asked(params)) for name, params in zip(names, every, strict=False)} if people else {}
    rows: list[Row] = []
    for place, one in enumerate(people):
        made: dict[str, pd.DataFrame] = {}
        for name, found in verdicts.items():
            for reading, own in found[place].items():
                parts = [own] if reading in FURTHER else [made.get(reading, own.iloc[:0]), own.assign(judge=name)]
                made[reading] = pd.concat(parts, ignore_index=True)
        for view, metrics in OF_PEOPLE[one.kind].views.items():
            rows += agreement_rows(one.verdicts, made, metrics, f"{one.name}, {view}")
    return metric_table(rows, stage=WITH_PEOPLE, seed=seed)


async def audit_cost(params: Params, audit: Audit) -> list[Line]:
    """Calls, tokens and dollars of an audit by the judge, counted in a rehearsal with the simulator.

    The calls on errors that people made, for which the simulator has no rule, are counted without any reply.
    """
    rehearsal = replace(audit, tasks=[task for task in audit.tasks if task != ERRORS])

    async def work(run: CommandRun) -> None:
        if rehearsal.tasks:
            await verdicts_of(run, rehearsal)
        await judged_sets(run, audit.people)

    lines = await rehearse(params, STAGE, JUDGE_ROLES, work) if rehearsal.tasks or audit.people else []
    if ERRORS not in audit.tasks or params.roles["judge"].is_simulator:
        return identified(params, lines)
    counted = CountedAsk(Nobody())
    await judge_errors(counted, audit.errors, seed=params.seed)
    estimate = Estimate("judge", counted.calls, counted.prompt_tokens, REPLY_TOKENS * counted.calls)
    return identified(params, [*lines, priced(params, f"{STAGE}: {ERRORS}", estimate, "from prompts")])


def reasons(audit: Audit, every: Sequence[Params]) -> list[str]:
    """Why tasks that were asked for are left out, or have no verdict."""
    rules = ERRORS in audit.tasks and any(params.roles["judge"].is_simulator for params in every)
    return [
        *audit.left_out,
        *([NO_RULE] if rules else []),
        *without_cases(records=audit.prompts is not None or not audit.texts),
    ]


def without_cases(*, records: bool) -> list[str]:
    """The measures that ask a judge and of which a card can have no case, a sentence each.

    ``records``: whether the records of the texts are known.
    """
    lacking = []
    for one in (one for one in OF_OUTPUTS if one.judged):
        own = [cases for cases in CASES_OF.get(one.name, ()) if cases.asked]
        if not any(records or not cases.of_records for cases in own):
            why = "as the records of these texts are not known" if own else "as it declares none"
            lacking.append(f"measure {one.choice}: no cases, {why}; the card says nothing of a judge's verdicts on it")
    return lacking


def judged(
    every: Sequence[Params], made: Audit, *, confirmed: bool, names: Sequence[str | None] = ()
) -> tuple[pd.DataFrame, dict[str, Practice]]:
    """The judges' VERDICTS, and what they took by judge; every answered call is kept, so that an audit resumes.

    ``names``: of judges that were given as ``NAME=JUDGE``, by place; others are called as they answer, with a number
    where two answer to one name. Raises BudgetError before the first call of an audit that may cost more than
    ``budget.confirm_above_dollars``, unless ``confirmed``.
    """
    paid = [one for one in every if not one.roles["judge"].is_simulator]

    if paid and not confirmed and confirmation_limit(every[0]) is not None:
        lines = [line for one in paid for line in run_blocking(audit_cost(one, made))]
        require_affordable(every[0], lines, "this audit", "use --yes (from Python: confirmed=True)")

    async def run(params: Params) -> tuple[pd.DataFrame, Practice]:
        async with CommandRun(params, title=STAGE) as asked:
            return await verdicts_of(asked, made)

    parts, practice = [], dict[str, Practice]()
    for params, given in zip_longest(every, names):
        verdicts, took = run_blocking(run(params))
        label = str(verdicts["judge"].iloc[0])
        label = name = f"{given} ({RULES})" if given and RULES in label else given or label
        while name in practice:
            name = f"{label} ({len(practice) + 1})"
        practice[name] = took
        parts.append(verdicts.assign(judge=name))
    return pd.concat(parts, ignore_index=True), practice
