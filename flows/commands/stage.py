"""Runs one stage as a Prefect flow and reports an error on one line."""

import asyncio
import gc
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.rebuild.dvc_stage import NO_MORE_CALLS
from flows.rebuild.server import use_server
from flows.repository.cache import restore_outputs
from flows.repository.code import FOLDER, StageCode
from flows.repository.kept_runs import keep_run, md5_of
from flows.repository.lock import keep_lock
from flows.repository.params import is_collecting, load_params
from flows.repository.pipeline import StageFiles, maker_of, stage_files, stage_function
from flows.repository.processes import stage_lease
from flows.repository.terminal import fitted
from flows.repository.workspace import LOGGER
from schemas.errors import (
    BudgetError,
    BusyError,
    EndpointError,
    IdentityError,
    ParamsError,
    TableError,
    VignetteError,
    explained,
    first_cause,
)
from schemas.params import Params
from tasks.domains.in_use import VARIABLE
from tasks.tracking.lineage import CODE_STAGE, StageRun
from tasks.transport.instructions import use_instruction_set
from tasks.transport.processes import RUN, code_loaded_since, end_with_parent

STOPS_CALLS = (BudgetError, EndpointError, IdentityError)
"""Errors that concern every call of a rebuild, and not the stage alone: `NO_MORE_CALLS` is then the exit status."""

_work: list[Callable[[], Awaitable[None]]] = []
"""The work of the running stage.

Looked up rather than bound in the flow: a chunk on a Dask worker carries the flow along, and the stage's clients and
processes cannot be pickled. Nor is it a parameter of the flow: to record one, Prefect imports FastAPI for 0.2 s.
"""


def main(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Stage name, as in dvc.yaml.")],
    pipeline: Annotated[Path, typer.Option(help="The dvc.yaml that declares the stage.")] = Path("dvc.yaml"),
    params: Path = Path("params.yaml"),
    show_traceback: Annotated[bool, typer.Option("--traceback", help="Show where an error was raised.")] = False,
) -> None:
    """Run one stage as a Prefect flow. When it fails, its previous outputs are restored.

    Stage `code` names the stages whose code changed, and writes fingerprints/code/.
    """
    if name == CODE_STAGE:  # it reads all code and runs none of it: no params, no flow
        changed = StageCode().write()
        print(fitted(f"{FOLDER}: {'changed: ' + ', '.join(changed) if changed else 'unchanged'}"))
        return
    end_with_parent()
    try:
        with stage_lease(pipeline, name):
            if RUN not in os.environ:  # but for `dvc repro`, which writes nothing now
                keep_lock(pipeline.with_suffix(".lock"))
            asyncio.run(_run(name, pipeline, params))
    except BaseException as error:
        cause = first_cause(error)
        if not isinstance(cause, BusyError):  # another run may be at work
            restore_outputs(pipeline, name)
        _report(error, name, show_traceback)
        raise typer.Exit(NO_MORE_CALLS if isinstance(cause, STOPS_CALLS) else 1) from None


