"""Ways in which hosted endpoints misbehave, at set rates, so that the client can be tried against them."""

import json
import random
from dataclasses import dataclass, field
from typing import Any

KINDS = (
    "429",  # with Retry-After
    "500",
    "hang",  # accepts the request and never answers
    "reset",  # drops the connection before a byte is sent
    "truncated_body",  # announces the whole body, sends half, closes
    "truncated_json",  # a whole body whose message stops half way
    "wrong_schema",  # JSON of another form
    "empty",  # a message without content
    "refusal",
)


@dataclass
class Faults:
    """Which share of requests goes wrong how: ``rates`` maps kinds to probabilities, in one draw a request."""

    rates: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    retry_after_s: float = 1.0
    hang_s: float = 3600.0

    def __post_init__(self) -> None:
        unknown = set(self.rates) - set(KINDS)
        if unknown or sum(self.rates.values()) > 1 or min(self.rates.values(), default=0) < 0:
            raise ValueError(f"fault rates {self.rates}: kinds are {', '.join(KINDS)}, rates add up to at most 1")
        self._random = random.Random(self.seed)

    def draw(self) -> str | None:
        """The kind of fault that befalls the next request, or None."""
        point = self._random.random()
        for kind, rate in self.rates.items():
            point -= rate
            if point < 0:
                return kind
        return None


def spoil(kind: str, completion: dict[str, Any]) -> dict[str, Any]:
    """A copy of ``completion`` whose message went wrong in the way of ``kind``; other kinds leave it as it is."""
    message = dict(completion["choices"][0]["message"])
    text, finish = message["content"], "stop"
    structured = text.lstrip().startswith(("{", "["))
    if kind == "truncated_json":
        message["content"] = text[: len(text) // 2]
        finish = "stop" if structured else "length"  # a plain text cut short without a sign is beyond finding
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
