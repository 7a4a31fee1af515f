"""`vignette audit`: the texts of a card, a judge's verdicts on its cases, its cost, and the files of the card."""

import io
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from flows.evaluation.estimate import rehearse
from flows.evaluation.folder import defused
from flows.evaluation.models import CommandRun
from flows.evaluation.roles import chosen_models, with_roles
from flows.runtime.costs import Line, priced
from flows.runtime.domain import load_domain
from flows.runtime.tables import CSV_FLOAT, check
from schemas.audit import VERDICTS
from schemas.errors import ParamsError, SourceError
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.columns import typed
from schemas.tables.metrics import METRICS
from schemas.tables.records import SPANS
from tasks.audit.cases import AGAIN, FILLER, make_cases
from tasks.domains.in_use import data_of, in_domain
from tasks.domains.rules import rules_of
from tasks.judges.consistency_checks import check_cases, plant_inconsistent
from tasks.judges.judging import judge_planted_citations, judge_planted_omissions
from tasks.judges.planted import plant_citations, plant_omissions
from tasks.judges.simulated_notes import gold_tables, write_gold
from tasks.llm.calls import Answer, Ask, Call
from tasks.measures.doclens.evaluators import Evaluator, Question, make_evaluator
from tasks.measures.grounding.judging import ground
from tasks.measures.note_qa.answering import judge_outputs, planted_answers
from tasks.measures.note_qa.patients import simulated_patients
from tasks.measures.note_qa.truth_questions import truth_questions
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.texts.reading import read_documents

NOTES = 150
"""Notes of the simulator that cases are made of where no texts are given."""
LONG = 60
"""Texts whose omissions and citations are judged."""
ROLES: tuple[RoleName, ...] = ("judge", "annotator")
"""A judge's model plays both; the annotator's requests are those of the consistency check."""
EACH = 15
"""Notes with each kind of contradiction to their record, and as many without one."""
ASKED = 25
"""Questions about patients with known records, each answered rightly and wrongly in several wordings."""
TASKS = ("claims", "grounding", "omissions", "citations", "answers", "consistency")
WITH_RECORDS = ("answers", "consistency")
"""Tasks that need notes whose record is known."""
STAGE = "audit"
FORMAT = "vignette-audit"


@dataclass(frozen=True)
class Audit:
    """What a judge is asked: ``cases`` (CASES), and tasks made of ``texts`` (by document) and of ``prompts``.

    ``prompts``: the simulator's prompts of the texts, None for a user's own. ``takes``: how often the same is asked.
    """

    texts: Mapping[str, str]
    cases: pd.DataFrame
    tasks: Sequence[str]
    takes: int = 1
    prompts: pd.DataFrame | None = None


def make_audit(
    file: Path | None, params: Params, *, cases: int, tasks: Sequence[str] | None = None, takes: int = 1
) -> Audit:
    """The audit of texts of a file, references or else sources, or of the simulator's notes; by default of all tasks.

    Raises SourceError for texts that no claim can be planted into, ParamsError for a task that needs the simulator's
    notes.
    """
    prompts = None if file is not None else prompts_of(params)
    possible = [task for task in TASKS if prompts is not None or task not in WITH_RECORDS]
    if tasks is not None and (lacking := [task for task in tasks if task not in possible]):
        raise ParamsError(
            f"--tasks {lacking[0]}: needs notes whose record is known, as the simulator's are; leave out --texts, or "
            f"choose of {', '.join(possible)}"
        )
    texts = written(prompts, params) if prompts is not None else _read(file)
    made = cases_of(texts, params, cases=cases, seed=params.seed)
    return Audit(texts, made, tasks or possible, takes, prompts)


def _read(file: Path | None) -> dict[str, str]:
    documents = read_documents(file, {}, {}).documents if file is not None else []
    return {one.id: one.reference or one.text for one in documents}


def prompts_of(params: Params, notes: int = NOTES) -> pd.DataFrame:
    """The simulator's prompts for ``notes`` records of the domain and seed."""
    domain = load_domain(params.domain)
    with in_domain(params.domain):
        return build_prompts(sample(domain.network, notes, params.seed), domain.network, domain.wording, params.seed)


def written(prompts: pd.DataFrame, params: Params) -> dict[str, str]:
    """The simulator's notes for these prompts, by record."""
    with in_domain(params.domain):
        return {str(record): note.text for record, note in write_gold(prompts).normal.items()}


def cases_of(texts: Mapping[str, str], params: Params, *, cases: int, seed: int) -> pd.DataFrame:
    """CASES of the texts. Raises SourceError for texts that no claim can be planted into."""
    try:
        return make_cases(texts, rules_of(params.domain).symptom_labels, cases=cases, seed=seed)
    except ValueError as error:
        raise SourceError(f"--texts: {error}") from error


def with_judge(params: Params, judge: str) -> Params:
    """``params`` with the judge that is named as in `vignette evaluate`, who also checks notes against records."""
    models = chosen_models(judge, judge, None)
    return with_roles(params, {role: models[role] for role in ROLES})


