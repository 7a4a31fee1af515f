"""Notes, audits and plans from Python: the functions of the module `vignette` beside `evaluate`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from flows.evaluation.api import run_blocking
from flows.evaluation.audit import CLAIMS, Audit, estimated, make_audit, verdicts_of, with_judge
from flows.evaluation.models import CommandRun
from flows.evaluation.planning import given
from flows.runtime.costs import require_affordable
from flows.runtime.params import confirmation_limit, load_params
from flows.runtime.workspace import be_quiet, params_file
from schemas.errors import ParamsError
from schemas.params import Params
from schemas.params.llm import SIMULATOR
from tasks.audit.card import card_table
from tasks.audit.practice import Practice
from tasks.planning.designs import Study
from tasks.planning.plan import Grid, Prices, Target, alternatives
from tasks.statistics.intervals import Bounds
from tasks.texts.reading import read_documents


def load_notes(file: str | Path, *, map: Mapping[str, str] | None = None, encoding: str | None = None) -> pd.DataFrame:
    """The documents of a file that `vignette evaluate` reads, a row each: id, source, reference and outputs.

    ``source`` is a list of texts, ``outputs`` text by system; `evaluate` takes the table as it is. ``map``: column by
    field, such as ``{"reference": "note"}``. Raises SourceError with one line for each defect.
    """
    documents = read_documents(Path(file), {}, dict(map or {}), encoding=encoding).documents
    columns = ["id", "source", "reference", "outputs"]
    rows = [(one.id, list(one.source), one.reference, dict(one.outputs)) for one in documents]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def audit(
    judges: Sequence[str] = (SIMULATOR,),
    *,
    texts: str | Path | None = None,
    cases: int = CLAIMS,
    tasks: Sequence[str] | None = None,
    takes: int = 3,
    seed: int = 1,
    params: Params | None = None,
    confirmed: bool = False,
) -> pd.DataFrame:
    """The card of judges (METRICS): what each can do on cases with a certain answer, as `vignette audit` writes it.

    ``judges``: as in `evaluate`. ``texts``: file that cases are made of, notes of the simulator by default. Raises
    ParamsError for a judge that is named twice and for a task that the texts do not allow, and BudgetError for an audit
    that may cost more than ``budget.confirm_above_dollars``, unless ``confirmed``.
    """
    be_quiet()
    if isinstance(judges, str) or not judges or cases < 1 or takes < 1:
        raise ParamsError(f"judges {judges!r}, cases {cases}, takes {takes}: expected a list of judges, and 1 or more")
    loaded = (params or load_params(params_file())).model_copy(update={"seed": seed})
    every = judges_of(loaded, judges)
    made = make_audit(None if texts is None else Path(texts), loaded, cases=cases, tasks=tasks, takes=takes)
    verdicts, practice = judged(every, made, confirmed=confirmed)
    return card_table(verdicts, practice, seed=seed)


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
    if paid and not confirmed and confirmation_limit(every[0]) is not None:
        lines = [line for one in paid for line in run_blocking(estimated(one, lambda run: verdicts_of(run, made)))]
        require_affordable(every[0], lines, "this audit", "use --yes (from Python: confirmed=True)")

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


def plan(
    components: str,
    mean: float = 0.5,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    bounds: Bounds | None = (0.0, 1.0),
    notes: Sequence[int] = (),
    questions: Sequence[int] = (1,),
    takes: Sequence[int] = (1,),
    raters: Sequence[int] = (1,),
    prices: Prices | None = None,
) -> pd.DataFrame:
    """Designs that reach a half width, or find a difference of two systems, with their cost; the cheapest is chosen.

    ``components``: variances of a score, such as ``note=0.02,question=0.1,take=0.05``; for a ``difference``, those of
    the paired differences. One row per design (`tasks.planning.plan.COLUMNS`). Raises ParamsError for components that
    do not tell what a design needs, and without a target and numbers of notes.
    """
    least_most = bounds
    if difference is not None and bounds is not None:
        width = bounds[1] - bounds[0]
        least_most = (-width, width)
    study = Study(given(components, mean if difference is None else 0.0), least_most, difference is not None)
    grid = Grid(tuple(questions), tuple(takes), tuple(raters), tuple(notes))
    try:
        return alternatives(study, Target(half_width, difference, power), grid, prices or Prices())
    except ValueError as error:
        raise ParamsError(str(error)) from error
