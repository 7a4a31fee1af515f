"""Reads replies: the body of a chat completion, and the structured reply that its text holds.

A reply that came but cannot be used is `Unusable`, with the reason in words meant for the model; a body that is no chat
completion is a `SendFailure`, as is a request that brought no reply at all.
"""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, get_origin

from pydantic import ValidationError

from tasks.llm.calls import Reply
from tasks.llm.costs import Usage
from tasks.llm.json_in_text import KeyTwice, json_in
from tasks.llm.reasoning import ALONE, answer_part, unknown_block

MOST_TOKENS = 10_000_000
"""More than any model takes or writes in one call."""

MOST_BLANKS = 1_000
"""A run of so many blanks is a model that does not stop; no reply needs it."""
TIMES_THE_LIMIT, CHARACTERS_A_TOKEN = 4, 4
"""A reply may be four times as long as its token limit allows, at four characters a token: 16 characters a token."""
MOST_CHARACTERS = 1_000_000
"""Longest reply of a role without a token limit."""
LONGEST_ERROR = 500
"""Characters of an endpoint's error that are shown."""

_ANSWER_PARTS = (None, "text", "output_text")
_FENCE = "```"

_WHOLE = {"", "none", "stop", "eos", "eos_token", "stop_sequence", "end_turn", "end", "complete", "completed", "finish"}
_WHOLE |= {"finished", "endoftext"}
_CUT_OFF = {"length", "max_tokens", "model_length", "max_output_tokens", "token_limit", "max_length"}
_FILTERED = {"content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"}
_BROKEN = {"error", "abort", "aborted", "cancelled", "canceled", "insufficient_system_resource"}
"""Finish reasons of endpoints, in lower case: of whole replies, and of others. Any further one ends no whole reply."""

_TEXT = r"(?:context|prompt|inputs?|messages|sequence|conversation)\b(?!['\"=]| should)"
_LONG = (
    r"(?:too (?:long|large|big|many)|exceed|overflow|(?:larg|long|great)er than|(?:more|less) than|at most|must be <|"
    "not enough|not fit|maximum|limit)"
)
_OF_ONE_TEXT = re.compile(
    rf"{_TEXT}.{{0,120}}?{_LONG}|{_LONG}.{{0,120}}?{_TEXT}|too long|string_above_max_length|n_ctx|reduce the length|"
    r"context.?(?:length|window|size)|invalid_prompt|flagged|moderation|content.?(?:filter|policy|management|safety)|"
    r"safety (?:system|filter)|harmful|inappropriate|range of input length|token limit|too many tokens|high risk|"
    r"tokens? in (?:the|your) request|guardrail|usage polic|was blocked|prohibited_content|不安全|敏感|过长|超长",
    re.IGNORECASE | re.DOTALL,
)


def is_of_one_text(reason: str, status: int | None = None) -> bool:
    """Whether an endpoint's words of a failure are about the text of the request: too long for it, or not allowed."""
    return status == 413 or _OF_ONE_TEXT.search(reason) is not None