async def verdicts_of(run: CommandRun, audit: Audit) -> pd.DataFrame:
    """VERDICTS of the run's judge on all cases, their variants and further takes, and on the tasks made of texts."""
    await run.identify(ROLES)
    ask, seed, params = run.ask("judge"), run.params.seed, run.params
    evaluator = make_evaluator(params.doclens, ask)
    fewer = {name: audit.texts[name] for name in sorted(audit.texts)[:LONG]}
    rows: list[dict[str, Any]] = []
    if "claims" in audit.tasks:
        rows += await judge_claims(evaluator, audit.cases)
        varied = audit.cases.loc[audit.cases["factor"] != "", "case"].unique()
        same = audit.cases[(audit.cases["factor"] == "") & audit.cases["case"].isin(varied)]
        for take in range(2, audit.takes + 1):
            other = make_evaluator(params.doclens, _Take(ask, take))
            rows += await judge_claims(other, same.assign(factor=f"{AGAIN}, take {take}"))
    if "grounding" in audit.tasks:
        rows += await ground_claims(ask, audit.cases[audit.cases["factor"] == ""])
    if "omissions" in audit.tasks:
        planted = plant_omissions(fewer, removed=params.calibrate.facts, seed=seed)
        rows += _named((await judge_planted_omissions(ask, planted))[0], "o")
    if "citations" in audit.tasks:
        rows += _named((await judge_planted_citations(evaluator, plant_citations(fewer, seed=seed)))[0], "r")
    if "answers" in audit.tasks:
        rows += await judge_answers(ask, audit, params)
    if "consistency" in audit.tasks:
        rows += await _consistency(run.ask("annotator"), audit, params)
    run.require_answers()
    frame = pd.DataFrame(rows).assign(judge=ask.label)
    return typed(frame.to_dict("records"), VERDICTS).sort_values(["case", "factor"], ignore_index=True)


class _Take:
    """Asks the same once more: the requests differ in their sample alone."""

    def __init__(self, ask: Ask, take: int) -> None:
        self._ask, self._take, self.label = ask, take, ask.label

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        return await self._ask([replace(call, sample=self._take) for call in calls])


