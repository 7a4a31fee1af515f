"""The simulator on a port, to try a model as if it were hosted: ``python -m tasks.simulator.server``.

It serves until interrupted. Stages do not use it: the application answers within their process.
"""

import argparse
import socket
from collections.abc import Iterable

import uvicorn
from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tasks.simulator.app import make_app

LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")


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


def serve(app: ASGIApp, host: str, port: int, **config: object) -> None:
    """Bind, print the address to standard output (connections wait from then on) and serve."""
    listener = socket.create_server((host, port), backlog=2048)
    port = int(listener.getsockname()[1])
    print(f"http://{host}:{port}/v1", flush=True)
    own = OwnHosts(app, [host] if host not in ("0.0.0.0", "::") else [], port)
    uvicorn.Server(
        uvicorn.Config(own, log_level="critical", access_log=False, lifespan="off", backlog=2048, **config)  # type: ignore[arg-type]
    ).run(sockets=[listener])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tasks.simulator.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    options = parser.parse_args()
    serve(make_app(), options.host, options.port)
