"""The simulator on a port, for tests and to try a model as if it were hosted: ``python -m tasks.simulator.server``.

It serves until interrupted. Stages do not use it: the application answers within their process.
"""

import argparse
import socket
from collections.abc import Iterable
from pathlib import Path

import uvicorn
from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tasks.simulator.app import Journal, make_app
from tasks.simulator.faults import Faults

LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with the connection in the scope, so that faults can drop it."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["extensions"] = {"vignette.connection": {"transport": self.transport}}


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


def main(arguments: list[str] | None = None) -> None:
    """Bind, print the address to standard output (connections wait from then on) and serve."""
    options = _parser().parse_args(arguments)
    listener = socket.create_server((options.host, options.port), backlog=2048)
    port = int(listener.getsockname()[1])
    print(f"http://{options.host}:{port}/v1", flush=True)
    faults = Faults(_rates(options.faults), options.fault_seed, options.retry_after, options.hang)
    app = make_app(faults, Journal(options.journal))
    hosts = [options.host] if options.host not in ("0.0.0.0", "::") else []
    config = uvicorn.Config(
        OwnHosts(app, hosts, port), http=Protocol, log_level="critical", access_log=False, lifespan="off", backlog=2048
    )
    uvicorn.Server(config).run(sockets=[listener])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tasks.simulator.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--journal", type=Path, help="file that logs each chat request")
    parser.add_argument("--faults", default="", help="rates of injected faults: 429=0.05,500=0.05,hang=0.01")
    parser.add_argument("--fault-seed", type=int, default=0)
    parser.add_argument("--retry-after", type=float, default=1.0, help="Retry-After of a 429, in seconds")
    parser.add_argument("--hang", type=float, default=3600.0, help="duration of a hanging request, in seconds")
    return parser


def _rates(text: str) -> dict[str, float]:
    pairs = (entry.split("=") for entry in text.split(",") if entry)
    return {kind: float(rate) for kind, rate in pairs}


if __name__ == "__main__":
    main()
