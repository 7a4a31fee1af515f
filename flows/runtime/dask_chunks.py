"""Runs a stage's chunks on a Dask cluster with Prefect's task runner, as ``runtime.dask`` of params.yaml asks.

Tables are passed as files in a folder that all workers reach (``runtime.chunks_url``), not through Prefect or Dask.
Each worker process opens its own clients on the same response store, so that no request is paid twice. The results are
the same bytes as without Dask.
"""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect_dask import DaskTaskRunner

from flows.runtime.chunk_files import ChunkFiles, chunk_folder, code_hash
from flows.runtime.chunks import ChunkWork, Frames, worth_retrying
from flows.runtime.clients import Clients, Confirms
from flows.runtime.params import run_budget
from flows.runtime.simulator_server import SimulatorServer
from flows.runtime.workspace import be_quiet, workspace
from schemas.errors import IdentityError
from schemas.params import Params
from tasks.domains.in_use import use_domain
from tasks.progress import CHUNK, progress

LOCAL = "local"


@dataclass(frozen=True)
class Job:
    """Everything but its tables that a worker needs for a chunk.

    ``params`` are those that dvc.yaml lists for the stage, ``fingerprints`` holds the recorded identities by file name.
    ``simulator_url`` is None on a cluster elsewhere, whose workers start simulators of their own.
    """

    work: ChunkWork
    stage: str
    params: Params
    fingerprints: dict[str, str]
    code: str
    simulator_url: str | None
    guard: Confirms | None


def dask_runner(where: str, workers: int) -> DaskTaskRunner:
    """The task runner for ``runtime.dask``: a local cluster of ``workers`` processes, or a scheduler's address."""
    if where != LOCAL:
        return DaskTaskRunner(address=where)
    settings = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    return DaskTaskRunner(cluster_kwargs={**settings, "host": "127.0.0.1"})


async def run_on_dask(clients: Clients, work: ChunkWork, chunks: Sequence[Frames], params: Params) -> list[Frames]:
    """Run ``work`` on each chunk on the cluster and return the results in the order of the chunks."""
    folder = chunk_folder(params.runtime.chunks_url, clients.stage)
    folder.remove()
    for number, frames in enumerate(chunks):
        folder.of(number).of("in").write(frames)
    job = _job(clients, work, params)
    futures = [remote_chunk.submit(folder.of(number).url, job) for number in range(len(chunks))]
    with progress(clients.stage, len(chunks), CHUNK) as count:
        for future in futures:
            await asyncio.to_thread(future.result)
            count.update()
    results = [folder.of(number).of("out").read() for number in range(len(chunks))]
    for number in range(len(chunks)):
        clients.add_used(folder.of(number).read_keys())
    folder.remove()
    return results


def _job(clients: Clients, work: ChunkWork, params: Params) -> Job:
    is_simulated = any(role.is_simulator for role in params.roles.values())
    return Job(
        work,
        clients.stage,
        # Workers do not inherit this environment, so the run's budget is passed in params.
        params.model_copy(update={"budget": run_budget(params)}),
        {file.name: file.read_text(encoding="utf-8") for file in sorted(clients.fingerprints.glob("*.json"))},
        code_hash(),
        clients.start_simulator() if is_simulated and params.runtime.dask == LOCAL else None,
        clients.guard,
    )


@task(name="chunk", retries=2, retry_condition_fn=worth_retrying, cache_policy=NO_CACHE, persist_result=False)
def remote_chunk(url: str, job: Job) -> None:
    """Process one chunk in a worker: read the tables from the folder ``url``/in, write the results to ``url``/out.

    Raises IdentityError in a worker whose code differs from that of the stage.
    """
    be_quiet()
    if code_hash() != job.code:
        raise IdentityError(
            f"the worker in {Path.cwd()} on {socket.gethostname()} has other code than stage {job.stage}; check out "
            "the same commit there, without further changes, and restart the worker"
        )
    use_domain(job.params.domain)
    with TemporaryDirectory() as fingerprints:
        for name, text in job.fingerprints.items():
            Path(fingerprints, name).write_text(text, encoding="utf-8")
        asyncio.run(_process(ChunkFiles(url), job, Path(fingerprints)))


async def _process(chunk: ChunkFiles, job: Job, fingerprints: Path) -> None:
    params = job.params
    url = job.simulator_url
    if url is None and any(role.is_simulator for role in params.roles.values()):
        url = _own_simulator(params.domain).base_url
    clients = Clients(job.stage, params, workspace(), job.guard, simulator_url=url, fingerprints=fingerprints)
    try:
        done: Frames = await job.work(chunk.of("in").read(), clients.of, params)
        clients.require_answers()
        chunk.of("out").write(done)
        chunk.write_keys(clients.used_keys())
    finally:
        await clients.close()


@lru_cache(maxsize=1)
def _own_simulator(domain: str) -> SimulatorServer:
    """The simulator of this worker process in ``domain``, which ends with the process."""
    return SimulatorServer(workers=1)