class SendFailure(Exception):
    """A request that brought no usable reply.

    ``kind``: "fatal" (no request can succeed), "rejected" (this request cannot), "busy" (asked to slow down), "garbled"
    (a reply that is no chat completion) or "lost" (timeouts, dropped lines, server errors). ``wait_s`` is the wait that
    the endpoint asked for; ``code`` and ``param`` are those of an OpenAI-style error. ``unknown``: the model may have
    answered, and the endpoint may bill it; ``usage``: what the reply says that it cost.

    One that is about the text of the request is "rejected" by whatever status an endpoint says so, such as 403 or 500.
    """

    def __init__(
        self,
        kind: str,
        reason: str,
        wait_s: float | None = None,
        status: int | None = None,
        code: str = "",
        param: str = "",
        *,
        unknown: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(reason)
        self.is_of_one_text = is_of_one_text(f"{code} {reason}", status)
        if status is not None and self.is_of_one_text and (kind == "lost" or (kind == "fatal" and status == 403)):
            kind = "rejected"
        self.kind, self.reason, self.wait_s, self.status = kind, reason, wait_s, status
        self.code, self.param, self.usage = code, param, usage
        self.may_be_billed = unknown or kind == "garbled"

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed in a later run."""
        return self.kind in ("busy", "lost")


@dataclass(frozen=True, slots=True)
class Completion:
    """One chat completion. ``finish`` is the API's finish_reason; ``usage``: None where the reply gives no tokens.

    ``lacks``: why the text is empty, where the reply shows it.
    """

    text: str
    refusal: str | None
    finish: str | None
    model: str
    system_fingerprint: str | None
    usage: Usage | None = None
    lacks: str = ""


def read_completion(body: str) -> Completion:
    """Read a reply's body.

    Raises SendFailure: "garbled" when it is no chat completion, "lost" when the endpoint failed while the model wrote.
    """
    usage = None
    try:
        loaded = json.loads(body)
        has_reply = isinstance(loaded, dict) and bool(loaded.get("choices"))
        if error := error_of(loaded.get("error") if has_reply else loaded):  # also beside a reply that was broken off
            reason = f"an error in place of a reply: {words_of(error)!r}"
            raise SendFailure("rejected" if is_of_one_text(reason) else "garbled", reason)
        usage = _usage(loaded.get("usage"))
        choice = loaded["choices"][0]
        if error := error_of(choice.get("error")):
            raise SendFailure("lost", f"the reply was broken off: {words_of(error)!r}", unknown=True, usage=usage)
        message = choice["message"]
        text, lacks = answer_part(_content(message.get("content")))
        parts = message["content"] if isinstance(message.get("content"), list) else []
        refused = [part["refusal"] for part in (message, *parts) if isinstance(part, dict) and part.get("refusal")]
        finish = choice.get("finish_reason") and _encodable(choice["finish_reason"])
        if _is(finish, _BROKEN):
            reason = f"the endpoint broke the reply off (finish_reason {finish})"
            raise SendFailure("lost", reason, unknown=True, usage=usage)
        return Completion(
            text=without_fence(text),
            refusal=_encodable(refused[0]) if refused else None,
            finish=finish,
            model=_encodable(loaded.get("model") or ""),
            system_fingerprint=loaded.get("system_fingerprint") and _encodable(loaded["system_fingerprint"]),
            usage=usage,
            lacks=lacks or _instead(message),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise SendFailure("garbled", f"reply is no chat completion: {body[:200]!r}", usage=usage) from error


def error_of(loaded: Any) -> dict[str, Any] | None:
    """The fields of the error that a body holds, in whatever lists and objects; None where it holds none."""
    if isinstance(loaded, list):
        return error_of(loaded[0]) if loaded else None
    if not isinstance(loaded, dict):
        return {"message": loaded} if loaded else None
    inner = next((loaded[name] for name in ("error", "errors", "detail") if loaded.get(name)), None)
    if inner is None or inner is True:
        return loaded if isinstance(loaded.get("message"), str) else None
    return error_of(inner) or (inner if isinstance(inner, dict) else {"message": inner})


def words_of(error: Mapping[str, Any]) -> str:
    """What an error says, with the words of the provider behind a router; long ones are cut."""
    about = error.get("metadata")
    behind = about.get("raw") if isinstance(about, dict) else None
    return ": ".join(str(part)[:LONGEST_ERROR] for part in (error.get("message") or error, behind) if part)


def _is(finish: object, reasons: set[str]) -> bool:
    return str(finish).lower() in reasons


def _content(content: Any) -> str:
    """The message's text, which some endpoints send as a list of parts, reasoning among them."""
    if isinstance(content, list | dict):
        content = [content] if isinstance(content, dict) else content
        parts = [part if isinstance(part, dict) else {"text": part} for part in content]
        texts = [part.get("text") for part in parts if part.get("type") in _ANSWER_PARTS and not part.get("thought")]
        content = "".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str | None):
        raise TypeError(type(content).__name__)
    return _encodable(content or "")


def _encodable(value: object) -> str:
    """A value of a reply as a text that can be kept and sent: lone surrogates become U+FFFD."""
    return str(value).encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _instead(message: Mapping[str, Any]) -> str:
    """What a message without text has instead."""
    if message.get("tool_calls") or message.get("function_call"):
        return "it calls a tool, and none was offered"
    return ALONE if any(value for name, value in message.items() if name.startswith(("reason", "think"))) else ""


def without_fence(text: str) -> str:
    """``text`` without a code fence around the whole; unchanged where it holds further fences."""
    whole = text.strip()
    first, line_end = whole[len(_FENCE) :].partition("\n")[:2]
    is_fenced = whole.startswith(_FENCE) and line_end and re.fullmatch(r"\w*[ \t]*", first)
    if not is_fenced or whole.count(_FENCE) != 2 or not whole.endswith(_FENCE):
        return text
    return whole[len(_FENCE) + len(first) + 1 : -len(_FENCE)].removesuffix("\n")


def _usage(given: Any) -> Usage | None:
    """The tokens that a reply reports; None where it reports none, or counts that no model can have used."""
    if not isinstance(given, dict):
        return None
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    counts = [count or 0 for count in (given.get("prompt_tokens"), given.get("completion_tokens"), cached)]
    if not all(isinstance(count, int | float) and 0 <= count <= MOST_TOKENS for count in counts):
        return None
    prompt, completion, cached = map(int, counts)
    usage = Usage(prompt, completion, cached)
    return usage if usage.tokens and usage.cached <= usage.prompt else None


class Unusable(Exception):
    """A reply that came but cannot be used; the text says why, in words meant for the model."""


class CutOff(Unusable):
    """A reply that ended at the length limit."""


class Runaway(Unusable):
    """A reply of a model that did not stop: too long, or a run of blanks. It is not parsed, nor shown to the model."""


