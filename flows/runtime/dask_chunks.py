"""Runs a stage's chunks on a Dask cluster with Prefect's task runner, as ``runtime.dask`` of params.yaml asks.

Dask carries the tables of a chunk to a worker and back. Each worker process opens its own clients on the same response
store, so that no request is paid twice. The results are the same bytes as without Dask.
"""

import asyncio
import hashlib
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect_dask import DaskTaskRunner

from flows.repository.params import run_budget
from flows.repository.pipeline import CODE
from flows.repository.workspace import be_quiet
from flows.runtime.chunks import ChunkWork, Frames, worth_retrying
from flows.runtime.clients import Clients, Confirm
from schemas.errors import IdentityError
from schemas.params import Params
from tasks.domains.in_use import use_domain
from tasks.progress import CHUNK, progress

PROJECT = Path(__file__).resolve().parents[2]
LOCAL = "local"


@dataclass(frozen=True)
class Job:
    """Everything but its tables that a worker needs for a chunk.

    ``params`` are those that dvc.yaml lists for the stage, ``fingerprints`` holds the recorded identities by file name.
    """

    work: ChunkWork
    stage: str
    params: Params
    fingerprints: dict[str, str]
    code: str
    confirm: Confirm | None


def dask_runner(where: str, workers: int) -> DaskTaskRunner:
    """The task runner for ``runtime.dask``: a local cluster of ``workers`` processes, or a scheduler's address."""
    if where != LOCAL:
        return DaskTaskRunner(address=where)
    settings = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    return DaskTaskRunner(cluster_kwargs={**settings, "host": "127.0.0.1"})


async def run_on_dask(clients: Clients, work: ChunkWork, chunks: Sequence[Frames], params: Params) -> list[Frames]:
    """Run ``work`` on each chunk on the cluster and return the results in the order of the chunks."""
    job = Job(
        work,
        clients.stage,
        # Workers do not inherit this environment, so the run's budget is passed in params.
        params.model_copy(update={"budget": run_budget(params)}),
        {file.name: file.read_text(encoding="utf-8") for file in sorted(clients.fingerprints.glob("*.json"))},
        code_hash(),
        clients.confirm,
    )
    futures = [remote_chunk.submit(frames, job) for frames in chunks]
    results: list[Frames] = []
    with progress(clients.stage, len(chunks), CHUNK) as count:
        for future in futures:
            done, keys = await asyncio.to_thread(future.result)
            clients.add_used(keys)
            results.append(done)
            count.update()
    return results


@task(name="chunk", retries=2, retry_condition_fn=worth_retrying, cache_policy=NO_CACHE, persist_result=False)
def remote_chunk(frames: Frames, job: Job) -> tuple[Frames, set[bytes]]:
    """Process one chunk in a worker; returns its tables, and the store's keys of the replies that it used.

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
        return asyncio.run(_process(frames, job, Path(fingerprints)))


async def _process(frames: Frames, job: Job, fingerprints: Path) -> tuple[Frames, set[bytes]]:
    async with Clients(job.stage, job.params, job.confirm, fingerprints=fingerprints) as clients:
        done = await job.work(frames, clients.of, job.params)
        clients.require_answers()
        return done, clients.used_keys()


@lru_cache(maxsize=1)
def code_hash() -> str:
    """Hash of the project's code and data files, by which a worker knows that it runs the code of the stage."""
    digest = hashlib.sha256()
    for path in sorted(path for name in CODE for path in (PROJECT / name).rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(PROJECT).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
