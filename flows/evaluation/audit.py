"""`vignette audit`: the texts of a card, a judge's verdicts on its cases, its cost, and the files of the card."""

import io
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flows.evaluation.estimate import rehearse
from flows.evaluation.folder import defused
from flows.evaluation.models import CommandRun, chosen_models, with_roles
from flows.runtime.costs import Line, priced
from flows.runtime.domain import load_domain
from flows.runtime.tables import CSV_FLOAT, check
from schemas.audit import VERDICTS
from schemas.errors import SourceError
from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.metrics import METRICS
from tasks.audit.cases import FILLER, make_cases
from tasks.domains.in_use import in_domain
from tasks.domains.rules import rules_of
from tasks.judges.judging import judge_planted_citations, judge_planted_omissions
from tasks.judges.planted import plant_citations, plant_omissions
from tasks.judges.simulated_notes import write_gold
from tasks.measures.doclens.evaluators import Question, make_evaluator
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.texts.reading import read_documents

NOTES = 150
"""Notes of the simulator that cases are made of where no texts are given."""
LONG = 60
"""Texts whose omissions and citations are judged."""
STAGE = "audit"
FORMAT = "vignette-audit"


def texts_of(file: Path | None, params: Params, *, seed: int) -> dict[str, str]:
    """The texts that cases are made of, by document: references or else sources of a file, or the simulator's notes."""
    if file is not None:
        documents = read_documents(file, {}, {}).documents
        return {one.id: one.reference or one.text for one in documents}
    domain = load_domain(params.domain)
    with in_domain(params.domain):
        records = sample(domain.network, NOTES, seed)
        gold = write_gold(build_prompts(records, domain.network, domain.wording, seed))
    return {str(record): note.text for record, note in gold.normal.items()}


def cases_of(texts: Mapping[str, str], params: Params, *, cases: int, seed: int) -> pd.DataFrame:
    """CASES of the texts. Raises SourceError for texts that no claim can be planted into."""
    try:
        return make_cases(texts, rules_of(params.domain).symptom_labels, cases=cases, seed=seed)
    except ValueError as error:
        raise SourceError(f"--texts: {error}") from error


def with_judge(params: Params, judge: str) -> Params:
    """``params`` with the judge that is named as in `vignette evaluate`."""
    return with_roles(params, {"judge": chosen_models(judge, judge, None)["judge"]})


async def verdicts_of(
    run: CommandRun, cases: pd.DataFrame, texts: Mapping[str, str], tasks: Sequence[str]
) -> pd.DataFrame:
    """VERDICTS of the run's judge on all cases, and on omissions and citations of the texts."""
    ask, seed = run.ask("judge"), run.params.seed
    await run.identify(["judge"])
    evaluator = make_evaluator(run.params.doclens, ask)
    fewer = {name: texts[name] for name in sorted(texts)[:LONG]}
    rows: list[dict[str, Any]] = []
    if "claims" in tasks:
        calls = [group for _, group in cases.groupby("call", sort=False)]
        questions = [Question(one["call"].iloc[0], one["premise"].iloc[0], tuple(one["claim"])) for one in calls]
        for one, found in zip(calls, await evaluator(questions), strict=True):
            kept = one[["case", "task", "kind", "factor", "document", "claim", "truth"]].assign(
                judged=list(found.judgements)
            )
            kept = kept[kept["task"] != FILLER]
            rows += kept.rename(columns={"claim": "text"}).to_dict("records")
    if "omissions" in tasks:
        planted = plant_omissions(fewer, removed=run.params.calibrate.facts, seed=seed)
        rows += _named((await judge_planted_omissions(ask, planted))[0], "o")
    if "citations" in tasks:
        rows += _named((await judge_planted_citations(evaluator, plant_citations(fewer, seed=seed)))[0], "r")
    run.require_answers()
    frame = pd.DataFrame(rows).assign(judge=ask.label)
    return typed(frame.to_dict("records"), VERDICTS).sort_values(["case", "factor"], ignore_index=True)


def _named(rows: Sequence[tuple[Any, ...]], letter: str) -> list[dict[str, Any]]:
    """Rows of planted cases as VERDICTS without variants."""
    columns = ("task", "kind", "document", "text", "truth", "judged")
    return [
        {**dict(zip(columns, row, strict=True)), "case": f"{letter}{number:04d}", "factor": ""}
        for number, row in enumerate(rows)
    ]


async def estimated(params: Params, work: Callable[[CommandRun], Awaitable[object]]) -> list[Line]:
    """Calls, tokens and dollars of an audit by the judge, counted in a rehearsal with the simulator."""
    return [priced(params, STAGE, one, "rehearsed") for one in await rehearse(params, ["judge"], work)]


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
        if name not in known:
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
    frame = cases.assign(judged=[found.get(name) for name in cases["id"]], judge=file.stem, text=cases["claim"])
    frame = frame[frame["task"] != FILLER]
    return typed(frame.to_dict("records"), VERDICTS)
