"""Fault injection: misbehave like a hosted endpoint, at given rates, to test the client."""

import json
import random
from dataclasses import dataclass, field
from typing import Any

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
    """Fault rates: ``rates`` maps kinds to probabilities; at most one fault per request."""

    rates: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    retry_after_s: float = 1.0
    hang_s: float = 3600.0

    def __post_init__(self) -> None:
        unknown = set(self.rates) - set(KINDS)
        if unknown or sum(self.rates.values()) > 1 or min(self.rates.values(), default=0) < 0:
            raise ValueError(f"fault rates {self.rates}: expected kinds {', '.join(KINDS)} with a sum of at most 1")
        self._random = random.Random(self.seed)

    def draw(self) -> str | None:
        """Draw the fault of the next request, or None."""
        point = self._random.random()
        for kind, rate in self.rates.items():
            point -= rate
            if point < 0:
                return kind
        return None


def spoil(kind: str, completion: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of ``completion`` with the fault ``kind`` in its message; other kinds leave it unchanged."""
    message = dict(completion["choices"][0]["message"])
    text, finish = message["content"], "stop"
    structured = text.lstrip().startswith(("{", "["))
    if kind == "truncated_json":
        message["content"] = text[: len(text) // 2]
        finish = (
            "stop" if structured else "length"
        )  # a truncated plain text without a finish reason could not be detected
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
