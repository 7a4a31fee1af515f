"""A fake hosted endpoint in a thread of the test, with scripted replies and a record of its requests."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.faulty import Protocol

Body = dict[str, Any]


def completion(text: str | None, body: Body, **fields: Any) -> Body:
    """A chat completion with ``text`` as its message."""
    message = {"role": "assistant", "content": text, "refusal": fields.pop("refusal", None)}
    choice = {"index": 0, "message": message, "finish_reason": fields.pop("finish", "stop")}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage} | fields


class Hosted:
    """``reply(body, number)`` returns the answer to the number-th chat request: a body, or a Response."""

    def __init__(self, reply: Callable[[Body, int], Any]) -> None:
        self.reply = reply
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.queries: list[str] = []
        self.times: list[float] = []
        self.model_fields: Body = {"owned_by": "acme", "created": 1}
        self.models_reply: Response | None = None  # to requests for the list of models, and for one of its entries
        self.has_entries = True
        self.in_flight = self.most_in_flight = 0
        self.base_url = ""

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/{base:path}/chat/completions", self._chat, methods=["POST"]),
                Route("/{base:path}/models", self._models),
                Route("/v1/models/{name:path}", self._model),
            ]
        )

    async def _chat(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.queries.append(request.url.query)
        self.times.append(time.monotonic())
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            answer = self.reply(body, len(self.bodies) - 1)
            if hasattr(answer, "__await__"):
                answer = await answer
        finally:
            self.in_flight -= 1
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    async def _models(self, request: Request) -> Response:
        return self.models_reply or JSONResponse({"error": {"message": "not found"}}, 404)

    async def _model(self, request: Request) -> Response:
        if not self.has_entries:
            return JSONResponse({"error": {"message": "not found"}}, 404)
        if self.models_reply is not None:
            return self.models_reply
        return JSONResponse({"id": request.path_params["name"], "object": "model", **self.model_fields})


@contextmanager
def hosted(reply: Callable[[Body, int], Any]) -> Iterator[Hosted]:
    """Serve ``reply`` on a free loopback port."""
    endpoint = Hosted(reply)
    with serving(endpoint.app()) as endpoint.base_url:
        yield endpoint


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """Serve any application; yields the address of the API."""
    # No configuration of logging: it would close the handlers of other libraries, and the stream that pytest reads.
    config = uvicorn.Config(app, http=Protocol, port=0, log_config=None, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = server.force_exit = True
        thread.join(5)
