"""A structured reply is read as intended, or rejected."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from tasks.llm import requests
from tasks.llm.calls import Reply
from tasks.llm.replies import Completion, Unusable, read_reply
from tasks.llm.requests import instruction, response_format
from tasks.simulator import dispatch
from tests.support.cases import from_table


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


@given(st.text(max_size=80))
def test_no_text_crashes_the_reader(text: str) -> None:
    try:
        assert isinstance(read_reply(reply_to(text), Pairs), Pairs)
    except Unusable as problem:
        assert str(problem)


@from_table
def test_problems_are_described_in_words(text: str, said: str) -> None:
    assert said in problem(reply_to(text), Pairs)


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
Six = kind(**dict.fromkeys("abcdef", (int, ...)))


def test_a_key_that_was_not_asked_for_is_dropped_unless_no_key_was() -> None:
    assert read_reply(reply_to('{"verdict": "yes", "note": "sure"}'), Verdict) == Verdict(verdict="yes")
    for other in ('{"note": "sure"}', '{"note": "sure", "answer": "yes"}'):
        problem(reply_to(other), Verdict)


def test_a_bare_list_is_read_where_only_one_field_can_be_meant() -> None:
    assert read_reply(reply_to('["a"]'), Optional) == Optional(pairs=["a"])
    for ambiguous in AMBIGUOUS.values():
        problem(reply_to('["a"]'), ambiguous)


def test_five_problems_are_described_and_the_rest_counted() -> None:
    assert problem(reply_to("{}"), Six).count("Field required") == 5
    assert problem(reply_to("{}"), Six).endswith("; and 1 more")
    assert problem(reply_to('{"a": 1}'), Six).count("Field required") == 5
    assert "more" not in problem(reply_to('{"a": 1}'), Six)


def test_replies_that_hold_no_answer_are_named() -> None:
    assert problem(Completion("x", "n" * 300, "stop", "m", None), None) == f"it was refused ({'n' * 200})"
    assert problem(reply_to("x", "content_filter"), None) == "it was refused (content filter)"
    assert problem(reply_to("x", "length"), None) == "it was cut off at the length limit"
    assert problem(reply_to(" \n"), None) == "it was empty"
    assert read_reply(reply_to("x"), None) is None
    assert problem(reply_to("[1] says so"), Optional) == "it holds no JSON object", "a citation is no list"


def test_the_first_object_or_list_of_the_text_is_read() -> None:
    read = Optional(pairs=["a", "b"])
    assert read_reply(reply_to("Two of them: [\"a\", 'b'] as asked"), Optional) == read
    assert read_reply(reply_to('In {"pairs": ["a", "b"]}, all of ["c"]'), Optional) == read
    assert read_reply(reply_to("```\n{'pairs': ['a', 'b'],}\n```\n{}"), Optional) == read
