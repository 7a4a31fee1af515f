"""Reads the body of a chat completion."""

import json
from dataclasses import dataclass

from tasks.llm.endpoint import SendFailure


@dataclass(frozen=True, slots=True)
class Completion:
    """What a chat completion says. ``finish`` is the API's finish_reason."""

    text: str
    refusal: str | None
    finish: str | None
    model: str
    system_fingerprint: str | None
    prompt_tokens: int
    completion_tokens: int


def read_completion(body: str) -> Completion:
    """Read a reply's body. Raises SendFailure ("lost") when it is no chat completion: it is as if none had come."""
    try:
        loaded = json.loads(body)
        choice = loaded["choices"][0]
        message, usage = choice["message"], loaded.get("usage") or {}
        return Completion(
            text=message.get("content") or "",
            refusal=message.get("refusal"),
            finish=choice.get("finish_reason"),
            model=str(loaded.get("model") or ""),
            system_fingerprint=loaded.get("system_fingerprint"),
            prompt_tokens=int(usage.get("prompt_tokens") or 0),
            completion_tokens=int(usage.get("completion_tokens") or 0),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise SendFailure("lost", f"reply is no chat completion: {body[:200]!r}") from error
