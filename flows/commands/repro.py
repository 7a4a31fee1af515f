"""Probes the models, rebuilds through DVC what changed and records the lineage; ``watch`` does the same on a schedule.

dvc.yaml alone defines the graph of stages. `flows.rebuild.flow` runs those that changed.
"""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.estimate import print_estimates, print_ledger, print_lines
from flows.commands.probe import probe_roles, roles_to_probe, would_change
from flows.lineage.lineage import current_lineage, is_recorded, recorded_lineages, store_folder
from flows.rebuild.forks import stages_forked
from flows.rebuild.plan import stages_to_run, status
from flows.rebuild.server import stop_if_unused, use_server
from flows.repository.code import StageCode
from flows.repository.git import require_repository
from flows.repository.lock import lock_in_use, restore_lock
from flows.repository.params import STARTED_BY, YES, load_params
from flows.repository.pipeline import MAIN, PUBLISHED, declared_outputs, paths_of, read_pipeline, with_needed
from flows.repository.processes import exclusive, exit_on_sigterm
from flows.repository.surroundings import require_schema
from flows.repository.terminal import fitted
from flows.repository.workspace import root
from flows.runtime.confirmation import paid_stages, require_confirmation
from flows.runtime.sources import declared_sources, fingerprint_file, record_sources, sources_folder
from schemas.errors import ParamsError, did_you_mean
from schemas.params import Params
from tasks.progress import number_of
from tasks.tracking.lineage import RECORD_STAGE
from tasks.transport.instructions import use_instruction_set

_REPORT = Path("reports/index.html")
_BUILT = Path("data/published")
_NAMED = 8
"""Most stages that the end of a run names."""


def main(
    targets: Annotated[list[str] | None, typer.Argument(help="Stages to rebuild with what they depend on.")] = None,
    pipeline: Annotated[Path, typer.Option(help="The dvc.yaml to rebuild.")] = MAIN,
    probe: Annotated[bool, typer.Option("--probe/--no-probe", help="Identify the models first.")] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be rebuilt and its cost; ask no model.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
    keep_server: Annotated[bool, typer.Option("--keep-server", help="Leave the Prefect server running.")] = False,
) -> None:
    """Probe the models, rebuild through DVC what changed (every stage unless TARGETS name some), record the lineage."""
    os.chdir(root())
    require_repository()
    if yes:
        os.environ[YES] = "1"
    begun = time.time()
    try:
        params = load_params()  # before DVC deletes anything
        known = read_pipeline(pipeline)
        for name in targets or []:
            if name not in known and not Path(name).exists():
                raise ParamsError(f"{name}: no stage of {pipeline}{did_you_mean(name, known)}")
        use_instruction_set(params.runtime.instruction_set)
        with exclusive(), exit_on_sigterm():
            restore_lock(pipeline.with_suffix(".lock"))
            if dry_run:
                roles = would_change(params) if probe else ()
                code = () if pipeline == MAIN else [path.stem for path in StageCode().changed()]
                stages = stages_to_run(pipeline, targets or [], roles, code)
                print(fitted("would rebuild: " + (", ".join(stages) or "nothing")))
                if paid_stages(params, pipeline, stages):
                    print_estimates(params, pipeline, only=stages)
                else:
                    print("none of them asks a model but the simulator's, which costs nothing")
                return
            if pipeline == PUBLISHED:
                record_all_sources(params)
            if pipeline != MAIN:  # whose stage `code` writes for all pipelines
                StageCode().write()
            with ThreadPoolExecutor(1) as pool:  # DVC looks while the models are asked who they are
                said = pool.submit(status, pipeline, targets or [])
                probed = probe_roles(params, roles_to_probe(params)) if probe else []
            changed = [found.role for found in probed if found.changed]
            stages = stages_to_run(pipeline, targets or [], changed, said=said.result())
            if stages and params.by_rules:
                from flows.runtime.domain import require_rules  # loads NumPy

                require_rules(params.domain)  # whose gaps would leave symptoms without a mention, and no word of it
            require_confirmation(params, pipeline, stages, show=print_lines)
            os.environ[YES] = "1"  # the run is confirmed as a whole: no stage asks again
            ended = _rebuild(params, pipeline, targets or [], stages, begun)
    except KeyboardInterrupt:
        print("repro: interrupted; finished stages and stored replies are kept, run again to resume", file=sys.stderr)
        ended = 130
    finally:
        if not keep_server and not dry_run:
            stop_if_unused()
    raise typer.Exit(ended)


