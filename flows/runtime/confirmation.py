"""The confirmation of a run that may cost more than ``budget.confirm_above_dollars``."""

import os
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from flows.repository.params import STARTED_BY, YES, confirmation_limit, response_store
from flows.repository.pipeline import model_stages, read_pipeline, with_dependents
from schemas.params import Params
from tasks.transport.processes import run_start


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


def require_confirmation(params: Params, pipeline: Path, stages: Collection[str], *, spent: float = 0.0) -> None:
    """Raise BudgetError when ``spent`` and the cost of ``stages`` may exceed ``budget.confirm_above_dollars``.

    An unknown cost needs confirmation as well.
    """
    if confirmation_limit(params) is None:
        return
    from flows.runtime.costs import (  # takes a quarter of a second; most runs have no limit
        estimates,
        require_affordable,
    )

    lines, without = estimates(params, pipeline)
    asked = model_stages(pipeline)
    never_ran = [
        f"stage {name}, which never ran"
        for name in without
        if name in stages and any(not params.roles[role].is_simulator for role in asked[name])
    ]
    lines = [line for line in lines if line.stage in stages]
    confirm = f"use `{os.environ.get(STARTED_BY, 'vignette repro')} --yes`, or set {YES}=1 for dvc"
    require_affordable(params, lines, "the run", confirm, spent=spent, unknown=never_ran)
