"""Makes a Prefect flow of a stage's work.

The work is looked up here, not closed over: a chunk on a Dask worker takes the flow along, and what a stage holds open
(clients, the endpoint's process) cannot travel.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from prefect import Flow, flow

_work: dict[str, Callable[[], Awaitable[None]]] = {}


async def run_stage(name: str) -> None:
    """Do the work of the stage ``name``."""
    await _work[name]()


def stage_flow(
    name: str, run_name: str, work: Callable[[], Awaitable[None]], task_runner: Any
) -> Flow[[str], Awaitable[None]]:
    """The flow of a stage; call it with the stage's name."""
    _work[name] = work
    made: Any = flow(name=name, flow_run_name=run_name, persist_result=False, task_runner=task_runner)
    return made(run_stage)
