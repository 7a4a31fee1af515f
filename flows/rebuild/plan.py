"""Plans a rebuild: the stages that would run, and the confirmation of one that may cost more than allowed."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flows.rebuild.pipeline import model_stages, read_pipeline, with_dependents, with_needed
from flows.runtime.params import YES, confirmation_limit, response_store
from schemas.errors import SourceError, TableError, VignetteError
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.transport.processes import run_start

RETURNED = Path("returned")
"""Folder of the files of people, in which anything may be put by hand."""


def stages_to_run(pipeline: Path, targets: Sequence[str] = (), changed_roles: Collection[RoleName] = ()) -> list[str]:
    """The stages that ``dvc repro`` would run, in the order of dvc.yaml; raises VignetteError when DVC fails.

    DVC names those whose dependencies have changed by now. The stages that depend on them run as well, unless their
    inputs come out unchanged. ``changed_roles``: roles whose fingerprint is going to change, as DVC cannot know yet.
    """
    for path in RETURNED.rglob("*"):
        if not (path.is_file() or path.is_dir()):  # DVC reads whatever is there to its end, which a device lacks
            raise SourceError(f"{path}: neither a file nor a folder; remove it")
    stages = read_pipeline(pipeline)
    changed = [name for name in _status(pipeline, targets) if name in stages]
    changed += [name for name, asked in model_stages(pipeline).items() if {*asked} & {*changed_roles}]
    needed = with_needed(stages, targets)
    return [name for name in with_dependents(stages, changed) if name in needed]


def require_as_locked(pipeline: Path, names: Collection[str]) -> None:
    """Compare the outputs of stages with dvc.lock; raises TableError naming those that another process has written."""
    status = _status(pipeline, ())
    outs = [
        entry["changed outs"] for name in sorted(names) for entry in status.get(name, []) if "changed outs" in entry
    ]
    if changed := [f"{path} ({state})" for found in outs for path, state in found.items()]:
        raise TableError(
            f"{pipeline.with_suffix('.lock')} records other outputs than are on disk: {', '.join(changed)}. Another "
            "process wrote to them during the run; to rebuild them, run again"
        )


_DVC = """
import sys
from tasks.transport.processes import end_with_parent
end_with_parent()
from dvc.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The command ``dvc``, which ends when this process is killed."""


def _status(pipeline: Path, targets: Collection[str]) -> dict[str, Any]:
    """What ``dvc status`` says of each changed stage of ``targets`` (all without any) and of those that they need.

    The stages of a whole file are asked for without ``--with-deps``, for which DVC would read every other pipeline.
    """
    chosen = ["--with-deps", *(f"{pipeline}:{target}" for target in targets)] if targets else [str(pipeline)]
    command = [sys.executable, "-c", _DVC, "status", "--json", *chosen]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    if output.returncode != 0:
        raise VignetteError(f"dvc status failed: {' '.join(output.stderr.split())}")
    found: dict[str, list[Any]] = json.loads(output.stdout)
    return {
        entry.rpartition(":")[2]: [each for each in said if isinstance(each, dict)] for entry, said in found.items()
    }


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
    confirm = f"use `vignette repro --yes`, or set {YES}=1 for dvc"
    require_affordable(params, lines, "the run", confirm, spent=spent, unknown=never_ran)
