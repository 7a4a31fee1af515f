"""One Dask worker against two."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from flows.repository.workspace import FOLDER, STORE
from tests.benchmarks.rows import Row, row
from tests.support.clone import Clone
from tests.support.endpoints import SimulatorServer, simulator
from tests.support.hosted import serving
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


RECORDS, CHUNK, LATENCY_S = 600, 50, 0.2


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


BENCHES = {"dask": dask}
