"""One evaluation from Python, in scripts and notebooks, and for the command and the pipeline.

from vignette import evaluate

document = {"id": "1", "source": dialogue, "reference": note, "outputs": {"mine": text, "other": other}}
result = evaluate([document], metrics=["doclens", "overlap"])
result.metrics          # a pandas DataFrame; also comparisons, scores, claims, facts, answers and unscored
result.save("results")  # tables, manifest and report.html
"""

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import yaml
from pydantic import ValidationError

from flows.evaluation.estimate import Guard
from flows.evaluation.folder import evaluation_files, manifest, write_evaluation
from flows.evaluation.models import CommandRun
from flows.evaluation.roles import chosen_models, with_roles
from flows.evaluation.work import Evaluation, evaluate_data, require_work, roles_of
from flows.runtime.params import load_params
from flows.runtime.workspace import be_quiet, params_file
from schemas.errors import ParamsError
from schemas.params import Params
from schemas.params.llm import SIMULATOR
from schemas.params.measures import Evaluate, MetricName
from tasks.texts.fields import Row, documents_from, renamed
from tasks.texts.reading import DataSet


async def run_evaluation(
    params: Params, chosen: Evaluate, data: DataSet, *, confirmed: bool = False
) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation and its manifest. Raises VignetteError; every answered call is stored, so a rerun resumes.

    Unless ``confirmed``, BudgetError is raised before the first paid call of an evaluation that may cost more than
    ``budget.confirm_above_dollars``.
    """
    run, roles = CommandRun(params, None if confirmed else Guard(chosen, data)), roles_of(chosen, data)
    try:
        await run.identify(roles)
        evaluation = await evaluate_data(run, chosen, data)
        run.require_answers()
        return evaluation, manifest(evaluation, chosen, params, run.fingerprints, roles)
    finally:
        await run.close()


T = TypeVar("T")
DATA = "data"


@dataclass(frozen=True)
class Result:
    """Tables of an evaluation as DataFrames; a table of a method that was not chosen is empty."""

    evaluation: Evaluation
    manifest: Mapping[str, Any]

    @property
    def metrics(self) -> pd.DataFrame:
        """Value, 95% interval, n and unscored count by system, condition, section (``item``) and metric."""
        return self.table("metrics")

    @property
    def comparisons(self) -> pd.DataFrame:
        """Paired difference of every two systems on each metric, with interval and adjusted p."""
        return self.table("comparisons")

    @property
    def scores(self) -> pd.DataFrame:
        """Scores of single documents."""
        return self.table("scores")

    @property
    def claims(self) -> pd.DataFrame:
        """Judged claims and citations, with the judge's reason if it gave one."""
        return self.table("claims")

    @property
    def facts(self) -> pd.DataFrame:
        """Facts of the sources, and whether each system's output omits them."""
        return self.table("facts")

    @property
    def answers(self) -> pd.DataFrame:
        """Questions about the sources, their answers from each system's output, and their scores."""
        return self.table("answers")

    @property
    def unscored(self) -> pd.DataFrame:
        """What could not be scored, and why."""
        return self.table("unscored")

    def table(self, stem: str) -> pd.DataFrame:
        """The table of that stem."""
        return self.evaluation.table(stem) if stem in self.evaluation.tables else pd.DataFrame()

    def save(self, folder: str | Path, title: str = "Evaluation") -> Path:
        """Write tables (CSV and parquet), manifest and page in place of an earlier evaluation; returns the folder."""
        write_evaluation(Path(folder), evaluation_files(self.evaluation, self.manifest, title))
        return Path(folder)


def evaluate(
    data: Sequence[Mapping[str, Any]] | pd.DataFrame,
    *,
    metrics: Sequence[MetricName] = ("doclens", "med_omit", "overlap"),
    judge: str = SIMULATOR,
    writer: str = SIMULATOR,
    answerer: str | None = None,
    params: Params | None = None,
    confirmed: bool = False,
    **settings: Any,
) -> Result:
    """Evaluate documents: rows with ``id``, ``source``, optional ``reference``, and ``output`` or ``outputs``.

    ``judge``, ``writer``, ``answerer``: ``simulator`` (rules), a role of params.yaml, or ``MODEL@URL``; the judge
    answers questions by default. ``settings``: further fields of `schemas.params.measures.Evaluate`, such as ``map``,
    ``sections`` or ``write``. ``params``: those of params.yaml by default. Works where an event loop is running. Raises
    SourceError for defects of the data, and BudgetError for an evaluation that may cost more than
    ``budget.confirm_above_dollars``, unless ``confirmed``.
    """
    be_quiet()
    chosen = Evaluate(data=DATA, metrics=list(metrics), **settings)
    known = with_roles(params or load_params(params_file()), chosen_models(judge, writer, answerer))
    found = require_work(chosen, DataSet(_documents(data, chosen), "own", ()))
    evaluation, made_from = run_blocking(run_evaluation(known, chosen, found, confirmed=confirmed))
    return Result(evaluation, made_from)


def _documents(data: Sequence[Mapping[str, Any]] | pd.DataFrame, chosen: Evaluate) -> list[Any]:
    records = data.to_dict("records") if isinstance(data, pd.DataFrame) else data
    rows = [Row(f"{DATA}: row {number}", record) for number, record in enumerate(records)]
    return documents_from(renamed(rows, chosen.map, DATA), DATA, allow_empty=chosen.allow_empty)


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, in a thread of its own where this thread runs an event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    done: list[T | BaseException] = []

    def run() -> None:
        try:
            done.append(asyncio.run(work))
        except BaseException as error:
            done.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]


FILE = Path("evaluations/params.yaml")


def load_evaluation(name: str, file: Path = FILE) -> Evaluate:
    """The evaluation called ``name``, with its files below its folder. Raises ParamsError naming the key."""
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))["evaluations"]
        entry = dict(entries[name])
        folder = Path(entry.pop("folder"))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ParamsError(f"{file}: evaluations.{name}: expected an entry with folder and data ({error})") from error
    try:
        chosen = Evaluate.model_validate(entry)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise ParamsError(f"{file}: evaluations.{name}.{key} is {problem['input']!r}; {problem['msg']}") from error
    below = {"data": str(folder / chosen.data), "outputs": [_below(folder, entry) for entry in chosen.outputs]}
    claims = None if chosen.claims is None else str(folder / chosen.claims)
    own = [str(folder / file) for file in chosen.own]
    if outside := [file for file in chosen.own if not (folder / file).resolve().is_relative_to(folder.resolve())]:
        raise ParamsError(
            f"{FILE}: evaluations.{name}.own: {outside[0]} is not in {folder}; put it there: its changes are not seen"
        )
    return chosen.model_copy(update={**below, "claims": claims, "own": own})


def _below(folder: Path, entry: str) -> str:
    name, equals, file = entry.rpartition("=")
    return f"{name}{equals}{folder / file}"
