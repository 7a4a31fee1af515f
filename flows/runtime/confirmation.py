"""The confirmation of a run that may cost more than ``budget.confirm_above_dollars``."""

import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flows.repository.params import YES, confirmation_limit, response_store
from flows.repository.pipeline import model_stages, read_pipeline, with_dependents
from schemas.errors import BudgetError
from schemas.params import Params
from tasks.transport.processes import run_start

if TYPE_CHECKING:
    from flows.runtime.costs import Line


def confirmation(stage: str, pipeline: Path) -> Callable[[Params], None] | None:
    """What a stage calls before its first paid call, see `confirm_stage`; None where the user confirmed the run.

    The run of this process is one that repro or dvc may have started.
    """
    if YES in os.environ:
        return None
    return partial(confirm_stage, stage=stage, pipeline=pipeline, since=run_start())


def confirm_stage(params: Params, *, stage: str, pipeline: Path, since: float) -> None:
    """Raise BudgetError if the run so far, this stage and the stages that depend on it may cost too much.

    ``since``: start of the run, in seconds since 1970.
    """
    if confirmation_limit(params) is not None:
        stages = with_dependents(read_pipeline(pipeline), [stage])
        from tasks.transport.inspection import dollars_since  # loads the store

        begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since))
        require_confirmation(params, pipeline, stages, spent=dollars_since(response_store(params), begun))


def require_confirmation(
    params: Params,
    pipeline: Path,
    stages: Collection[str],
    *,
    spent: float = 0.0,
    show: Callable[[Sequence["Line"]], None] = lambda _: None,
) -> None:
    """Raise BudgetError when ``spent`` and the cost of ``stages`` may exceed ``budget.confirm_above_dollars``.

    An unknown cost needs confirmation as well. ``show``: what is done with the estimates of paid calls.
    """
    if confirmation_limit(params) is None:
        return
    from flows.runtime.costs import require_affordable  # most runs have no limit
    from flows.runtime.rehearsal import estimates

    paid = paid_stages(params, pipeline, stages)
    lines, failed = estimates(params, pipeline, paid)
    unknown = [f"stage {name}, whose rehearsal failed ({reason})" for name, reason in failed.items()]
    confirm = f"use --yes, or set {YES}=1 for dvc"
    try:
        require_affordable(params, lines, "the run", confirm, spent=spent, unknown=unknown)
    except BudgetError:
        show([line for line in lines if not line.is_simulator])
        raise


def paid_stages(params: Params, pipeline: Path, stages: Collection[str]) -> list[str]:
    """Those of ``stages`` that ask a model other than the simulator's."""
    asked = model_stages(pipeline).items()
    return [name for name, roles in asked if name in stages and {*roles} - {*params.by_rules}]
