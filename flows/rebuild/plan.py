"""Plans a rebuild: the stages that would run."""

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from flows.repository.pipeline import model_stages, read_pipeline, with_dependents, with_needed
from schemas.errors import SourceError, TableError, VignetteError
from schemas.params.llm import RoleName

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
