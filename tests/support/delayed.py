"""A loopback endpoint that passes requests on to the simulator and answers each after a fixed latency."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from flows.runtime.clients import SimulatorServer
from tests.support.hosted import serving


@contextmanager
def delayed(simulator: SimulatorServer, seconds: float) -> Iterator[str]:
    """Serve the models of ``simulator``, each chat reply at least ``seconds`` after its request; yields the address."""
    client = httpx.AsyncClient(base_url=simulator.base_url, timeout=60)

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
