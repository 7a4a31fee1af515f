"""The Prefect flow ``rebuild``: a task for each stage of a dvc.yaml that has to run, chained as dvc.yaml says.

Each task has DVC run its stage in a process group. The stage's own flow run is shown beneath the task.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from prefect import flow, get_client, task
from prefect.client.schemas.objects import State
from prefect.events.worker import EventsWorker
from prefect.flow_engine import run_flow_sync
from prefect.futures import PrefectFuture, wait
from prefect.logging.handlers import APILogWorker
from prefect.runtime import task_run
from prefect.states import Cancelled, Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.lineage.lineage import current_lineage, run_name
from flows.rebuild.dvc_stage import BUSY, NO_MORE_CALLS, UNCHANGED
from flows.rebuild.flow_run import PARENT_TASK, create_run, server_errors
from flows.rebuild.live import StageLines
from flows.repository.cache import restore_outputs
from flows.repository.pipeline import MAIN, model_stages, needed_by, read_pipeline
from flows.repository.processes import Process, end_group, start_group
from schemas.errors import VignetteError
from tasks.transport.processes import STAGE_RUNNER

RETRY_S = 5


class InfrastructureError(VignetteError):
    """A stage was killed from outside, or another DVC used its files."""


@dataclass(frozen=True)
class Unfinished:
    """The stages of a rebuild that failed, and those that were not run, with the failed ones behind each."""

    failed: Sequence[str] = field(default_factory=list)
    not_run: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        not_run = ", ".join(f"{name} (because of {', '.join(by)})" for name, by in self.not_run.items())
        return f"failed: {', '.join(self.failed)}" + (f"\nnot run: {not_run}" if not_run else "")


def rebuild(pipeline: Path, names: Sequence[str], *, at_once: int) -> Unfinished:
    """Run the stages ``names`` of a dvc.yaml, ``at_once`` at a time.

    A stage whose inputs come out unchanged is skipped. After a failure, stages that do not depend on the failed one
    still run, but for those that call a model where the reason concerns them all (budget, authentication, identity).
    """
    needs = longest_chain_first(needed_by(read_pipeline(pipeline)), names)
    stages = _Stages(pipeline, len(needs))
    ended: dict[str, State[Any]] = {}

    threads: Any = ThreadPoolTaskRunner(at_once)
    lineage = run_name()

    @flow(name="rebuild", flow_run_name=lineage, persist_result=False, task_runner=threads)
    def chain() -> State[Any]:
        futures: dict[str, PrefectFuture[Any]] = {}
        over, finished = set[str](), SimpleQueue[str]()

        def note(name: str) -> Callable[[PrefectFuture[Any]], None]:
            return lambda _: finished.put(name)

        with stages:
            while len(over) < len(needs):
                # The runner would start whatever is submitted, and the longest chain is to go first. So ``wait_for``
                # holds nothing up; it draws the graph.
                ready = (name for name in needs if name not in futures and needs[name] <= over)
                for name in islice(ready, at_once - (len(futures) - len(over))):
                    futures[name] = stages.submit(name, [futures[other] for other in sorted(needs[name])])
                    futures[name].add_done_callback(note(name))
                over.add(finished.get())
            wait(list(futures.values()))  # at once, and then they know their states without asking the server
        ended.update({name: future.state for name, future in futures.items()})
        reached = all(state.is_completed() for state in ended.values())
        return Completed() if reached else Failed(message=str(_unfinished(ended, needs, stages.stopped_by)))

    tags = (f"revision: {lineage.split()[0]}", f"pipeline: {pipeline.parent.name or 'main'}")
    try:
        with server_errors():
            created = create_run(chain, tags)
            state = run_flow_sync(chain, flow_run=created, parameters={}, return_type="state")
    finally:  # before the server is stopped: at exit Prefect would try for a minute to reach it
        APILogWorker.drain_all()
        EventsWorker.drain_all()
    assert isinstance(state, State)
    if state.is_completed() and pipeline == MAIN and MAIN.with_suffix(".lock").exists():
        with get_client(sync_client=True) as client:
            client.update_flow_run(created.id, tags=[*tags, f"lineage: {current_lineage().id}"])
    return _unfinished(ended, needs, stages.stopped_by)


def longest_chain_first(needs: Mapping[str, set[str]], names: Sequence[str]) -> dict[str, set[str]]:
    """What each of the stages ``names`` needs of them; first those with which the longest chain of stages begins.

    A stage comes after those that it needs.
    """
    among = {name: needs[name] & set(names) for name in names}
    lengths: dict[str, int] = {}
    for name in reversed([*TopologicalSorter(among).static_order()]):
        lengths[name] = 1 + max((lengths[other] for other in among if name in among[other]), default=0)
    return dict(sorted(among.items(), key=lambda item: -lengths[item[0]]))


def _unfinished(ended: Mapping[str, State[Any]], needs: Mapping[str, set[str]], stopped_by: str | None) -> Unfinished:
    failed = [name for name, state in ended.items() if state.is_failed() or state.is_crashed()]

    def causes(name: str) -> set[str]:
        if name in failed:
            return {name}
        own = {stopped_by} if stopped_by and ended[name].is_cancelled() else set()
        return own.union(*(causes(other) for other in needs[name]))

    not_run = [name for name, state in ended.items() if name not in failed and not state.is_completed()]
    return Unfinished(failed, {name: sorted(causes(name)) for name in not_run})


class _Stages:
    """The stages of one rebuild. Leaving the context ends those that still run."""

    def __init__(self, pipeline: Path, count: int) -> None:
        self.stopped_by: str | None = None
        """The stage after whose error no other stage that calls a model may start."""
        self._pipeline = pipeline
        self._calling = model_stages(pipeline)
        self._running = dict[str, Process]()
        self._lines, self._is_closed = StageLines(count), False

    def submit(self, name: str, wait_for: Sequence[PrefectFuture[Any]]) -> PrefectFuture[Any]:
        """Submit the Prefect task that runs a stage after others."""

        @task(
            name=name,
            task_run_name=name,
            persist_result=False,
            retries=1,
            retry_delay_seconds=RETRY_S,
            retry_condition_fn=lambda _task, _run, state: isinstance(state.data, InfrastructureError),
        )
        def run_stage() -> State[Any]:
            return self._run(name)

        return run_stage.submit(return_state=False, wait_for=wait_for)

    def __enter__(self) -> "_Stages":
        self._lines.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed = True
        for process in list(self._running.values()):
            end_group(process)
        self._lines.__exit__()

    def _run(self, name: str) -> State[Any]:
        if self._is_closed:
            return Cancelled(message="the rebuild was interrupted")
        if self.stopped_by is not None and name in self._calling:
            return Cancelled(message=f"no further call is made after the error of stage {self.stopped_by}")
        status = self._status(name)
        self._lines.end(name, unchanged=status == UNCHANGED, failed=status not in (0, UNCHANGED))
        if status == UNCHANGED:
            return Completed(name="Unchanged", message="its inputs came out unchanged")
        if status == NO_MORE_CALLS:
            self.stopped_by = name
        if (status == BUSY or status >= 128 or status < 0) and not self._is_closed:
            raise InfrastructureError(f"stage {name} was interrupted (exit status {status})")
        if status != 0:
            raise VignetteError(f"stage {name} ended with exit status {status}")
        return Completed()

    def _status(self, name: str) -> int:
        """Exit status of DVC."""
        environment = {PARENT_TASK: str(task_run.id), **self._lines.begin(name)}
        command = [sys.executable, "-m", STAGE_RUNNER, f"{self._pipeline}:{name}"]
        process = start_group(command, environment, piped=self._lines.live is not None)
        self._running[name] = process
        if self._is_closed:  # while the process was started
            end_group(process)
        try:
            return self._lines.wait(name, process)
        finally:
            end_group(process)  # dvc may have been killed without the stage
            if process.returncode not in (0, UNCHANGED, BUSY):  # dvc deletes outputs before it runs a stage
                restore_outputs(self._pipeline, name)
            del self._running[name]
