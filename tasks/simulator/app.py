"""The simulator as an application: chat completions and models under ``/v1``, in the JSON of OpenAI's API.

It answers within the process of whoever asks, or on a port, see `tasks.simulator.server`.
"""

import json
import re

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tasks.simulator.dispatch import MODELS, Rejected, chat_completion, unknown_model

_BLANKS = (b" ", rb"\n", rb"\t", rb"\r\n", rb" \n")
"""What long runs consist of, as in JSON."""
_LONGEST = 200


def shortened(body: bytes) -> bytes:
    """A request without long runs of blanks: the time of a rule may grow with the square of such a run."""
    for one in _BLANKS:
        if (run := one * _LONGEST) + one in body:
            body = re.sub(rb"(?:%s){%d,}" % (re.escape(one), _LONGEST), lambda _, run=run: run, body)  # type: ignore[misc]
    return body


def make_app() -> Starlette:
    """Return the application."""
    return Starlette(
        routes=[
            Route("/v1/chat/completions", _chat, methods=["POST"]),
            Route("/v1/models", _models),
            Route("/v1/models/{name}", _model),
        ],
        exception_handlers={Rejected: _refused, ValueError: _refused},
    )


async def _chat(request: Request) -> Response:
    return JSONResponse(chat_completion(json.loads(shortened(await request.body()))))


async def _models(request: Request) -> Response:
    return JSONResponse({"object": "list", "data": [_entry(name) for name in MODELS]})


async def _model(request: Request) -> Response:
    if (name := request.path_params["name"]) not in MODELS:
        raise unknown_model(name)
    return JSONResponse(_entry(name))


def _entry(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "vignette"}


def error_response(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an API error."""
    error = {"message": message, "type": code, "param": None, "code": code}
    return JSONResponse({"error": error}, status_code=status, headers=headers)


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, Rejected):
        return error_response(error.status, error.code, str(error))
    return error_response(400, "invalid_request_error", f"malformed request: {error}")
