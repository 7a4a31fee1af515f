"""Decides whether a reply can be used, and reads structured ones."""

import json
import re

import json_repair
from pydantic import ValidationError

from tasks.llm.calls import Reply
from tasks.llm.completions import Completion

_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*(?:```|$)", re.DOTALL)


class Unusable(Exception):
    """A reply that came but cannot be used; the text says what is wrong, in words meant for the model."""


def read_reply(completion: Completion, reply: type[Reply] | None) -> Reply | None:
    """The structured reply that ``completion`` holds; None where plain text was asked for. Raises Unusable."""
    if completion.refusal or completion.finish == "content_filter":
        raise Unusable(f"it was refused ({(completion.refusal or 'content filter')[:200]})")
    if not completion.text.strip():
        raise Unusable("it was empty")
    if completion.finish == "length":
        raise Unusable("it was cut off at the length limit")
    return None if reply is None else _parse(completion.text, reply)


def _parse(text: str, reply: type[Reply]) -> Reply:
    try:
        return reply.model_validate_json(text)
    except ValidationError as error:
        if all(problem["type"] != "json_invalid" for problem in error.errors()):
            raise Unusable(_explain(error)) from error
    try:
        return reply.model_validate(_repaired(text))
    except ValidationError as error:
        raise Unusable(_explain(error)) from error


def _repaired(text: str) -> object:
    """JSON with slips (a fence, a trailing comma, single quotes) made good; never a reply that stops half way.

    A repair library closes what was left open, so a reply cut short would come out whole and short of content.
    """
    fenced = _FENCE.search(text)
    body = fenced.group(1) if fenced else text
    start = body.find("{")
    if start < 0:
        raise Unusable("it holds no JSON object")
    if _stops_half_way(body[start:]):
        raise Unusable("its JSON stops half way")
    end = body.rfind("}") + 1
    loaded = json_repair.loads(body[start:end])
    return json.loads(json.dumps(loaded))


def _stops_half_way(body: str) -> bool:
    """Whether a bracket or a double-quoted string is still open at the end."""
    depth, in_string, escaped = 0, False, False
    for character in body:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
    return in_string or depth > 0


def _explain(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, p['loc'])) or 'the object'}: {p['msg']}" for p in error.errors()[:5]]
    more = error.error_count() - len(problems)
    return "; ".join(problems) + (f"; and {more} more" if more > 0 else "")