def read_reply(
    completion: Completion,
    reply: type[Reply] | None,
    context: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    *,
    is_printed: bool = False,
) -> Reply | None:
    """The structured reply that ``completion`` holds; None where plain text was asked for. Raises Unusable.

    ``max_tokens``: the most tokens that were asked for; a reply much longer than that is not parsed. ``is_printed``:
    the reply may have the form that a paper prints.

    Accepted: a fence or prose around the JSON, of several objects the last, slips in it, a bare list where the object
    has one list field, extra keys, numbers as strings and strings as numbers. Refused: a key that an object has twice.
    ``context`` is handed to the validators of ``reply``.
    """
    if completion.refusal or _is(completion.finish, _FILTERED):
        raise Unusable(f"it was refused ({(completion.refusal or 'content filter')[:200]})")
    if _is(completion.finish, _CUT_OFF):
        raise CutOff("it was cut off at the length limit")
    if not completion.text.strip():
        raise Unusable(f"it was empty{completion.lacks and f': {completion.lacks}'}")
    if not _is(completion.finish, _WHOLE):
        raise Unusable(f"it was not whole (finish_reason {str(completion.finish)[:40]})")
    _refuse_runaway(completion.text, max_tokens)
    if reply is None:
        if mark := unknown_block(completion.text):
            raise Unusable(f"it begins with a block {mark[:40]}, which may be reasoning; the answer alone is expected")
        return None
    try:
        printed = _parse_printed(completion.text, reply, context or {}) if is_printed else None
        return printed or _parse(completion.text, reply, context)
    except Unusable:
        raise
    except Exception as error:  # whatever a reply makes the reader do, it must not stop every later run
        raise Unusable(f"it could not be read ({type(error).__name__})") from error


def _refuse_runaway(text: str, max_tokens: int | None) -> None:
    most = TIMES_THE_LIMIT * CHARACTERS_A_TOKEN * max_tokens if max_tokens else MOST_CHARACTERS
    if len(text) > most:
        limit = f"{TIMES_THE_LIMIT} times its limit of {max_tokens:,} tokens" if max_tokens else "any reply asked for"
        raise Runaway(f"its {len(text):,} characters are more than {most:,}, {limit}")
    blanks = max((found.end() - found.start() for found in re.finditer(r"\s+", text)), default=0)
    if blanks >= MOST_BLANKS:
        raise Runaway(f"it holds {blanks:,} blanks in a row")


def _parse_printed(text: str, reply: type[Reply], context: Mapping[str, Any]) -> Reply | None:
    """The reply, in the form that a paper prints; None where it has another form."""
    try:
        try:
            printed = json_in(text, reply.model_fields, _list_field(reply))
        except KeyTwice:
            raise
        except ValueError:
            printed = text
        ours = reply.from_printed(printed, context)
        return None if ours is None else reply.model_validate(ours, context=context)
    except ValidationError as error:  # without places, which are those of our form
        raise Unusable("; ".join(problem["msg"] for problem in error.errors()[:5])) from error
    except ValueError as error:
        raise Unusable(str(error)) from error


def _parse(text: str, reply: type[Reply], context: Mapping[str, Any] | None) -> Reply:
    try:
        data, name = json_in(text, reply.model_fields, _list_field(reply)), _list_field(reply)
        data = {name: data} if isinstance(data, list) and name else data  # a bare list of the one that was asked for
    except ValueError as error:
        raise Unusable(str(error)) from error
    try:
        return reply.model_validate_json(text, context=context)
    except ValidationError as error:
        found = error
    is_json = all(problem["type"] != "json_invalid" for problem in found.errors())
    try:
        return reply.model_validate(data, context=context)
    except ValidationError as error:
        found = found if is_json and isinstance(data, dict) else error
        adapted = _adapted(data, error)
    try:
        return reply.model_validate(adapted, context=context)
    except ValidationError as error:
        raise Unusable(_explain(found)) from error


def _list_field(reply: type[Reply]) -> str | None:
    fields = reply.model_fields.items()
    lists = [name for name, field in fields if get_origin(field.annotation) in (list, tuple)]
    others = [name for name, field in fields if name not in lists and field.is_required()]
    return lists[0] if len(lists) == 1 and not others else None


def _adapted(data: Any, error: ValidationError) -> Any:
    """``data`` without keys that were not asked for, and with numbers as strings where a string was asked for.

    An object in which no key was asked for is left as it is: it is another kind of reply, not one with extra keys.
    """
    data = deepcopy(data)
    for problem in error.errors():
        if not problem["loc"]:  # of the whole reply
            continue
        *path, last = problem["loc"]
        parent = data
        for step in path:
            parent = parent[step]
        if problem["type"] == "extra_forbidden" and len(parent) > 1:
            del parent[last]
        if problem["type"] == "string_type" and type(parent[last]) in (int, float):
            parent[last] = str(parent[last])
    return data


def _explain(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, p['loc'])) or 'the object'}: {p['msg']}" for p in error.errors()[:5]]
    more = error.error_count() - len(problems)
    return "; ".join(problems) + (f"; and {more} more" if more > 0 else "")
