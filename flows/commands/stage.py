"""The one command for stages: ``vignette stage NAME [--pipeline FILE]``, as dvc.yaml calls it.

Reads params, points Prefect at the project's server, runs the stage's flow, and turns an error into one line.
"""

import asyncio
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.engine.params import load_params
from flows.engine.pipeline import stage_files
from flows.engine.restore import restore_outputs
from flows.engine.server import use_server
from schemas.errors import VignetteError
from schemas.params import Params


def main(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Stage name, as in dvc.yaml.")],
    pipeline: Annotated[Path, typer.Option(help="The dvc.yaml that declares the stage.")] = Path("dvc.yaml"),
    params: Path = Path("params.yaml"),
    show_traceback: Annotated[bool, typer.Option("--traceback", help="Show where an error was raised.")] = False,
) -> None:
    """Run one stage as a Prefect flow. When it fails, its previous outputs are restored."""
    try:
        asyncio.run(_run(name, pipeline, params))
    except BaseException as error:
        restore_outputs(pipeline, name)
        _report(error, name, show_traceback)
        raise typer.Exit(1) from None


async def _run(name: str, pipeline: Path, params_file: Path) -> None:
    params = load_params(params_file)
    files = stage_files(pipeline, name)
    use_server()  # before the imports below: Prefect reads its settings when it is imported
    module = import_module(f"flows.stages.{name}")
    from flows.commands.running import stage_flow
    from flows.engine.stage import Stage

    stage = Stage(files, params)

    async def work() -> None:
        try:
            await module.run(stage)
        finally:
            await stage.close()

    await stage_flow(name, f"{pipeline}:{name}", work, _task_runner(params))(name)


def _task_runner(params: Params) -> Any:
    """Where chunks run: in this process (Prefect's default), or on the Dask cluster of ``runtime.dask``."""
    if params.runtime.dask is None:
        return None
    from flows.engine.dask_chunks import dask_runner

    return dask_runner(params.runtime.dask, params.runtime.dask_workers)


def _report(error: BaseException, name: str, show_traceback: bool) -> None:
    for cause in _leaves(error):
        if show_traceback:
            traceback.print_exception(cause)
        if isinstance(cause, KeyboardInterrupt):
            print(f"{name}: interrupted; answered calls are kept, run again to go on", file=sys.stderr)
        elif isinstance(cause, VignetteError):
            print(f"{name}: {cause}", file=sys.stderr)
        else:
            detail = " ".join(str(cause).split()) or "no message"
            print(
                f"{name}: unexpected {type(cause).__name__}: {detail} (vignette stage {name} --traceback shows where)",
                file=sys.stderr,
            )
        break


def _leaves(error: BaseException) -> list[BaseException]:
    """Errors inside exception groups, those that name their cause first."""
    if isinstance(error, BaseExceptionGroup):
        leaves = [leaf for inner in error.exceptions for leaf in _leaves(inner)]
        return sorted(leaves, key=lambda leaf: not isinstance(leaf, VignetteError))
    return [error]
