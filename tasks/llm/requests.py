"""Turns a call into the canonical request that is sent and under which its reply is kept.

Constrained decoders generate the fields of a JSON schema in the order in which the schema lists them, so the order of a
reply's fields (reason before verdict) is part of the request. All other keys are sorted. Where an endpoint takes no
JSON schema, the form of the reply is described in words.
"""

import hashlib
import inspect
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import Any

from schemas.params.llm import Role, Structured
from tasks.llm.calls import Call, Message, Reply

REASK = "correct your last reply"
FORMAT = "response_format"


REDRAW_STRIDE = 1 << 24
"""Offset of the sample indices of one redraw of a role; larger than any index of a run."""


@dataclass(frozen=True, slots=True)
class Request:
    """``content``: the JSON bytes that are sent (see `to_bytes`). ``key``: the key under which the reply is kept.

    ``max_tokens``: the most that the reply may take; 0 where the role sets no limit.
    """

    key: bytes
    content: bytes
    task: str
    sample: int = 0
    max_tokens: int = 0


def make_request(call: Call, role: Role, identity: str, way: Structured | None = None) -> Request:
    """The request of ``call``: the same call, role settings, identity and sample always give the same bytes and key.

    ``way``: how a structured reply is asked for; by default, the first that the role allows.
    """
    role = role_for(role, call)
    sample = call.sample + role.redraw * REDRAW_STRIDE
    messages = [{"role": m.role, "content": m.content} for m in call.messages]
    body: dict[str, Any] = {**role.extra_body, "model": role.model}
    if role.temperature is not None:
        body["temperature"] = role.temperature
    if role.max_tokens is not None:
        body[role.max_tokens_field] = role.max_tokens
    if role.send_seed:
        body["seed"] = sample
    if call.described is not None:
        _ask_for_structure(body, messages, way or role.structured_ways[0], call.described)
    body["messages"] = messages
    content = to_bytes(body)
    return Request(request_key(identity, sample, content), content, _task(call.messages), sample, role.max_tokens or 0)


def role_for(role: Role, call: Call) -> Role:
    """``role`` with the settings that the call brings."""
    changes: dict[str, Any] = {}
    if call.temperature is not None and role.temperature is not None:
        changes["temperature"] = call.temperature
    least = min(call.least_tokens, role.max_tokens_limit or call.least_tokens)
    if role.protocol != "paper" and role.max_tokens is not None and role.max_tokens < least:
        changes["max_tokens"] = least
    return role.model_copy(update=changes) if changes else role


def to_bytes(body: dict[str, Any]) -> bytes:
    """The canonical JSON of a request's body: keys sorted, but for ``response_format``, whose order has a meaning."""
    if FORMAT not in body:
        return _SORTED.encode(body).encode()
    encoders = ((name, _AS_GIVEN if name == FORMAT else _SORTED) for name in sorted(body))
    fields = (f"{encoder.encode(name)}:{encoder.encode(body[name])}" for name, encoder in encoders)
    return f"{{{','.join(fields)}}}".encode()


_SORTED, _AS_GIVEN = (json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=by) for by in (True, False))


def request_key(identity: str, sample: int, content: bytes) -> bytes:
    """The key of a request with canonical bytes ``content``."""
    return hashlib.sha256(b"\0".join((identity.encode(), str(sample).encode(), content))).digest()


def _ask_for_structure(
    body: dict[str, Any], messages: list[dict[str, Any]], way: Structured, reply: type[Reply]
) -> None:
    if way == "json_schema":
        body[FORMAT] = response_format(reply)
        return
    if way == "json_object":
        body[FORMAT] = {"type": "json_object"}
    if messages[0]["role"] == "system":
        messages[0]["content"] += "\n\n" + instruction(reply)
    else:
        messages.insert(0, {"role": "system", "content": instruction(reply)})


@lru_cache
def response_format(reply: type[Reply]) -> dict[str, Any]:
    """The ``response_format`` of a request, strict as OpenAI's structured outputs want it."""
    schema = {"name": reply.__name__, "strict": True, "schema": _strict(reply.model_json_schema())}
    return {"type": "json_schema", "json_schema": schema}


def instruction(reply: type[Reply]) -> str:
    """A paragraph that asks for JSON that fits ``reply``."""
    what = inspect.cleandoc(reply.__doc__ or "").partition("\n\n")[0]
    schema = json.dumps(_strict(reply.model_json_schema()), ensure_ascii=False)
    return (
        f"Reply with one JSON object and nothing else. What it holds: {what}\nIt must fit this JSON schema:\n{schema}"
    )


def _strict(node: Any) -> Any:
    """The schema with every object closed, all properties required, and no defaults, as strict mode demands."""
    if isinstance(node, list):
        return [_strict(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: (
            {name: _strict(child) for name, child in value.items()}
            if key in ("properties", "$defs")
            else _strict(value)
        )
        for key, value in node.items()
        if key not in ("default", "title")
    }
    if "properties" in kept:
        kept |= {"additionalProperties": False, "required": list(kept["properties"])}
    return kept


def ask_again(call: Call, last_reply: str, problem: str) -> Call:
    """The call that shows the model its last reply and the problem with it."""
    message = (
        f"Task: {REASK}\n\nYour last reply cannot be used: {problem}\n"
        "Reply once more to the request before it, whole and in the form that it asks for."
    )
    turns = (Message("assistant", last_reply or "(empty)"), Message("user", message))
    return replace(call, messages=call.messages + turns)


def _task(messages: tuple[Message, ...]) -> str:
    first = messages[-1].content.partition("\n")[0] if messages else ""
    return first.removeprefix("Task:").strip() if first.startswith("Task:") else ""


SHORT_TOKEN = 3.0
"""Characters of a token in abbreviated text."""
STEP = 256


def tokens_needed(text: str, times: float) -> int:
    """Tokens to allow for a reply that is up to ``times`` as long as ``text``: a generous estimate, in steps of 256."""
    return STEP * ceil(times * len(text) / SHORT_TOKEN / STEP)
