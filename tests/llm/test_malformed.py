"""Malformed replies of every kind are read as they were meant or refused with a reason; none becomes another value."""

import json
import re
from collections.abc import Callable

import pytest

from tasks.llm.calls import Reply
from tasks.llm.replies import Completion, Unusable, read_completion, read_reply
from tests.llm.meant import MEANT, Meant
from tests.llm.test_requests import replies
from tests.support.cases import each


def read(text: str, meant: Meant, finish: str = "stop") -> Reply | None:
    """The reply in a completion with this content, as the client reads it."""
    message = {"role": "assistant", "content": text}
    body = {"model": "m", "choices": [{"message": message, "finish_reason": finish}]}
    return read_reply(read_completion(json.dumps(body)), meant.kind, meant.context)


def _first_key(text: str) -> str:
    return re.search(r'"(\w+)"', text)[1]  # type: ignore[index]


READ: dict[str, Callable[[str], str]] = {
    "as it should be": str,
    "indented": lambda text: json.dumps(json.loads(text), indent=2),
    "in a fence": lambda text: f"```json\n{text}\n```",
    "in a fence without a name": lambda text: f"```\n{text}\n```",
    "in a fence after a sentence": lambda text: f"Here is the JSON:\n```json\n{text}\n```",
    "in a fence that is not closed": lambda text: f"```json\n{text}",
    "after a sentence": lambda text: f"Sure! Here is the result: {text}",
    "before a sentence": lambda text: f"{text}\n\nLet me know if you need anything else.",
    "after reasoning": lambda text: f"<think>I should look at all {{facts}}.</think>\n{text}",
    "with a trailing comma": lambda text: text[:-1] + ",}",
    "with line breaks after commas": lambda text: text.replace(", ", ",\n\n"),
    "with Windows line breaks": lambda text: json.dumps(json.loads(text), indent=1).replace("\n", "\r\n"),
    "with an extra key": lambda text: text[:-1] + ', "note": "done"}',
    "with another extra key first": lambda text: '{"task": "x", ' + text[1:],
    "with a confidence": lambda text: text[:-1] + ', "confidence": 0.9}',
    "with a byte order mark": lambda text: "\ufeff" + text,
    "with blanks around": lambda text: f"\n\n   {text}  \n",
    "in bold": lambda text: f"**{text}**",
}
READ_OR_REFUSED: dict[str, Callable[[str], str]] = {
    "with single quotes": lambda text: text.replace('"', "'"),
    "with typographic quotes": lambda text: text.replace('"', "”"),
    "with Python's constants": lambda text: text.replace("true", "True").replace("false", "False"),
    "without quotes around keys": lambda text: re.sub(r'"(\w+)":', r"\1:", text),
    "with a missing comma": lambda text: text.replace(", ", " ", 1),
    "with a comment": lambda text: text.replace("{", "{ // the verdict\n", 1),
    "with numbers as strings": lambda text: re.sub(r": (\d+)", r': "\1"', text),
    "with numbers as decimals": lambda text: re.sub(r": (\d+)", r": \1.0", text),
    "with keys in capitals": lambda text: re.sub(r'"(\w+)":', lambda m: f'"{m[1].upper()}":', text),
    "twice": lambda text: f"{text}\n{text}",
    "in an object of its own": lambda text: f'{{"reply": {text}}}',
    "in a list": lambda text: f"[{text}]",
    "as a string": lambda text: json.dumps(text),
    "as JSON lines": lambda text: "\n".join(json.dumps({key: value}) for key, value in json.loads(text).items()),
    "as XML": lambda text: f"<reply>{text}</reply>",
    "with escaped quotes": lambda text: text.replace('"', '\\"'),
    "without the closing brace": lambda text: text[:-1],
    "without the opening brace": lambda text: text[1:],
    "with a brace too many": lambda text: text + "}",
    "with a bracket for the brace": lambda text: text[:-1] + "]",
    "with dots for the rest": lambda text: text[: len(text) // 2] + " ...",
    "with dots in a list": lambda text: text.replace("[", "[..., ", 1),
    "only the bare list": lambda text: next(
        (json.dumps(value) for value in json.loads(text).values() if isinstance(value, list)), "[]"
    ),
}
REFUSED: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "blank": lambda _: " \n\t ",
    "a refusal": lambda _: "I'm sorry, but I cannot help with that.",
    "null": lambda _: "null",
    "a number": lambda _: "1",
    "an empty object": lambda _: "{}",
    "a word": lambda _: "yes",
    "the schema": lambda _: '{"type": "object", "properties": {"x": {"type": "string"}}}',
    "null for a field": lambda text: re.sub(
        r': (\[.*|"[^"]*"|\d+|true|false)', ": null}", text, count=1, flags=re.DOTALL
    ),
    "an object for a field": lambda text: json.dumps({**json.loads(text), _first_key(text): {"x": 1}}),
    "without its last field": lambda text: json.dumps(dict(list(json.loads(text).items())[:-1])),
    "another key for its last field": lambda text: text.replace(f'"{list(json.loads(text))[-1]}"', '"result"', 1),
    "cut off in its first field": lambda text: text[: text.index(":") + 3],
    "cut off before its end": lambda text: text[:-2],
    "only reasoning": lambda text: f"<think>{text}",
    "prose": lambda text: " ".join(re.findall(r"\w+", text)),
}


@each("meant", MEANT)
@each("form", READ)
def test_a_reply_in_another_form_is_read_as_meant(form: str, meant: Meant) -> None:
    assert read(READ[form](meant.text), meant) == meant.kind.model_validate(meant.content, context=meant.context)


@each("meant", MEANT)
@each("form", READ_OR_REFUSED)
def test_a_broken_reply_is_read_as_meant_or_refused(form: str, meant: Meant) -> None:
    try:
        found = read(READ_OR_REFUSED[form](meant.text), meant)
    except Unusable as problem:
        assert str(problem)
    else:
        assert found == meant.kind.model_validate(meant.content, context=meant.context)


@each("meant", MEANT)
@each("form", REFUSED)
def test_a_reply_without_its_content_is_refused_with_a_reason(form: str, meant: Meant) -> None:
    with pytest.raises(Unusable) as problem:
        read(REFUSED[form](meant.text), meant)
    assert str(problem.value)


@each("meant", MEANT)
def test_a_whole_reply_that_was_cut_off_or_filtered_is_refused(meant: Meant) -> None:
    for finish in ("length", "content_filter"):
        with pytest.raises(Unusable):
            read(meant.text, meant, finish)
    with pytest.raises(Unusable, match="refused"):
        read_reply(Completion(meant.text, "no", "stop", "m", None), meant.kind, meant.context)


def test_the_table_has_every_kind_of_reply() -> None:
    of_rooms = {
        kind for kind in replies() if not kind.__module__.startswith("tasks.transport.")
    }  # canaries are never scored
    nested = {
        kind for kind in of_rooms if any(kind.__name__ in m.kind.model_json_schema().get("$defs", {}) for m in MEANT)
    }
    asked_for = {kind for kind in of_rooms if kind not in nested and not kind.__subclasses__()}
    meant = tuple(one.kind for one in MEANT)  # a kind made for a request is a subclass of the room's
    assert not [kind for kind in asked_for if not issubclass(kind, meant)]
