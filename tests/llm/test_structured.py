"""A structured reply is read as intended, or rejected."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from tasks.llm import requests
from tasks.llm.calls import Reply
from tasks.llm.json_in_text import MOST_REPAIRED
from tasks.llm.replies import (
    MOST_BLANKS,
    MOST_CHARACTERS,
    Completion,
    SendFailure,
    Unusable,
    read_completion,
    read_reply,
)
from tasks.llm.requests import instruction, response_format
from tasks.simulator import dispatch
from tests.support.cases import each, from_table


class Pair(BaseModel):
    """A phrase and what it matches."""

    phrase: str
    match: str


class Pairs(Reply):
    """Pairs of phrases."""

    pairs: list[Pair]
    title: str = "none"


def reply_to(text: str, finish: str = "stop") -> Completion:
    return Completion(text, None, finish, "m", None)


WHOLE = '{"pairs": [{"phrase": "dry \\"cough\\"", "match": "cough {dry}"}], "title": "x"}'


def problem(completion: Completion, kind: type[Reply] | None) -> str:
    """Why the reply cannot be used."""
    with pytest.raises(Unusable) as caught:
        read_reply(completion, kind)
    assert str(caught.value)
    return str(caught.value)


@given(st.integers(min_value=1, max_value=len(WHOLE) - 1))
def test_a_reply_that_stops_half_way_is_never_completed(length: int) -> None:
    problem(reply_to(WHOLE[:length]), Pairs)


@settings(max_examples=50)
@given(st.text(max_size=80))
def test_no_text_crashes_the_reader(text: str) -> None:
    try:
        assert isinstance(read_reply(reply_to(text), Pairs), Pairs)
    except Unusable as problem:
        assert str(problem)


@from_table
def test_problems_are_described_in_words(text: str, said: str) -> None:
    assert problem(reply_to(text), Pairs).endswith(said)


def test_the_schema_is_strict_as_structured_outputs_want_it() -> None:
    schema = response_format(Pairs)["json_schema"]["schema"]
    assert schema["required"] == ["pairs", "title"] and schema["additionalProperties"] is False
    assert schema["$defs"]["Pair"]["required"] == ["phrase", "match"]
    assert "default" not in str(schema) and list(schema["properties"]) == ["pairs", "title"]
    assert "Pairs of phrases." in instruction(Pairs)


def test_client_and_rules_agree_on_how_a_call_is_asked_again() -> None:
    assert requests.REASK == dispatch.REASK


def kind(**fields: Any) -> type[Reply]:
    """A kind of reply with these fields: a type and a default, or ... where a field is required."""
    return create_model("Kind", __base__=Reply, **fields)


Verdict = kind(verdict=(str, ...))
Optional = kind(pairs=(list[str], ...), note=(str, ""))
AMBIGUOUS = {
    "two lists": kind(first=(list[str], ...), second=(list[str], [])),
    "two lists that may be absent": kind(first=(list[str], []), second=(list[str], [])),
    "a list and a required field": kind(pairs=(list[str], ...), note=(str, ...)),
}


def test_a_key_that_was_not_asked_for_is_dropped_unless_no_key_was() -> None:
    assert read_reply(reply_to('{"verdict": "yes", "note": "sure"}'), Verdict) == Verdict(verdict="yes")
    for other in ('{"note": "sure"}', '{"note": "sure", "answer": "yes"}'):
        problem(reply_to(other), Verdict)


def test_a_bare_list_is_read_where_only_one_field_can_be_meant() -> None:
    assert read_reply(reply_to('["a"]'), Optional) == Optional(pairs=["a"])
    for ambiguous in AMBIGUOUS.values():
        problem(reply_to('["a"]'), ambiguous)


def test_replies_that_hold_no_answer_are_named() -> None:
    assert problem(Completion("x", "n" * 300, "stop", "m", None), None) == f"it was refused ({'n' * 200})"
    assert problem(reply_to("x", "content_filter"), None) == "it was refused (content filter)"
    assert problem(reply_to("x", "length"), None) == "it was cut off at the length limit"
    assert problem(reply_to(" \n"), None) == "it was empty"
    assert read_reply(reply_to("x"), None) is None
    assert problem(reply_to("[1] says so"), Optional) == "it holds no JSON object", "a citation is no list"


@each("kind", [Optional, None])
def test_a_reply_of_a_model_that_did_not_stop_is_refused_before_it_is_parsed(kind: type[Reply] | None) -> None:
    began = time.monotonic()
    assert problem(reply_to("```json {" + " " * 60_000), kind) == "it holds 60,000 blanks in a row"
    assert problem(reply_to('{"pairs": [' + "\n\t" * MOST_BLANKS), kind) == "it holds 2,000 blanks in a row"
    assert problem(reply_to("x" * (MOST_CHARACTERS + 1)), kind).startswith("its 1,000,001 characters are more than")
    assert time.monotonic() - began < 2
    spaced = '{"pairs": [' + " " * (MOST_BLANKS - 1) + '"a"]}'
    assert read_reply(reply_to(spaced), Optional) == Optional(pairs=["a"])


def test_a_reply_may_be_four_times_as_long_as_its_token_limit() -> None:
    with pytest.raises(Unusable, match="its 161 characters are more than 160, 4 times its limit of 10 tokens"):
        read_reply(reply_to("x" * 161), None, max_tokens=10)
    assert read_reply(reply_to("x" * 160), None, max_tokens=10) is None


def test_long_json_is_read_and_repaired_only_up_to_a_length() -> None:
    long = '{"pairs": ["' + "a" * MOST_REPAIRED + '"]}'
    assert len(read_reply(reply_to(f"```json\n{long}\n```"), Optional).pairs[0]) == MOST_REPAIRED  # type: ignore[union-attr]
    said = "its JSON has slips, and its 20,016 characters are too many to repair (at most 20,000)"
    assert problem(reply_to(long[:-1] + ",}"), Optional) == said


@each(
    "filler",
    [
        "```",
        "```json\n",
        "{[",
        "`` ",
        "[ ",
        "<think>",
        "</think>",
        "<thought_x></thought_x>",
        '{"a": ',
        "{a :",
        "{a   ",
    ],
)
def test_fences_and_marks_are_found_in_linear_time(filler: str) -> None:
    began = time.monotonic()
    text = f"Here: {filler * (300_000 // len(filler))}"
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    with suppress(Unusable):
        read_reply(read_completion(json.dumps(body)), Optional)
    assert time.monotonic() - began < 2


REASONED = {
    "Mistral": "[THINK]Is it so?[/THINK]",
    "in capitals": "<THINK>Is it so?</THINK>\n",
    "reasoning": "<reasoning>\nIs it so?\n</reasoning>\n\n",
    "thinking": "<thinking>Is it so?</thinking>",
    "Gemini": "<thought>Is it so?</thought>",
    "Seed": "<seed:think>Is it so?</seed:think>",
    "Kimi": "◁think▷Is it so?◁/think▷",
    "Cohere": "<|START_THINKING|>Is it so?<|END_THINKING|>",
    "gpt-oss": "<|channel|>analysis<|message|>Is it so?<|end|><|start|>assistant<|channel|>final<|message|>",
    "twice": "<think>Is</think><think>it so?</think>",
    "opened in the prompt": "Is it so?</think>",
}


@each("model", REASONED)
def test_reasoning_before_a_note_is_no_part_of_it(model: str) -> None:
    def text(content: str) -> str:
        body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
        return read_completion(json.dumps(body)).text

    assert text(f"{REASONED[model]}Dry cough <3 days.") == "Dry cough <3 days."
    unclosed = REASONED[model].partition("Is")[0]
    assert text(f"{unclosed}Is it so?") == ("" if unclosed else "Is it so?")
    note = "[Analysis]\nA cough <thought to be viral>; reasoning: none."
    assert text(note) == note


@each("finish", ["error", "abort", "insufficient_system_resource"])
def test_a_reply_that_the_endpoint_broke_off_is_lost(finish: str) -> None:
    body = {"choices": [{"message": {"content": WHOLE}, "finish_reason": finish}], "usage": {"completion_tokens": 3}}
    with pytest.raises(SendFailure, match=f"finish_reason {finish}") as caught:
        read_completion(json.dumps(body))
    assert caught.value.may_pass and caught.value.may_be_billed and caught.value.usage
