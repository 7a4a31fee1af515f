"""Flow runs beneath a task of another run, in another process."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import disk_usage
from typing import Any
from uuid import UUID, uuid4

from prefect import Task, get_client
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun, TaskRunResult
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from schemas.errors import VignetteError

PARENT_TASK = "VIGNETTE_PARENT_TASK"
"""Environment variable with the id of the task run beneath which Prefect shows the flow run of a started process."""
RECORDED_S = 60.0
"""How long a busy server may take to record a task run that has begun."""


@contextmanager
def server_errors() -> Iterator[None]:
    """Raises VignetteError where Prefect's server fails, as one whose database no longer fits on the disk does."""
    try:
        yield
    except PrefectHTTPStatusError as error:
        here, status = Path.cwd(), error.response.status_code
        raise VignetteError(
            f"Prefect's server failed ({status}); {disk_usage(here).free / 1e6:.0f} MB are free on the disk of {here}. "
            "Finished stages and stored replies are kept; free space if it is full, and run again"
        ) from error


def create_run(made: Any, tags: Sequence[str] = ()) -> FlowRun:
    """Create the run of a flow, beneath the task of the process that started this one if there is one."""
    task = os.environ.get(PARENT_TASK)
    with get_client(sync_client=True) as client:
        parent = None if task is None else _task_within(client, UUID(task), made.flow_run_name)
        return client.create_flow_run(made, name=made.flow_run_name, tags=tags, parent_task_run_id=parent)


def _task_within(client: SyncPrefectClient, task_run: UUID, name: str) -> UUID:
    """A task run within another, whose place a flow run takes in Prefect's graph.

    A flow run directly beneath a task would take that task's place, and the arrows from it would be lost.
    """
    for attempt in Retrying(
        retry=retry_if_exception_type(ObjectNotFound),  # the server hears of a task run by an event
        wait=wait_fixed(0.2),
        stop=stop_after_delay(RECORDED_S),
        reraise=True,
    ):
        with attempt:
            outer = client.read_task_run(task_run)
    within: dict[str, list[Any]] = {"__parents__": [TaskRunResult(id=outer.id)]}
    inner = client.create_task_run(
        Task(fn=_nothing, name=name), outer.flow_run_id, str(uuid4()), name=name, task_inputs=within
    )
    return inner.id


def _nothing() -> None:
    """The task that a flow run stands for does nothing itself."""
