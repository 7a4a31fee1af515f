"""Has a run that may cost more than budget.confirm_above_dollars confirmed before it pays."""

import os
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psutil

from flows.engine.costs import Bound, Line, estimates
from flows.engine.params import run_budget
from flows.engine.pipeline import model_stages, read_pipeline, with_dependents
from flows.engine.workspace import STORE, workspace
from schemas.errors import BudgetError
from schemas.params import Params
from tasks.llm.database import connect, exists
from tasks.llm.orphan import dvc_process

YES = "VIGNETTE_YES"
"""Environment variable with which `vignette repro --yes`, or the user, confirms whatever a run costs."""


@dataclass(frozen=True)
class Guard:
    """Asks for confirmation at the first paid call of a stage. ``since``: start of the run, in seconds since 1970."""

    stage: str
    pipeline: Path
    since: float

    @classmethod
    def of(cls, stage: str, pipeline: Path) -> "Guard | None":
        """The guard of a stage in the run of this process, which dvc may have started; None if it is confirmed."""
        if YES in os.environ:
            return None
        return cls(stage, pipeline, (dvc_process() or psutil.Process()).create_time())

    def check(self, params: Params) -> None:
        """Raise BudgetError if the run so far, this stage and the stages that depend on it may cost too much."""
        if run_budget(params).confirm_above_dollars is not None:
            stages = with_dependents(read_pipeline(self.pipeline), [self.stage])
            require_confirmation(params, self.pipeline, stages, spent=_spent(params, self.since))


def require_confirmation(params: Params, pipeline: Path, stages: Collection[str], *, spent: float = 0.0) -> None:
    """Raise BudgetError when ``spent`` and the cost of ``stages`` may exceed ``budget.confirm_above_dollars``.

    An unknown cost needs confirmation as well.
    """
    limit = run_budget(params).confirm_above_dollars
    if limit is None:
        return
    lines, without = estimates(params, pipeline)
    lines = [line for line in lines if line.stage in stages]
    bounds: tuple[Bound, ...] = ("calls", "least", "most")
    dollars, least, most = (spent + sum(line.dollars_of(bound) for line in lines) for bound in bounds)
    unknown = _unknown(params, pipeline, lines, [name for name in without if name in stages])
    if dollars <= limit and not unknown:
        return
    raise BudgetError(
        f"the run would cost about {dollars:.2f} dollars (at least {least:.2f}, at most {most:.2f}"
        + (f", of which {spent:.2f} are spent" if spent else "")
        + ")"
        + (f", without {'; '.join(unknown)}" if unknown else "")
        + f". budget.confirm_above_dollars is {limit:g}: to run it, use `vignette repro --yes`, or set {YES}=1 for dvc"
    )


def _unknown(params: Params, pipeline: Path, lines: Sequence[Line], stages: Sequence[str]) -> list[str]:
    """What has no known cost: models without a price, and ``stages`` without an estimate that call a served model."""
    models = sorted({params.roles[line.estimate.role].model for line in lines if line.dollars is None})
    asked = model_stages(pipeline)
    paying = [name for name in stages if any(not params.roles[role].is_embedded for role in asked[name])]
    return [f"{model}, which has no price" for model in models] + [f"stage {name}, which never ran" for name in paying]


def _spent(params: Params, since: float) -> float:
    """Dollars of the replies that came since a time."""
    where = params.runtime.store or workspace() / STORE
    if not exists(where):
        return 0.0
    begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since))
    with closing(connect(where)) as connection:
        sql = "SELECT COALESCE(SUM(dollars), 0) FROM responses WHERE created >= ?"
        return float(connection.execute(sql, (begun,)).fetchone()[0])