async def _run(name: str, pipeline: Path, params_file: Path) -> None:
    begun = os.environ.get(VARIABLE)  # of `vignette repro`; DVC has read dvc.yaml, whose paths name the domain
    params = load_params(params_file)
    if RUN in os.environ and begun not in (None, params.domain):
        said = f"domain is {params.domain!r}, and was {begun!r} when the run began"
        raise ParamsError(f"{params_file}: {said}; run it again")
    use_instruction_set(params.runtime.instruction_set)  # before the imports below, which load NumPy
    from flows.runtime.domain import load_domain, require_published_domain

    files = stage_files(pipeline, name)
    before = contents(files.deps.values())
    load_domain(params.domain)  # a defect of any of its files stops every stage
    require_published_domain(files, params.domain)
    if missing := [path for path in files.deps.values() if not path.exists()]:  # before Prefect, which takes seconds
        raise VignetteError(f"{missing[0]}: no such file; {maker_of(missing[0])}")
    require_same_code(name)
    use_server()  # before the imports below: Prefect reads its settings when it is imported
    gc.disable()  # look for no garbage in what is imported, now or at the end: a fourth of the time of a short stage
    from prefect import flow
    from prefect.flow_engine import run_flow_async

    from flows.rebuild.flow_run import create_run, server_errors
    from flows.runtime.confirmation import confirmation
    from flows.runtime.stage import Stage

    run_stage = stage_function(name.partition("@")[0])
    gc.freeze()
    gc.enable()
    stage = Stage(files, params, confirm=confirmation(name, pipeline))

    async def work() -> None:
        start = time.perf_counter()
        try:
            await run_stage(stage)
            stage.require_answers()
            keys, used = stage.used()
        finally:
            await stage.close()
        run = StageRun(time.perf_counter() - start, stage.rows, stage.unscored, **asdict(used))
        keep_run(name, files.outs.values(), run, keys)

    _work[:] = [work]
    made: Any = flow(
        name=name, flow_run_name=f"{pipeline}:{name}", persist_result=False, task_runner=_task_runner(params)
    )
    logging.getLogger(LOGGER).setLevel(logging.INFO)
    logging.getLogger(LOGGER).propagate = False  # not into the terminal
    stage_flow = made(run_work)
    with server_errors():
        await run_flow_async(stage_flow, flow_run=create_run(stage_flow), parameters={})
    require_unchanged(files, before, params, params_file)


def contents(paths: Iterable[Path]) -> dict[Path, str]:
    """Hash of each file, those in folders too, but for what Python leaves there. One only touched is no other file."""
    files = (file for path in paths for file in (path, *path.rglob("*")) if file.suffix != ".pyc" and file.is_file())
    return {file: md5_of(file) for file in files}


def require_unchanged(files: StageFiles, before: dict[Path, str], params: Params, file: Path) -> None:
    """Raise ParamsError or TableError where params or deps changed since the stage began: DVC would record them."""
    require_same_code(files.name)
    now, after = load_params(file), contents(files.deps.values())
    if files.params is not None:
        now, params = now.declared_only(files.params), params.declared_only(files.params)
    if now != params:
        raise ParamsError(f"{file}: params of stage {files.name} were changed while it ran; run it again")
    if changed := sorted(path for path, _ in before.items() ^ after.items()):
        raise TableError(f"{changed[0]}: changed while stage {files.name}, which reads it, ran; run it again")


def require_same_code(stage: str) -> None:
    """Raise VignetteError where code of the stage, by its file in FOLDER, was written since the run began.

    What is imported may be older: DVC would record the outputs of one branch as those of another.
    """
    listed = FOLDER / f"{stage.partition('@')[0]}.json"
    begun = code_loaded_since() + 1  # it is known to a second; rsync, tar and mv keep the time of the last edit
    for name in json.loads(listed.read_bytes()) if listed.is_file() else ():
        module = Path(name.replace(".", "/"))
        forms = [Path(name)] if "/" in name else [module.with_suffix(".py"), module / "__init__.py"]
        if any(begun < file.stat().st_ctime <= time.time() for file in forms if file.is_file()):
            raise VignetteError(f"{name}: changed since the run of stage {stage}, which uses it, began; run it again")


async def run_work() -> None:
    """Do the work of the stage."""
    await _work[0]()


def _task_runner(params: Params) -> Any:
    """Where chunks run: in this process (Prefect's default), or on the Dask cluster of ``runtime.dask``."""
    if params.runtime.dask is None or is_collecting():
        return None
    from flows.runtime.dask_chunks import dask_runner

    return dask_runner(params.runtime.dask, params.runtime.dask_workers)


def _report(error: BaseException, name: str, show_traceback: bool) -> None:
    cause = first_cause(error)
    if show_traceback:
        traceback.print_exception(cause)
    if isinstance(cause, KeyboardInterrupt):
        message = "interrupted; answered calls are stored, run again to resume"
    elif (said := explained(cause)) is not None:
        message = said
    else:
        detail = " ".join(str(cause).split()) or "no message"
        message = f"unexpected {type(cause).__name__}: {detail} (vignette stage {name} --traceback shows where)"
    print(f"{name}: {message}", file=sys.stderr)
