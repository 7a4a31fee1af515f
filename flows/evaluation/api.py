"""The functions of the module `vignette`, for scripts and notebooks: evaluations, audits and notes as tables.

from vignette import evaluate

document = {"id": "1", "source": dialogue, "reference": note, "outputs": {"mine": text, "other": other}}
result = evaluate([document], metrics=["doclens", "overlap"], judge="gpt-4o@https://api.openai.com/v1")
result.metrics          # a pandas DataFrame; also comparisons, scores, claims, facts, answers and unscored
result.save("results")  # tables, manifest and report.html
"""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from flows.evaluation.audit import CLAIMS, judged, make_audit
from flows.evaluation.estimate import guard
from flows.evaluation.folder import evaluation_files, file_hashes, manifest, model_of, write_evaluation
from flows.evaluation.judges import given_name, judges_of, with_judges
from flows.evaluation.models import CommandRun, run_blocking
from flows.evaluation.several_judges import judge_by_each, require_work_of_judges, share_lists
from flows.evaluation.work import Evaluation, evaluate_data, require_judge, require_work, roles_of
from flows.repository.params import load_params
from flows.repository.workspace import be_quiet, params_file
from schemas.errors import ParamsError, SourceError
from schemas.params import Params
from schemas.params.measures import Evaluate
from schemas.tables.evaluate import EVALUATION
from tasks.audit.card import card_table
from tasks.measures.described import OF_OUTPUTS
from tasks.progress import number_of
from tasks.texts.fields import Row
from tasks.texts.files import Table, require_different
from tasks.texts.reading import DataSet, documents_in, read_documents


