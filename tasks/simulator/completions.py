"""Convert a rule's reply into the JSON of a chat completion, following OpenAI's API reference."""

import hashlib
import re
import time
from typing import Any

from tasks.simulator import dispatch
from tasks.simulator.request import ChatRequest

OWNER = "vignette"
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Rejected(Exception):
    """A request that the server rejects, with HTTP ``status`` and error ``code``."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def count_tokens(text: str) -> int:
    """Count words and punctuation marks, which the simulator bills as tokens."""
    return len(_TOKEN.findall(text))


def chat_completion(body: dict[str, Any]) -> dict[str, Any]:
    """Answer the body of ``POST /v1/chat/completions``.

    Raises Rejected for an unknown model, malformed messages, or a task that belongs to another model.
    """
    request = _read(body)
    text, finish = _cut(dispatch.complete(request), request.max_tokens)
    prompt_tokens, completion_tokens = sum(count_tokens(t) for _, t in request.messages), count_tokens(text)
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-" + hashlib.sha256(repr((request, text)).encode()).hexdigest()[:24],
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "system_fingerprint": "rules",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _read(body: dict[str, Any]) -> ChatRequest:
    try:
        request = ChatRequest.from_body(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Rejected(400, "invalid_request_error", f"not a chat completion request: {error!r}") from error
    if request.model not in dispatch.MODELS:
        raise _unknown_model(request.model)
    owner = dispatch.owner(request.task)
    if owner is not None and owner != dispatch.family(request.model):
        message = f"{request.model} does not perform the task {request.task!r}; send it to the {owner}"
        raise Rejected(404, "wrong_model", message)
    return request


def _unknown_model(name: str) -> Rejected:
    return Rejected(404, "model_not_found", f"unknown model {name!r}; available: {', '.join(dispatch.MODELS)}")


def _cut(text: str, limit: int | None) -> tuple[str, str]:
    if limit is None or len(text) <= limit:  # each token has at least one character
        return text, "stop"
    tokens = list(_TOKEN.finditer(text))
    return (text, "stop") if len(tokens) <= limit else (text[: tokens[limit - 1].end()], "length")


def model_list() -> dict[str, Any]:
    """Return the body of ``GET /v1/models``."""
    return {"object": "list", "data": [model_entry(name) for name in dispatch.MODELS]}


def model_entry(name: str) -> dict[str, Any]:
    """Return the body of ``GET /v1/models/{name}``; raises Rejected for an unknown model."""
    if name not in dispatch.MODELS:
        raise _unknown_model(name)
    return {"id": name, "object": "model", "created": 0, "owned_by": OWNER}


def error_body(code: str, message: str) -> dict[str, Any]:
    """Return the JSON of an API error."""
    return {"error": {"message": message, "type": code, "param": None, "code": code}}