def _rebuild(params: Params, pipeline: Path, targets: Sequence[str], stages: Sequence[str], begun: float) -> int:
    print(f"stages to run: {len(stages)}" if stages else "nothing to run: up to date", flush=True)
    if stages:
        require_schema(store_folder() / "mlflow.db")
        use_server()  # before the import: Prefect reads its settings when it is imported
        with stages_forked(len(stages)), lock_in_use(pipeline.with_suffix(".lock")):
            from flows.rebuild.flow import rebuild  # while the server imports as well

            outcome = rebuild(pipeline, stages, at_once=params.runtime.stages_at_once)
        if outcome.failed:
            if pipeline == PUBLISHED:
                publish(targets, but={*outcome.failed, *outcome.not_run})
            resume = os.environ.get(STARTED_BY) or shlex.join(["vignette", *sys.argv[1:]])
            print(f"repro: {outcome}", file=sys.stderr)
            print(f"finished stages and stored replies are kept; to resume, run: {resume}", file=sys.stderr)
            return 1
    if pipeline == MAIN:
        if not targets or "report" in stages:  # else the page is of an earlier lineage
            from flows.lineage.report import write_report  # loads Jinja

            write_report()
        backfill()
        if stages:
            print_end(params, stages, time.time() - begun, whole=not targets)
        elif _REPORT.is_file():
            print(f"report: {_REPORT.resolve()}")
    elif pipeline == PUBLISHED:
        publish(targets)
    elif stages:
        declared = read_pipeline(pipeline)
        made = [str(path) for name in stages for path in declared_outputs(declared[name])]
        print(f"written: {', '.join(made)}")
    return 0


def print_end(params: Params, stages: Sequence[str], duration: float, *, whole: bool) -> None:
    """Say what the run did: duration in seconds, stages, and of a whole run key figures with n and who judged.

    After a part, the tables of the other stages are of an earlier run.
    """
    minutes, seconds = divmod(round(duration), 60)
    named = f" ({', '.join(stages)})" if len(stages) <= _NAMED else ""
    print(fitted(f"\ndone in {minutes} min {seconds} s: {number_of(len(stages), 'stage')}{named}"))
    if whole:
        print_figures(params, Path("reports/tables"))
    print_ledger(params)
    print(f"report: {_REPORT.resolve()}" if whole else "key figures and report are of a whole run: vignette repro")
    if STARTED_BY not in os.environ:  # else the user is in another clone
        print("what moved since the committed lineage: vignette compare HEAD workspace")


def print_figures(params: Params, folder: Path) -> None:
    """Print the key figures of a folder of tables, and in which roles rules wrote and judged."""
    import pandas as pd

    from tasks.reporting.page import by_rules, key_figures

    tables = {file.stem: pd.read_csv(file) for file in sorted(folder.glob("*.csv"))}
    figures = key_figures(tables)
    size = max((len(figure["value"]) for figure in figures), default=0)
    for figure in figures:
        said = f"  {figure['value']:>{size}}  {figure['label']}; {figure['interval']}"
        print(fitted(said, indent=size + 4))
    if named := by_rules(params):
        print(f"{', '.join(named)}: the simulator's rules, no language model")


def record_all_sources(params: Params) -> list[str]:
    """Record what each stage reads of the outside data; returns the stages whose files changed since the last time."""
    readers = source_readers()
    folder = sources_folder(params.sources.folder, map(fingerprint_file, readers))
    return [name for name in readers if record_sources(folder, declared_sources(name, params), fingerprint_file(name))]


def source_readers() -> list[str]:
    """The stages of the second pipeline that read outside data."""
    stages = read_pipeline(PUBLISHED).items()
    return [name for name, stage in stages if fingerprint_file(name) in paths_of(stage.get("deps", []))]


def publish(targets: Sequence[str], *, but: Collection[str] = ()) -> None:
    """Copy the result tables of ``targets``, and of the stages that they need, to where git tracks them.

    Without targets every table is copied. They are copies rather than outputs of the stages, because depending on
    outputs would make the second pipeline part of the first. Tables of the stages ``but``, which did not end, stay as
    they are.
    """
    stages = read_pipeline(PUBLISHED)
    folder = PUBLISHED.parent / "tables"
    outs = {name: [Path(path) for path in declared_outputs(stages[name])] for name in with_needed(stages, targets)}
    for path in (path for name, paths in outs.items() if name not in but for path in paths):
        if path.parent in (_BUILT, _BUILT / "tables") and path.suffix == ".csv":
            folder.mkdir(exist_ok=True)
            shutil.copyfile(path, PUBLISHED.parent / path.relative_to(_BUILT))


def backfill() -> bool:
    """Record the current lineage in MLflow if stage `record` was skipped for it; True when it was written now."""
    is_made = MAIN.with_suffix(".lock").exists() and RECORD_STAGE in read_pipeline(MAIN)
    if not is_made or is_recorded(lineage := current_lineage()):
        return False
    print("recording this lineage in MLflow", flush=True)
    from flows.lineage.recording import gather  # loads pandas

    return recorded_lineages().write(lineage, gather(lineage))
