"""Plans a rebuild: the stages that would run."""

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from flows.repository.code import StageCode
from flows.repository.lock import read_lock
from flows.repository.pipeline import MAIN, model_stages, read_pipeline, with_dependents, with_needed
from schemas.errors import BusyError, SourceError, VignetteError
from schemas.params.llm import RoleName
from tasks.tracking.lineage import CODE_STAGE, RECORD_STAGE, record_is_behind

RETURNED = Path("returned")
"""Folder of the files of people, in which anything may be put by hand."""


def stages_to_run(
    pipeline: Path,
    targets: Sequence[str] = (),
    changed_roles: Collection[RoleName] = (),
    changed_code: Collection[str] = (),
    said: Collection[str] | None = None,
) -> list[str]:
    """The stages that ``dvc repro`` would run, in the order of dvc.yaml; raises VignetteError when DVC fails.

    DVC names those whose dependencies have changed by now. The stages that depend on them run as well, unless their
    inputs come out unchanged. ``changed_roles``, ``changed_code``: roles and stages whose fingerprint is going to
    change, as DVC cannot know yet; the latter are found here where stage `code` of this pipeline has to run. ``said``:
    what `status` said of the same targets, if it was asked before.
    """
    stages = read_pipeline(pipeline)
    changed = {*(status(pipeline, targets) if said is None else said)} & {*stages}
    changed |= {name for name, asked in model_stages(pipeline).items() if {*asked} & {*changed_roles}}
    codes = {path.stem for path in StageCode().changed()} if CODE_STAGE in changed else {*changed_code}
    changed |= {name for name in stages if name.partition("@")[0] in codes}
    if pipeline == MAIN and record_is_behind(read_lock(pipeline.with_suffix(".lock"))):
        changed |= {RECORD_STAGE} & {*stages}
    # What depends on stage `code` does not change with it, but where the file of the stage's own code does.
    found = {*with_dependents(stages, changed - {CODE_STAGE}), *(changed & {CODE_STAGE})}
    needed = with_needed(stages, targets)
    return [name for name in stages if name in found & needed]


_DVC = """
import sys
from tasks.transport.processes import end_with_parent
end_with_parent()
from dvc.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The command ``dvc``, which ends when this process is killed."""


def status(pipeline: Path, targets: Collection[str] = ()) -> set[str]:
    """The stages that ``dvc status`` says changed, of ``targets`` (all without any) and of those that they need.

    The stages of a whole file are asked for without ``--with-deps``, for which DVC would read every other pipeline.
    """
    for path in RETURNED.rglob("*"):
        if not (path.is_file() or path.is_dir()):  # DVC reads whatever is there to its end, which a device lacks
            raise SourceError(f"{path}: neither a file nor a folder; remove it")
    chosen = ["--with-deps", *(f"{pipeline}:{target}" for target in targets)] if targets else [str(pipeline)]
    command = [sys.executable, "-c", _DVC, "status", "--json", *chosen]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    if "it is being blocked by" in output.stderr:  # DVC advises to remove the lock of a rebuild by hand
        raise BusyError("another run is in progress in this clone; wait for it or stop it")
    if output.returncode != 0:
        raise VignetteError(f"dvc status failed: {' '.join(output.stderr.split())}")
    return {entry.rpartition(":")[2] for entry in json.loads(output.stdout)}