async def judge_claims(evaluator: Evaluator, cases: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of VERDICTS on claims, without those that only fill a call."""
    calls = [group for _, group in cases.groupby("call", sort=False)]
    questions = [Question(one["call"].iloc[0], one["premise"].iloc[0], tuple(one["claim"])) for one in calls]
    rows: list[dict[str, Any]] = []
    for one, found in zip(calls, await evaluator(questions), strict=True):
        kept = one[["case", "task", "kind", "factor", "document", "claim", "truth"]].assign(
            judged=list(found.judgements), place=range(len(one))
        )
        rows += kept[kept["task"] != FILLER].rename(columns={"claim": "text"}).to_dict("records")
    return rows


async def ground_claims(ask: Ask, cases: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of VERDICTS on the same claims, judged as those of an output whose source is the text."""
    calls = [group for _, group in cases.groupby("call", sort=False)]
    questions = [Question(one["call"].iloc[0], one["premise"].iloc[0], tuple(one["claim"])) for one in calls]
    found = await ground(ask, questions)
    rows = [
        ("grounding", kind, document, claim, truth, None if verdict is None else verdict == "supported")
        for one, judged in zip(calls, found, strict=True)
        for kind, document, claim, truth, verdict in zip(
            one["kind"], one["document"], one["claim"], one["truth"], judged.verdicts, strict=True
        )
    ]
    return _named(rows, "g")


async def judge_answers(ask: Ask, audit: Audit, params: Params) -> list[dict[str, Any]]:
    """Rows of VERDICTS on whether an answer to a question about a patient is right; the truth is the records'."""
    assert audit.prompts is not None  # make_audit offers the task for the simulator's notes only
    with in_domain(params.domain):
        tables = gold_tables(write_gold(audit.prompts))
        patients = simulated_patients(audit.prompts, *tables, params.note_qa, seed=params.seed)
        words = rules_of(params.domain).labels, data_of(params.domain, "near_synonyms") or ()
        unmarked = typed([], SPANS)
        asked, wordings = truth_questions(audit.prompts, patients, unmarked, params.note_qa, *words, seed=params.seed)
    planted = planted_answers(asked, wordings, ASKED, free_text=params.note_qa.free_text, seed=params.seed)
    judged, _ = await judge_outputs(planted.assign(version="planted"), asked, 1, ask)
    keys = ["question", "form", "variant"]
    verdicts, questions = judged.set_index(keys)["verdict"], asked.set_index("question")["wording"]
    rows = [
        (
            "answers",
            f"{row['form'].replace('_', ' ')}: {row['variant']}",
            row["question"],
            f"{questions[row['question']]} {row['output']}",
            row["right"],
            verdicts.get(tuple(row[key] for key in keys)),
        )
        for row in planted.to_dict("records")
    ]
    return _named(rows, "a")


async def _consistency(ask: Ask, audit: Audit, params: Params) -> list[dict[str, Any]]:
    """Rows of VERDICTS on whether a note contradicts the record that it was written for."""
    assert audit.prompts is not None  # make_audit offers the task for the simulator's notes only
    with in_domain(params.domain):
        planted = plant_inconsistent(audit.prompts, each=EACH, rounds=1, seed=params.seed)
    planted = planted[planted["check"] == "consistency"]
    judged, _ = await check_cases(planted, rules_of(params.domain).phrases, ask)
    notes = planted.set_index("record")["note"]
    return [
        {"case": f"k{row['record']:04d}", "task": "consistency", "kind": row["kind"], "factor": "",
         "document": f"k{row['record']:04d}", "text": notes[row["record"]], "place": 0,
         "truth": row["kind"] != "none", "judged": row["flagged"]}
        for row in judged.to_dict("records")
    ]  # fmt: skip


def _named(rows: Sequence[tuple[Any, ...]], letter: str) -> list[dict[str, Any]]:
    """Rows of planted cases as VERDICTS without variants."""
    columns = ("task", "kind", "document", "text", "truth", "judged")
    return [
        {**dict(zip(columns, row, strict=True)), "case": f"{letter}{number:04d}", "factor": "", "place": 0}
        for number, row in enumerate(rows)
    ]


async def estimated(params: Params, work: Callable[[CommandRun], Awaitable[object]]) -> list[Line]:
    """Calls, tokens and dollars of an audit by the judge, counted in a rehearsal with the simulator."""
    return [priced(params, STAGE, one, "rehearsed") for one in await rehearse(params, ROLES, work)]


def card_files(verdicts: pd.DataFrame, card: pd.DataFrame, page: str, made_from: Mapping[str, Any]) -> dict[str, bytes]:
    """Contents of a card's files by name."""
    buffer = io.BytesIO()
    check(verdicts, VERDICTS, "verdicts").to_parquet(buffer, index=False)
    tables = {"card": check(card, METRICS, "card"), "verdicts": verdicts}
    files = {
        f"{name}.csv": defused(table).to_csv(index=False, float_format=CSV_FLOAT, lineterminator="\n").encode()
        for name, table in tables.items()
    }
    files |= {"verdicts.parquet": buffer.getvalue(), "card.html": page.encode()}
    return files | {"card.json": (json.dumps(made_from, indent=2, ensure_ascii=False) + "\n").encode()}


def read_card(folder: Path) -> pd.DataFrame:
    """VERDICTS of an earlier card. Raises SourceError for a folder without one."""
    file = folder / "verdicts.parquet"
    if not file.is_file():
        raise SourceError(f"{file}: no such file; expected a folder that `vignette audit --out` wrote")
    try:
        return check(pd.read_parquet(file), VERDICTS, str(file))
    except (OSError, ValueError) as error:
        raise SourceError(f"{file}: not the verdicts of a card ({error}); make the card again") from error


def card_of(folder: Path, judge: str) -> pd.DataFrame:
    """VERDICTS of a judge, by its label. Raises SourceError for a card that has none of that judge."""
    verdicts = read_card(folder)
    own = verdicts[verdicts["judge"] == judge]
    if own.empty:
        known = ", ".join(sorted(verdicts["judge"].unique()))
        raise SourceError(
            f"{folder}: a card of {known}, and the judge is {judge}; make its "
            "card with vignette audit, or choose the judge of the card"
        )
    return own


def exported(cases: pd.DataFrame) -> tuple[str, str]:
    """The cases without the truth, and the truth, as JSON Lines by id."""
    columns = ["id", "call", "premise", "claim"]
    shown = cases[columns].to_json(orient="records", lines=True, force_ascii=False)
    truth = cases[["id", "truth", "kind", "factor"]].to_json(orient="records", lines=True, force_ascii=False)
    return str(shown), str(truth)


def returned(file: Path, cases: pd.DataFrame) -> pd.DataFrame:
    """VERDICTS on the cases from JSON Lines with id and judged. Raises SourceError naming the line."""
    known, found = set(cases["id"]), {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{file}: cannot be read ({error}); expected JSON Lines in UTF-8") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{file}: line {number}"
        try:
            entry = json.loads(line)
            name, judged = entry["id"], entry["judged"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SourceError(
                f'{where}: expected {{"id": ..., "judged": true or false}}, found {line[:60]!r}'
            ) from error
        if not isinstance(name, str) or name not in known:
            raise SourceError(
                f"{where}: {name!r} is no case; export the cases with the same --seed, --cases and --texts"
            )
        if name in found:
            raise SourceError(f"{where}: {name!r} has two verdicts; keep one")
        if judged not in (True, False, None):
            raise SourceError(f"{where}: judged is {judged!r}; expected true, false or null")
        found[name] = None if judged is None else bool(judged)
    if not found:
        raise SourceError(f"{file}: no verdict; expected a line for each case")
    places = cases.groupby("call", sort=False).cumcount()
    judged = [found.get(name) for name in cases["id"]]
    frame = cases.assign(judged=judged, judge=file.stem, text=cases["claim"], place=places)
    frame = frame[frame["task"] != FILLER]
    return typed(frame.to_dict("records"), VERDICTS)
