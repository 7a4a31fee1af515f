"""Probes the models, rebuilds through DVC what changed and records the lineage; ``watch`` does the same on a schedule.

dvc.yaml alone defines the graph of stages. DVC runs in subprocesses whose process groups end with this one.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from filelock import FileLock, Timeout

from flows.commands.plan import chosen, confirm, print_plan, stages_to_run
from flows.commands.probe import probe_roles, roles_to_probe
from flows.engine.confirmation import YES
from flows.engine.lineage import current_lineage, is_recorded, recorded_lineages, run_name
from flows.engine.params import load_params, run_budget
from flows.engine.pipeline import MAIN, declared_outputs, paths_of, read_pipeline, with_needed
from flows.engine.processes import runs_since
from flows.engine.rebuild_run import EndState, RebuildRun
from flows.engine.server import stop_if_unused
from flows.engine.side_by_side import end_group, exit_on_sigterm, run_stages, start_group
from flows.engine.sources import declared_sources, fingerprint_file, record_sources, sources_folder
from flows.engine.workspace import root
from schemas.errors import BusyError
from schemas.params import Params
from tasks.tracking.lineage import RECORD_STAGE

PARENT = "VIGNETTE_PARENT_RUN"
"""Environment variable with the id of the flow run in Prefect that started this rebuild."""

PUBLISHED = Path("reports/published/dvc.yaml")
_BUILT = Path("data/published")


def main(
    targets: Annotated[list[str] | None, typer.Argument(help="Stages to rebuild with what they depend on.")] = None,
    pipeline: Annotated[Path, typer.Option(help="The dvc.yaml to rebuild.")] = MAIN,
    probe: Annotated[bool, typer.Option("--probe/--no-probe", help="Identify the models first.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be rebuilt and its cost.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
    keep_server: Annotated[bool, typer.Option("--keep-server", help="Leave the Prefect server running.")] = False,
) -> None:
    """Probe the models, rebuild through DVC what changed (every stage unless TARGETS name some), record the lineage."""
    os.chdir(root())
    try:
        params = load_params()  # before DVC deletes anything
        with exclusive():
            if probe:
                probe_roles(params, roles_to_probe(params))
            if dry_run:
                print_plan(pipeline, targets or [])
                return
            if yes:
                os.environ[YES] = "1"
            elif run_budget(params).confirm_above_dollars is not None:
                confirm(params, pipeline, targets or [])
            status = _rebuild(pipeline, targets or [], stages_at_once(params))
    except KeyboardInterrupt:
        print("repro: interrupted; finished stages and stored replies are kept, run again to resume", file=sys.stderr)
        status = 130
    finally:
        if not keep_server and not dry_run:
            stop_if_unused()
    raise typer.Exit(status)


def _rebuild(pipeline: Path, targets: Sequence[str], at_once: int) -> int:
    if pipeline == PUBLISHED:
        record_all_sources(load_params())
    name = run_name()
    tags = (f"revision: {name.split()[0]}", f"pipeline: {pipeline.parent.name or 'main'}")
    run = RebuildRun(name, tags, os.environ.get(PARENT))
    state: EndState = "CANCELLED"
    try:
        status = run_dvc(pipeline, targets, run.environment(), at_once=at_once)
        state = "COMPLETED" if status == 0 else "FAILED"
    finally:
        has_lineage = state == "COMPLETED" and pipeline == MAIN and MAIN.with_suffix(".lock").exists()
        run.close(state, tags=(f"lineage: {current_lineage().id}",) if has_lineage else ())
    if status == 0 and pipeline == MAIN:
        backfill()
    if status == 0 and pipeline == PUBLISHED:
        publish(targets)
    return status


def record_all_sources(params: Params) -> list[str]:
    """Record what each stage reads of the outside data; returns the stages whose files changed since the last time."""
    readers = source_readers()
    folder = sources_folder(params.sources.folder, map(fingerprint_file, readers))
    return [name for name in readers if record_sources(folder, declared_sources(name, params), fingerprint_file(name))]


def source_readers() -> list[str]:
    """The stages of the second pipeline that read outside data."""
    stages = read_pipeline(PUBLISHED).items()
    return [name for name, stage in stages if fingerprint_file(name) in paths_of(stage.get("deps", []))]


@contextmanager
def exclusive() -> Iterator[None]:
    """Lock the clone for one run; raises BusyError when another run holds the lock or a ``dvc`` process runs here."""
    file = root() / ".dvc" / "tmp" / "rerun.lock"  # of this tree: that of a watch is rebuilt independently
    file.parent.mkdir(exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BusyError("another run is in progress in this clone; wait for it or stop it") from error
    try:
        if dvc_at_work():
            raise BusyError("another dvc process runs in this clone; wait for it or stop it")
        _rwlock().unlink(missing_ok=True)  # DVC itself takes a process that reused the id of a killed one for its owner
        yield
    finally:
        lock.release()


def dvc_at_work() -> bool:
    """Whether a living process holds one of DVC's locks on outputs and dependencies."""
    file = _rwlock()
    try:
        held: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):  # empty while it is being written
        return False
    infos = [*held.get("write", {}).values(), *(info for readers in held.get("read", {}).values() for info in readers)]
    return any(runs_since(int(info["pid"]), file.stat().st_mtime) for info in infos)


def _rwlock() -> Path:
    return root() / ".dvc" / "tmp" / "rwlock"


def run_dvc(pipeline: Path, targets: Sequence[str], environment: Mapping[str, str], *, at_once: int) -> int:
    """Run the stages that changed through DVC and return its exit status; with ``at_once`` 1, in one ``dvc repro``."""
    with exit_on_sigterm():
        if at_once > 1:
            stages = stages_to_run(pipeline, targets)
            print(f"stages to run: {len(stages)}" if stages else "every stage is up to date")
            return run_stages(pipeline, stages, environment, at_once=at_once)
        process = start_group([sys.executable, "-m", "dvc", "repro", *chosen(pipeline, targets)], environment)
        try:
            return process.wait()
        finally:
            end_group(process)


def stages_at_once(params: Params) -> int:
    """How many stages run at the same time: only one where each must be confirmed with what it adds to the cost."""
    unconfirmed = YES not in os.environ and run_budget(params).confirm_above_dollars is not None
    return 1 if unconfirmed else params.runtime.stages_at_once


def publish(targets: Sequence[str]) -> None:
    """Copy the result tables of ``targets``, and of the stages that they need, to where git tracks them.

    Without targets every table is copied, and tables that no stage writes any more are removed. They are copies rather
    than outputs of the stages, because depending on outputs would make the second pipeline part of the first.
    """
    stages = read_pipeline(PUBLISHED)
    folder = PUBLISHED.parent / "tables"
    built = [Path(path) for name in with_needed(stages, targets) for path in declared_outputs(stages[name])]
    for path in built:
        if path.parent in (_BUILT, _BUILT / "tables") and path.suffix == ".csv":
            folder.mkdir(exist_ok=True)
            shutil.copyfile(path, PUBLISHED.parent / path.relative_to(_BUILT))
    if not targets:
        for file in folder.glob("*"):
            if _BUILT / "tables" / file.name not in built:
                file.unlink()


def backfill() -> bool:
    """Record the current lineage in MLflow if stage `record` was skipped for it; True when it was written now."""
    if not MAIN.with_suffix(".lock").exists() or RECORD_STAGE not in read_pipeline(MAIN):
        return False
    lineage = current_lineage()
    if is_recorded(lineage):
        return False
    from flows.engine.recording import gather  # loads pandas

    return recorded_lineages().write(lineage, gather(lineage))