async def run_evaluation(
    params: Params,
    chosen: Evaluate,
    data: DataSet,
    *,
    confirmed: bool = False,
    judges: Mapping[str, Params] | None = None,
) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation and its manifest. Raises VignetteError; every answered call is stored, so a rerun resumes.

    Unless ``confirmed``, BudgetError is raised before the first paid call of an evaluation that may cost more than
    ``budget.confirm_above_dollars``. ``judges``: several by name in place of the role's, of whom
    the first one has all figures.
    """
    confirm = None if confirmed else guard(chosen, data, judges or {})
    if judges:
        require_work_of_judges(judges, chosen, data)
    roles, runs = roles_of(chosen, data), dict[str, CommandRun]()
    read = file_hashes([*data.files, *map(Path, chosen.own)])  # now, as hours may pass until all is judged
    async with AsyncExitStack() as opened:
        for name, own in (judges or {"": params}).items():
            runs[name] = await opened.enter_async_context(CommandRun(own, confirm))
        first = next(iter(runs.values()))
        for run in runs.values():
            await run.identify(roles if run is first else ["judge"])
        if judges:
            share_lists(list(runs.values()))
            evaluation = await judge_by_each(runs, chosen, data)
        else:
            evaluation = await evaluate_data(first, chosen, data)
        for run in runs.values():
            run.require_answers()
        made_from = manifest(evaluation, chosen, first.params, first.fingerprints, roles, read)
        if judges:
            made_from["judges"] = {name: model_of(run.fingerprints, "judge", run.params) for name, run in runs.items()}
        return evaluation, made_from


DATA = "data"


@dataclass(frozen=True, repr=False)
class Result:
    """Tables of an evaluation as DataFrames, each an attribute; that of a measure that was not chosen is empty.

    ``metrics``: value, 95% interval, n and unscored count by system, condition, section (``item``) and metric;
    ``comparisons``: paired difference of every two systems on each metric, with interval and adjusted p; ``scores``: of
    single documents; ``unscored``: what could not be scored, and why; ``claims``, ``facts``, ``answers`` and others:
    what was judged of each unit by a measure, with the judge's reason if it gave one.
    """

    evaluation: Evaluation
    manifest: Mapping[str, Any]

    def __repr__(self) -> str:
        """Size, systems, and the tables with their numbers of rows."""
        tables = ", ".join(f"{stem} ({len(frame)})" for stem, frame in self.evaluation.tables.items())
        size = f"{number_of(len(self.evaluation.documents), 'document')}, systems {', '.join(self.evaluation.systems)}"
        return f"<Evaluation of {size}; rows of tables: {tables}>"

    def __getattr__(self, stem: str) -> pd.DataFrame:
        if stem not in EVALUATION and stem not in {one.table for one in OF_OUTPUTS}:
            raise AttributeError(f"an evaluation has no table {stem!r}")
        return self.table(stem)

    def table(self, stem: str) -> pd.DataFrame:
        """The table of that stem."""
        return self.evaluation.tables.get(stem, pd.DataFrame())

    def save(self, folder: str | Path, title: str = "Evaluation") -> Path:
        """Write tables (CSV and parquet), manifest and page in place of an earlier evaluation; returns the folder."""
        write_evaluation(Path(folder), evaluation_files(self.evaluation, self.manifest, title))
        return Path(folder)


def evaluate(
    data: Sequence[Mapping[str, Any]] | pd.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    judge: str | Sequence[str] = (),
    writer: str | None = None,
    answerer: str | None = None,
    reading: str | Sequence[str] = (),
    params: Params | None = None,
    confirmed: bool = False,
    **settings: Any,
) -> Result:
    """Evaluate documents: rows with ``id``, ``source``, optional ``reference``, and ``output`` or ``outputs``.

    ``metrics``: names of measures, by default those of the command. ``judge``, ``writer``, ``answerer``:
    ``MODEL@URL``, a role of params.yaml, or ``simulator`` (rules, for a dry run); the judge has no default, and writes
    outputs and answers questions unless others are named. Several judges, ``NAME=JUDGE`` or with the names of their
    models, judge the claims and facts that the first one lists. ``reading`` of claims: ``strict``, ``clinician``, or
    both, side by side as those of several judges; by default ``doclens.style``.
    ``settings``: further fields of `schemas.params.measures.Evaluate`, such as ``map``, ``sections`` or ``write``.
    ``params``: those of params.yaml by default. Works where an event loop is running. Raises ParamsError without a
    judge, unless nothing is asked of one, SourceError for defects of the data, and BudgetError for an evaluation that
    may cost more than ``budget.confirm_above_dollars``, unless ``confirmed``. Warns of what was assumed or left out.
    """
    be_quiet()
    listed = [metrics] if isinstance(metrics, str) else metrics
    chosen = Evaluate(data=DATA, metrics=None if listed is None else list(listed), **settings)
    named = [judge] if isinstance(judge, str) else list(judge)
    require_judge(chosen, named)
    read = [reading] if isinstance(reading, str) else reading
    known, judges = with_judges(params or load_params(params_file()), named, writer, answerer, read)
    found = require_work(chosen, _documents(data, chosen))
    for note in found.notes:
        warnings.warn(note, stacklevel=2)
    evaluation, made_from = run_blocking(run_evaluation(known, chosen, found, confirmed=confirmed, judges=judges))
    return Result(evaluation, made_from)


def _documents(data: Sequence[Mapping[str, Any]] | pd.DataFrame, chosen: Evaluate) -> DataSet:
    if isinstance(data, pd.DataFrame):
        require_different(DATA, [str(name) for name in data.columns])
        data = data.reset_index() if any(data.index.names) else data  # as a parquet file has it
        data = data.astype(object).where(data.notna(), None).to_dict("records")
    if isinstance(data, str | Path | Mapping) or not all(isinstance(one, Mapping | pd.Series) for one in data):
        raise SourceError(f"{DATA}: expected a DataFrame or a list of dictionaries; a file is read by load_notes")
    rows = []
    for number, record in enumerate(data):  # with a list for an array, which a DataFrame of a parquet file has
        plain = {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in record.items()}
        rows.append(Row(f"{DATA}: row {number}", plain))
    documents, notes = documents_in(Table(rows, "own", ()), DATA, chosen.map, allow_empty=chosen.allow_empty)
    return DataSet(documents, "own", (), notes)


def load_notes(file: str | Path, *, map: Mapping[str, str] | None = None, encoding: str | None = None) -> pd.DataFrame:
    """The documents of a file that `vignette evaluate` reads, a row each: id, source, reference and outputs.

    ``source`` is a list of texts, ``outputs`` text by system; `evaluate` takes the table as it is. ``map``: column by
    field, such as ``{"reference": "note"}``. Raises SourceError with one line for each defect; warns of
    what was assumed or is not read.
    """
    found = read_documents(Path(file), {}, dict(map or {}), encoding=encoding)
    for note in found.notes:
        warnings.warn(note, stacklevel=2)
    columns = ["id", "source", "reference", "outputs"]
    rows = [(one.id, list(one.source), one.reference, dict(one.outputs)) for one in found.documents]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def audit(
    judges: Sequence[str],
    *,
    texts: str | Path | None = None,
    map: Mapping[str, str] | None = None,
    cases: int = CLAIMS,
    tasks: Sequence[str] | None = None,
    takes: int = 3,
    seed: int = 1,
    params: Params | None = None,
    confirmed: bool = False,
) -> pd.DataFrame:
    """The card of judges (METRICS): what each can do on cases with a certain answer, as `vignette audit` writes it.

    ``judges``: as in `evaluate`. ``texts``: file that cases are made of, notes of the simulator by default, with its
    columns by field in ``map``. Raises ParamsError for a judge that is named twice and for a task that the texts do not
    allow, and BudgetError for an audit that may cost more than ``budget.confirm_above_dollars``, unless ``confirmed``.
    """
    be_quiet()
    if isinstance(judges, str) or not judges or cases < 1 or takes < 1:
        raise ParamsError(f"judges {judges!r}, cases {cases}, takes {takes}: expected a list of judges, and 1 or more")
    loaded = (params or load_params(params_file())).model_copy(update={"seed": seed})
    every = judges_of(loaded, judges)
    made = make_audit(None if texts is None else Path(texts), loaded, map, cases=cases, tasks=tasks, takes=takes)
    verdicts, practice = judged(every, made, confirmed=confirmed, names=[given_name(one) for one in judges])
    return card_table(verdicts, practice, seed=seed)
