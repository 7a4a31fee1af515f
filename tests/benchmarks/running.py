"""What running a stage costs: an idle stage, calls through the store, and one Dask worker against two."""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import yaml
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from flows.repository.workspace import FOLDER, STORE
from schemas.params.llm import Role, Sending
from tasks.domains.rules import rules_of
from tasks.llm.calls import Call
from tasks.notes.prompting import build_prompts
from tasks.notes.writing import note_messages
from tasks.transport.client import Client
from tasks.transport.fingerprint import Fingerprint, simulator_identity
from tasks.transport.role import RoleAsk
from tasks.transport.store import ResponseStore
from tests.benchmarks.rows import Row, row, seconds
from tests.support.clone import Clone
from tests.support.endpoints import SimulatorServer, simulator
from tests.support.hosted import serving
from tests.support.records import NETWORK, random_records
from tests.support.stored import forget


@contextmanager
def delayed(server: SimulatorServer, seconds: float) -> Iterator[str]:
    """Serve the models of ``server``, each chat reply at least ``seconds`` after its request; yields the address."""
    client = httpx.AsyncClient(base_url=server.base_url, timeout=60)

    async def pass_on(request: Request) -> Response:
        path = request.path_params["path"]
        latency = asyncio.sleep(seconds if path.endswith("completions") else 0.0)
        sent = client.request(
            request.method, f"/{path}", content=await request.body(), headers={"Content-Type": "application/json"}
        )
        _, reply = await asyncio.gather(latency, sent)
        return Response(reply.content, reply.status_code, media_type="application/json")

    app = Starlette(routes=[Route("/v1/{path:path}", pass_on, methods=["GET", "POST"])])
    with serving(app) as url:
        yield url


ROLE = Role(base_url="simulator", model="vignette-writer", temperature=1.2, max_tokens=1000)
CONCURRENCY, CALLS, ROUNDS = 32, 2000, 3
RECORDS, CHUNK, LATENCY_S = 600, 50, 0.2
_IDLE_STAGE = '''"""Stage `idle`: no work."""

from flows.runtime.stage import Stage


async def run(stage: Stage) -> None:
    """Do nothing."""
'''


def idle() -> Iterator[Row]:
    """Seconds of a stage without work, compared with a bare import of Prefect."""
    with TemporaryDirectory() as folder:
        clone = Clone(Path(folder))
        (clone.folder / "flows" / "stages" / "idle.py").write_text(_IDLE_STAGE)
        (clone.folder / "dvc.yaml").write_text("stages:\n  idle: {cmd: vignette stage idle, outs: [idle.txt]}\n")
        clone.vignette("server", "start")
        try:
            ours = seconds(lambda: clone.vignette("stage", "idle"), 3)
            bare = seconds(lambda: subprocess.run([sys.executable, "-c", "import prefect"], check=True), 3)
        finally:
            clone.vignette("server", "stop")
    yield row("stage without work, whole process", ours, bare, "python -c 'import prefect'", "s", 3)


def calls() -> Iterator[Row]:
    """Notes a second through the store, and from the store, against a bare loop over the same client."""
    prompts = build_prompts(random_records(CALLS), NETWORK, rules_of("respiratory"), seed=7)["single_prompt"]
    asked = [Call(f"{n}/write", note_messages(text), sample=n) for n, text in enumerate(prompts)]
    with simulator() as server:
        asyncio.run(_bare(server.base_url, asked))  # it loads its rules
        rounds = [(asyncio.run(_bare(server.base_url, asked)), *_stored(server.base_url, asked)) for _ in range(ROUNDS)]
    bare, ours, kept = (CALLS / statistics.median(taken) for taken in zip(*rounds, strict=True))
    yield row("notes written a second through the store", ours, bare, "bare AsyncOpenAI loop", "calls/s", CALLS)
    yield row("kept replies read a second", kept, bare, "asking again in a bare AsyncOpenAI loop", "calls/s", CALLS)


def _stored(base_url: str, asked: list[Call]) -> tuple[float, float]:
    """Seconds of asking, and of asking again."""

    async def ask_twice() -> tuple[float, float]:
        fingerprint, sending = Fingerprint("writer", simulator_identity(ROLE)), Sending(concurrency=CONCURRENCY)
        with TemporaryDirectory() as folder, ResponseStore(Path(folder) / "responses.sqlite") as store:
            client = Client("writer", ROLE, store, recorded=fingerprint, sending=sending, base_url=base_url)
            async with RoleAsk(client, fingerprint, "bench", quiet=True) as ask:
                times = [time.perf_counter()]
                for _ in range(2):
                    assert all(answer.ok for answer in await ask(asked))
                    times.append(time.perf_counter())
        return times[1] - times[0], times[2] - times[1]

    return asyncio.run(ask_twice())


async def _bare(base_url: str, asked: list[Call]) -> float:
    client, places = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0), asyncio.Semaphore(CONCURRENCY)
    settings = {"model": ROLE.model, "temperature": ROLE.temperature, "max_tokens": ROLE.max_tokens}

    async def ask(call: Call) -> None:
        async with places:
            messages = [{"role": one.role, "content": one.content} for one in call.messages]
            await client.chat.completions.create(messages=messages, seed=call.sample, **settings)  # type: ignore[call-overload]

    begun = time.perf_counter()
    await asyncio.gather(*(ask(call) for call in asked))
    ended = time.perf_counter()
    await client.close()
    return ended - begun


def dask() -> Iterator[Row]:
    """Seconds of a stage's work on two workers, against one; the start of cluster and process is left out."""
    with TemporaryDirectory() as folder, simulator() as server, delayed(server, LATENCY_S) as url:
        clone = Clone(Path(folder))
        clone.set_params(sample__records=RECORDS, runtime__chunk_rows=CHUNK)
        clone.vignette("probe")
        for stage in ("sample", "prompt", "write"):
            clone.vignette("stage", stage)
        try:
            one, two = (_work(clone, "filter", workers) for workers in (1, 2))
            yield row("two Dask workers, filter with the simulator", two, one, "one worker", "s", RECORDS)
            clone.set_params(roles__writer__base_url=url, runtime__sending={"writer": {"concurrency": 4}})
            clone.vignette("probe", "--role", "writer")
            one, two = (_work(clone, "write", workers) for workers in (1, 2))
            yield row("two Dask workers, 200 ms a call", two, one, "one worker", "s", RECORDS)
        finally:
            clone.vignette("server", "stop")


def _work(clone: Clone, stage: str, workers: int) -> float:
    """Seconds of the stage's work with no reply stored."""
    forget(clone.folder / FOLDER / STORE, stage)
    params = yaml.safe_load((clone.folder / "params.yaml").read_text())
    params["runtime"] |= {"dask": "local", "dask_workers": workers}
    (clone.folder / "dask.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    begun = time.time()
    clone.vignette("stage", stage, "--params", "dask.yaml")
    runs = (clone.folder / ".vignette" / "runs" / stage).glob("*.json")
    (run,) = (file for file in runs if file.stat().st_mtime >= begun)
    return float(json.loads(run.read_text())["seconds"])


BENCHES = {"idle": idle, "calls": calls, "dask": dask}
