"""Runs a stage's chunks on a Dask cluster with Prefect's task runner, as ``runtime.dask`` of params.yaml asks.

Tables are passed as files in a folder that all workers reach (``runtime.chunks_url``), not through Prefect or Dask: a
local path or any URL of fsspec (``s3://bucket/folder``), with credentials from the environment or fsspec's own
configuration, never from params.
Each worker process opens its own clients on the same response store, so that no request is paid twice. The results are
the same bytes as without Dask.
"""

import asyncio
import hashlib
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fsspec
import pandas as pd
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect_dask import DaskTaskRunner

from flows.repository.params import run_budget
from flows.repository.pipeline import CODE
from flows.repository.workspace import be_quiet, workspace
from flows.runtime.chunks import ChunkWork, Frames, worth_retrying
from flows.runtime.clients import Clients, Confirm
from schemas.errors import IdentityError, StoreError
from schemas.params import Params
from tasks.domains.in_use import use_domain
from tasks.progress import CHUNK, progress

PROJECT = Path(__file__).resolve().parents[2]
LOCAL = "local"
USED = "used"
"""The table with the response store's keys of the replies that a chunk used, next to its results."""


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
    url = chunk_folder(params.runtime.chunks_url, clients.stage)
    remove_folder(url)
    for number, frames in enumerate(chunks):
        write_frames(f"{url}/{number}/in", frames)
    job = _job(clients, work, params)
    futures = [remote_chunk.submit(f"{url}/{number}", job) for number in range(len(chunks))]
    with progress(clients.stage, len(chunks), CHUNK) as count:
        for future in futures:
            await asyncio.to_thread(future.result)
            count.update()
    results = [read_frames(f"{url}/{number}/out") for number in range(len(chunks))]
    for result in results:
        clients.add_used(set(result.pop(USED)["key"]))
    remove_folder(url)
    return results


def _job(clients: Clients, work: ChunkWork, params: Params) -> Job:
    return Job(
        work,
        clients.stage,
        # Workers do not inherit this environment, so the run's budget is passed in params.
        params.model_copy(update={"budget": run_budget(params)}),
        {file.name: file.read_text(encoding="utf-8") for file in sorted(clients.fingerprints.glob("*.json"))},
        code_hash(),
        clients.confirm,
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
        asyncio.run(_process(url, job, Path(fingerprints)))


async def _process(url: str, job: Job, fingerprints: Path) -> None:
    params = job.params
    clients = Clients(job.stage, params, job.confirm, fingerprints=fingerprints)
    try:
        done: Frames = await job.work(read_frames(f"{url}/in"), clients.of, params)
        clients.require_answers()
        write_frames(f"{url}/out", {**done, USED: pd.DataFrame({"key": sorted(clients.used_keys())})})
    finally:
        await clients.close()


def write_frames(url: str, frames: Frames) -> None:
    """Write each table to a parquet file in the folder ``url``. Raises StoreError."""
    with _storage(url) as (system, folder):
        system.makedirs(folder, exist_ok=True)
        for name, frame in frames.items():
            with system.open(f"{folder}/{name}.parquet", "wb") as file:
                frame.to_parquet(file, index=False)


def read_frames(url: str) -> Frames:
    """Read all parquet files in the folder ``url``, by stem. Raises StoreError."""
    with _storage(url) as (system, folder):
        frames: Frames = {}
        for path in sorted(system.glob(f"{folder}/*.parquet")):
            with system.open(path, "rb") as file:
                frames[Path(path).stem] = pd.read_parquet(file)
        return frames


def remove_folder(url: str) -> None:
    """Delete the folder ``url``, if it exists. Raises StoreError."""
    with _storage(url) as (system, folder):
        if system.exists(folder):
            system.rm(folder, recursive=True)


@contextmanager
def _storage(url: str) -> Iterator[tuple[Any, str]]:
    """fsspec's file system of a folder and the path in it; listings are not cached, since others write too."""
    try:
        yield fsspec.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        hint = 'for s3 run: pip install "vignette[s3]"'
        raise StoreError(f"{url}: {error}; {hint}") from error
    except Exception as error:  # each kind of storage has its own errors
        problem = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise StoreError(
            f"{url}: tables of chunks cannot be exchanged ({problem}); every worker must reach the folder "
            "runtime.chunks_url with credentials from its environment or from fsspec's configuration"
        ) from error


def chunk_folder(url: str | None, stage: str) -> str:
    """The folder of a stage's chunks: in the clone, or under ``url`` in a folder that no other clone uses."""
    if url is None:
        return str(workspace() / "chunks" / stage)
    clone = hashlib.sha256(f"{socket.gethostname()} {workspace().resolve()}".encode()).hexdigest()[:12]
    return f"{url.rstrip('/')}/{clone}/{stage}"


@lru_cache(maxsize=1)
def code_hash() -> str:
    """Hash of the project's code and data files, by which a worker knows that it runs the code of the stage."""
    digest = hashlib.sha256()
    for path in sorted(path for name in CODE for path in (PROJECT / name).rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(PROJECT).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
