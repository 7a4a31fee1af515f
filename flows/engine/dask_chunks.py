"""Runs a stage's chunks on a Dask cluster with Prefect's task runner, as ``runtime.dask`` of params.yaml asks.

Tables are passed as files in a shared folder, not through Prefect or Dask. Each worker process opens its own clients on
the same response store, so that no request is paid twice. The results are the same bytes as without Dask.
"""

import asyncio
import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pandas as pd
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect_dask import DaskTaskRunner

from flows.engine.chunks import ChunkWork, Frames, worth_retrying
from flows.engine.clients import Clients
from flows.engine.confirmation import Guard
from flows.engine.measured import read_keys
from flows.engine.params import run_budget
from flows.engine.workspace import be_quiet, workspace
from schemas.params import Params

LOCAL = "local"
USED = "used.keys"


def dask_runner(where: str, workers: int) -> DaskTaskRunner:
    """The task runner for ``runtime.dask``: a local cluster of ``workers`` processes, or a scheduler's address."""
    if where != LOCAL:
        return DaskTaskRunner(address=where)
    settings = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    return DaskTaskRunner(cluster_kwargs={**settings, "host": "127.0.0.1"})


async def run_on_dask(clients: Clients, work: ChunkWork, chunks: Sequence[Frames], params: Params) -> list[Frames]:
    """Run ``work`` on each chunk on the cluster and return the results in the order of the chunks."""
    folder = workspace() / "chunks" / clients.stage
    shutil.rmtree(folder, ignore_errors=True)
    for number, frames in enumerate(chunks):
        write_frames(frames, folder / str(number) / "in")
    url = clients.start_simulator() if any(role.is_embedded for role in params.roles.values()) else None
    name = f"{work.__module__}:{work.__qualname__}"
    # Workers do not inherit this environment, so the run's budget is passed in params.
    handed = params.model_copy(update={"budget": run_budget(params)}).model_dump_json()
    futures = [
        remote_chunk.submit(str(folder / str(number)), name, clients.stage, handed, url, clients.guard)
        for number in range(len(chunks))
    ]
    await asyncio.to_thread(lambda: [future.result() for future in futures])
    results = [read_frames(folder / str(number) / "out") for number in range(len(chunks))]
    for number in range(len(chunks)):
        clients.add_used(read_keys(folder / str(number) / USED))
    shutil.rmtree(folder)
    return results


@task(name="chunk", retries=2, retry_condition_fn=worth_retrying, cache_policy=NO_CACHE, persist_result=False)
def remote_chunk(
    folder: str, work: str, stage: str, params_json: str, simulator_url: str | None, guard: Guard | None
) -> None:
    """Process one chunk in a worker: read tables from ``folder``/in, write tables to ``folder``/out."""
    be_quiet()
    module, function = work.split(":")
    params = Params.model_validate_json(params_json)
    clients = Clients(stage, params, workspace(), guard, simulator_url=simulator_url)

    async def run() -> Frames:
        try:
            done: Frames = await getattr(import_module(module), function)(
                read_frames(Path(folder, "in")), clients.of, params
            )
            clients.require_answers()
            Path(folder, USED).write_bytes(b"".join(sorted(clients.used_keys())))
            return done
        finally:
            await clients.close()

    write_frames(asyncio.run(run()), Path(folder, "out"))


def write_frames(frames: Frames, folder: Path) -> None:
    """Write each table to a parquet file in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in frames.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False)


def read_frames(folder: Path) -> Frames:
    """Read the parquet files of ``folder``, by stem."""
    return {path.stem: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}
