"""The simulator misbehaving like a hosted endpoint, with a journal and aliases: ``python -m tests.support.faulty``."""

import argparse
import asyncio
import hashlib
import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tasks.simulator.app import error_response, make_app
from tasks.simulator.dispatch import chat_completion
from tasks.simulator.server import serve

KINDS = (
    "429",  # with Retry-After
    "500",
    "hang",  # accepts the request and never answers
    "reset",  # drops the connection before a byte is sent
    "truncated_body",  # announces the whole body, sends half, closes the connection
    "truncated_json",  # a complete body whose message is cut off
    "wrong_schema",  # JSON with another schema
    "empty",  # a message without content
    "refusal",
)


@dataclass
class Faults:
    """``rates`` maps kinds to probabilities, whose sum is at most 1: a request has at most one fault."""

    rates: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    retry_after_s: float = 1.0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def draw(self) -> str | None:
        """The fault of the next request, or None."""
        return self._random.choices([*self.rates, None], [*self.rates.values(), 1 - sum(self.rates.values())])[0]


def spoiled(kind: str | None, completion: dict[str, Any]) -> dict[str, Any]:
    """``completion`` with the fault ``kind`` in its message; other kinds leave it unchanged."""
    message, finish = dict(completion["choices"][0]["message"]), "stop"
    text = message["content"]
    structured = text.lstrip().startswith(("{", "["))
    if kind == "truncated_json":  # one of plain text without a finish reason could not be detected
        message["content"], finish = text[: len(text) // 2], "stop" if structured else "length"
    elif kind == "wrong_schema":
        if not structured:
            return {**completion, "choices": [{"index": 0}]}
        message["content"] = json.dumps({"unexpected": True})
    elif kind == "empty":
        message["content"] = ""
    elif kind == "refusal":
        message |= {"content": None, "refusal": "I cannot help with that."}
    else:
        return completion
    return {**completion, "choices": [{**completion["choices"][0], "message": message, "finish_reason": finish}]}


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with the connection in the scope, so that faults can drop it."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["extensions"] = {"vignette.connection": {"transport": self.transport}}


class Severed(Response):
    """Sends half of an announced body (or nothing) and drops the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport = scope["extensions"]["vignette.connection"]["transport"]
        if not self.body:
            transport.abort()
            return
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body)[: len(self.body) // 2], "more_body": True})
        transport.close()


def faulty_app(faults: Faults, journal: Path, aliases: Path | None = None) -> Starlette:
    """The simulator with ``faults``; ``journal`` has a line a request, ``aliases`` is a file of the models by name.

    The part of a model after ``@`` is a version, which appears in the replies.
    """

    def signed(name: str) -> str:
        return str(json.loads(aliases.read_text())[name]) if aliases else name

    async def chat(request: Request) -> Response:
        body, kind = await request.body(), faults.draw()
        file = os.open(journal, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
        os.write(file, f"{hashlib.sha256(body).hexdigest()} {kind or 'ok'}\n".encode())
        os.close(file)
        if kind == "429":
            headers = {"Retry-After": f"{faults.retry_after_s:g}"}
            return error_response(429, "rate_limit_exceeded", "too many requests", headers)
        if kind == "500":
            return error_response(500, "server_error", "the server had an error")
        if kind == "hang":
            await asyncio.sleep(3600)
        if kind == "reset":
            return Severed(b"")
        asked = json.loads(body)
        model = signed(asked["model"])
        answered = chat_completion({**asked, "model": model.partition("@")[0]}) | {"model": model}
        whole = JSONResponse(spoiled(kind, answered))
        return Severed(bytes(whole.body), media_type="application/json") if kind == "truncated_body" else whole

    async def model(request: Request) -> Response:
        return JSONResponse({"id": request.path_params["name"], "object": "model", "owned_by": "vignette"})

    app = make_app()
    app.router.routes.insert(0, Route("/v1/chat/completions", chat, methods=["POST"]))
    if aliases:
        app.router.routes.insert(0, Route("/v1/models/{name}", model))
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--aliases", type=Path)
    parser.add_argument("--faults", default="", help="429=0.05,500=0.05,hang=0.01")
    parser.add_argument("--retry-after", type=float, default=1.0)
    options = parser.parse_args()
    rates = dict(one.split("=") for one in options.faults.split(",") if one)
    given = Faults({kind: float(rate) for kind, rate in rates.items()}, retry_after_s=options.retry_after)
    serve(faulty_app(given, options.journal, options.aliases), "127.0.0.1", options.port, http=Protocol)
