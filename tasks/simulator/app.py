"""The simulator as an application: chat completions and models under ``/v1``.

It answers within the process of whoever asks, or on a port, see `tasks.simulator.server`.
"""

import asyncio
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tasks.simulator.completions import Rejected, chat_completion, error_body, model_entry, model_list
from tasks.simulator.faults import Faults, spoil

_BLANKS = (b" ", rb"\n", rb"\t", rb"\r\n", rb" \n")
"""What long runs consist of, as in JSON."""
_LONGEST = 200


def _shortened(body: bytes) -> bytes:
    """A request without long runs of blanks: the time of a rule may grow with the square of such a run."""
    for one in _BLANKS:
        if one * (_LONGEST + 1) in body:
            body = re.sub(
                rb"(?:%s){%d,}" % (re.escape(one), _LONGEST),
                lambda _, run=one * _LONGEST: run,  # type: ignore[misc]
                body,
            )
    return body


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


class Journal:
    """Appends a line for each chat request to a file, so that tests can count requests."""

    def __init__(self, path: Path | None = None) -> None:
        self._file = None if path is None else os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def write(self, body: bytes, outcome: str) -> None:
        """Append the hash of a request's body and its outcome."""
        if self._file is not None:
            os.write(self._file, f"{hashlib.sha256(body).hexdigest()} {outcome}\n".encode())


def make_app(faults: Faults | None = None, journal: Journal | None = None) -> Starlette:
    """Return the application; by default it has no faults and no journal."""
    faults, journal = faults or Faults(), journal or Journal()

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
        completion = chat_completion(json.loads(_shortened(body)))
        content = _dump(spoil(kind, completion) if kind else completion)
        return _Severed(content) if kind == "truncated_body" else Response(content, media_type="application/json")

    async def models(request: Request) -> Response:
        return JSONResponse(model_list())

    async def model(request: Request) -> Response:
        return JSONResponse(model_entry(request.path_params["name"]))

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
