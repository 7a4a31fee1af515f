"""Reads the body of a chat completion."""

import json
import re
from dataclasses import dataclass
from typing import Any

from tasks.llm.failures import SendFailure

_WHOLE_FENCE = re.compile(r"\s*```\w*[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_THINKING, _END_OF_THINKING = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class Completion:
    """One chat completion. ``finish`` is the API's finish_reason; ``has_usage``: the reply gives its tokens."""

    text: str
    refusal: str | None
    finish: str | None
    model: str
    system_fingerprint: str | None
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    has_usage: bool = True


def read_completion(body: str) -> Completion:
    """Read a reply's body. Raises SendFailure ("garbled") when it is no chat completion."""
    try:
        loaded = json.loads(body)
        choice = loaded["choices"][0]
        message = choice["message"]
        content, refusal = _content(message.get("content")), message.get("refusal")
        usage = _usage(loaded.get("usage"))
        return Completion(
            text=_answer_part(content),
            refusal=None if refusal is None else str(refusal),
            finish=choice.get("finish_reason"),
            model=str(loaded.get("model") or ""),
            system_fingerprint=loaded.get("system_fingerprint"),
            prompt_tokens=usage[0] if usage else 0,
            completion_tokens=usage[1] if usage else 0,
            cached_tokens=usage[2] if usage else 0,
            has_usage=usage is not None,
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise SendFailure("garbled", f"reply is no chat completion: {body[:200]!r}") from error


def _content(content: Any) -> str:
    """The message's text, which some endpoints send as a list of parts. Lone surrogates become U+FFFD."""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        content = "".join(part for part in parts if isinstance(part, str))
    return str(content or "").encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _answer_part(text: str) -> str:
    """``text`` without the reasoning that precedes the answer, and without a code fence around the whole.

    Reasoning that is never closed leaves nothing: the reply was cut off before its answer.
    """
    if _END_OF_THINKING in text:
        text = text.rpartition(_END_OF_THINKING)[2].lstrip()
    elif text.lstrip().startswith(_THINKING):
        return ""
    fenced = _WHOLE_FENCE.fullmatch(text)
    return fenced.group(1) if fenced and "```" not in fenced.group(1) else text


def _usage(usage: Any) -> tuple[int, int, int] | None:
    """Prompt, completion and cached prompt tokens; None where the reply gives none."""
    if not isinstance(usage, dict) or not (usage.get("prompt_tokens") or usage.get("completion_tokens")):
        return None
    details = usage.get("prompt_tokens_details") or {}
    return (
        int(usage.get("prompt_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
        int(details.get("cached_tokens") or 0),
    )
