"""Plans a rebuild: the stages that would run, and their cost."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from flows.commands.estimate import print_estimates
from flows.engine.confirmation import require_confirmation
from flows.engine.params import load_params
from flows.engine.pipeline import read_pipeline, with_dependents, with_needed
from schemas.errors import BudgetError, VignetteError
from schemas.params import Params


def stages_to_run(pipeline: Path, targets: Sequence[str] = ()) -> list[str]:
    """The stages that ``dvc repro`` would run, in the order of dvc.yaml; raises VignetteError when DVC fails.

    DVC names those whose dependencies have changed by now. The stages that depend on them run as well, unless their
    inputs come out unchanged.
    """
    command = [sys.executable, "-m", "dvc", "status", "--json", "--with-deps", *chosen(pipeline, targets)]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    if output.returncode != 0:
        raise VignetteError(f"dvc status failed: {' '.join(output.stderr.split())}")
    stages = read_pipeline(pipeline)
    changed = [name for name in (entry.rpartition(":")[2] for entry in json.loads(output.stdout)) if name in stages]
    needed = with_needed(stages, targets)
    return [name for name in with_dependents(stages, changed) if name in needed]


def chosen(pipeline: Path, targets: Sequence[str]) -> list[str]:
    """The targets in the form that DVC takes; the whole pipeline without any."""
    return [f"{pipeline}:{target}" for target in targets] if targets else [str(pipeline)]


def print_plan(pipeline: Path, targets: Sequence[str] = ()) -> list[str]:
    """Print the stages that would run, and the cost of their calls; returns the stages."""
    stages = stages_to_run(pipeline, targets)
    print("would rebuild: " + (", ".join(stages) or "nothing"))
    print_estimates(load_params(), pipeline, only=stages)
    return stages


def confirm(params: Params, pipeline: Path, targets: Sequence[str]) -> None:
    """Print the estimate and raise BudgetError when the rebuild may cost more than may be spent unconfirmed."""
    stages = stages_to_run(pipeline, targets)
    try:
        require_confirmation(params, pipeline, stages)
    except BudgetError:
        print_estimates(params, pipeline, only=stages)
        raise
