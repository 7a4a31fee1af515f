"""The HTTP interface of the simulator: chat completions and models under ``/v1``.

Run it with ``python -m tasks.simulator.server``: several processes serve one port, each with its event loop. Started by
hand it serves until interrupted. With ``--with-parent`` it exits as soon as its standard input closes, so that it never
outlives the stage that started it, even one killed with SIGKILL.
"""

import argparse
import asyncio
import hashlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tasks.simulator.aliases import Aliases
from tasks.simulator.completions import Rejected, error_body, model_list
from tasks.simulator.faults import Faults, spoil

LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with the connection in the scope, so that faults can drop it."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["extensions"] = {"vignette.connection": {"transport": self.transport}}


class _Severed(Response):
    """Sends half of an announced body (or nothing) and drops the connection."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content, media_type="application/json")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport = scope["extensions"]["vignette.connection"]["transport"]
        if not self.body:
            transport.abort()
            return
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body)[: len(self.body) // 2], "more_body": True})
        transport.close()


class OwnHosts:
    """Answers only requests to a name of loopback, or to one of ``hosts``, and to its own port; others get 400.

    A page of any site could otherwise reach the server under a name that resolves to this machine.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], port: int) -> None:
        self._app = TrustedHostMiddleware(app, allowed_hosts=[*LOOPBACK, *hosts], www_redirect=False)
        self._ports = (str(port), "") if port == 80 else (str(port),)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        _, _, port = Headers(scope=scope).get("host", "").rpartition("]")[2].partition(":")
        if port in self._ports:
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse("Invalid host header", status_code=400)(scope, receive, send)


class Journal:
    """Appends a line for each chat request to a file shared by all workers, so that tests can count requests."""

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def write(self, body: bytes, outcome: str) -> None:
        """Append the hash of a request's body and its outcome."""
        if self._file is not None:
            os.write(self._file, f"{hashlib.sha256(body).hexdigest()} {outcome}\n".encode())


def make_app(faults: Faults, journal: Journal, aliases: Aliases | None = None) -> Starlette:
    """Return the application of one worker."""
    served = aliases or Aliases()

    async def chat(request: Request) -> Response:
        body, kind = await request.body(), faults.draw()
        journal.write(body, kind or "ok")
        if kind == "429":
            headers = {"Retry-After": f"{faults.retry_after_s:g}"}
            return _error(429, "rate_limit_exceeded", "too many requests", headers)
        if kind == "500":
            return _error(500, "server_error", "the server had an error")
        if kind == "reset":
            return _Severed(b"")
        if kind == "hang":
            await asyncio.sleep(faults.hang_s)
        completion = served.complete(json.loads(body))
        content = _dump(spoil(kind, completion) if kind else completion)
        return _Severed(content) if kind == "truncated_body" else Response(content, media_type="application/json")

    async def models(request: Request) -> Response:
        return JSONResponse(model_list())

    async def model(request: Request) -> Response:
        return JSONResponse(served.entry(request.path_params["name"]))

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/models", models),
            Route("/v1/models/{name}", model),
        ],
        exception_handlers={Rejected: _rejected, ValueError: _malformed},
    )


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(error_body(code, message), status_code=status, headers=headers)


async def _rejected(request: Request, error: Exception) -> Response:
    assert isinstance(error, Rejected)
    return _error(error.status, error.code, str(error))


async def _malformed(request: Request, error: Exception) -> Response:
    return _error(400, "invalid_request_error", f"malformed request: {error}")


_SHARED = "tasks.text.sentences"
"""Loaded before the workers are forked: most rules need it, and it imports nltk, which takes more than a second."""


def main(arguments: list[str] | None = None) -> None:
    """Bind, print the address to standard output (connections wait from then on), fork the other workers and serve."""
    options, starter = _parser().parse_args(arguments), os.getppid()
    listeners = _bind_all(options.host, options.port, options.workers)
    port = int(listeners[0].getsockname()[1])
    print(f"http://{options.host}:{port}/v1", flush=True)
    if options.workers > 1:
        import_module(_SHARED)
    listener, number = _fork_workers(listeners)
    if options.with_parent:
        if number == 0:
            _exit_without(starter)
        _end_with_standard_input()
    faults = Faults(_rates(options.faults), options.fault_seed + number, options.retry_after, options.hang)
    app = make_app(faults, Journal(options.journal), Aliases(options.aliases))
    hosts = [options.host] if options.host not in ("0.0.0.0", "::") else []
    config = uvicorn.Config(
        OwnHosts(app, hosts, port), http=Protocol, log_level="critical", access_log=False, lifespan="off", backlog=2048
    )
    uvicorn.Server(config).run(sockets=[listener])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tasks.simulator.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    parser.add_argument("--journal", type=Path, help="file that logs each chat request")
    parser.add_argument("--aliases", type=Path, help='JSON file of model aliases: {"judge": "vignette-judge@2"}')
    parser.add_argument("--faults", default="", help="rates of injected faults: 429=0.05,500=0.05,hang=0.01")
    parser.add_argument("--fault-seed", type=int, default=0)
    parser.add_argument("--retry-after", type=float, default=1.0, help="Retry-After of a 429, in seconds")
    parser.add_argument("--hang", type=float, default=3600.0, help="duration of a hanging request, in seconds")
    return parser


def _rates(text: str) -> dict[str, float]:
    pairs = (entry.split("=") for entry in text.split(",") if entry)
    return {kind: float(rate) for kind, rate in pairs}


def _bind_all(host: str, port: int, workers: int) -> list[socket.socket]:
    """A socket for each worker on one port; the kernel distributes connections among them."""
    first = _bind(host, port)
    return [first, *(_bind(host, first.getsockname()[1]) for _ in range(workers - 1))]


def _bind(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, port))
    listener.listen(2048)  # from now on connections wait instead of failing
    return listener


def _fork_workers(listeners: list[socket.socket]) -> tuple[socket.socket, int]:
    """Return each worker's own socket and its number; 0 is the initial process."""
    origin, mine = os.getpid(), 0
    for number in range(1, len(listeners)):
        if os.fork() == 0:
            _exit_without(origin)
            mine = number
            break
    for number, listener in enumerate(listeners):
        if number != mine:
            listener.close()
    return listeners[mine], mine


def _exit_without(parent: int) -> None:
    """Exit within half a second after the parent process ends."""

    def poll() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=poll, daemon=True).start()


def _end_with_standard_input() -> None:
    """Exit as soon as standard input closes."""

    def wait_for_end() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        os._exit(0)

    threading.Thread(target=wait_for_end, daemon=True).start()


if __name__ == "__main__":
    main()
