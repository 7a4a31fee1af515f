"""A structured reply is read as intended, or rejected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tasks.llm import requests
from tasks.llm.calls import Reply
from tasks.llm.completions import Completion
from tasks.llm.schema import instruction, response_format
from tasks.llm.structured import Unusable, read_reply
from tasks.simulator import dispatch


class Pair(BaseModel):
    """A phrase and what it matches."""

    phrase: str
    match: str


class Pairs(Reply):
    """Pairs of phrases."""

    pairs: list[Pair]
    title: str = "none"


def reply_to(text: str, finish: str = "stop") -> Completion:
    return Completion(text, None, finish, "m", None, 1, 1)


WHOLE = '{"pairs": [{"phrase": "dry \\"cough\\"", "match": "cough {dry}"}], "title": "x"}'
READ = Pairs(pairs=[Pair(phrase='dry "cough"', match="cough {dry}")], title="x")


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Here it is:\n{WHOLE}\nAnything else?",
        WHOLE.replace('"x"}', '"x",}'),
        WHOLE.replace('"x"}', '"x", "note": "none"}'),
    ],
)
def test_slips_of_form_are_corrected(text: str) -> None:
    assert read_reply(reply_to(text), Pairs) == READ


@given(st.integers(min_value=1, max_value=len(WHOLE) - 1))
def test_a_reply_that_stops_half_way_is_never_completed(length: int) -> None:
    with pytest.raises(Unusable):
        read_reply(reply_to(WHOLE[:length]), Pairs)


@given(st.text(max_size=80))
def test_no_text_crashes_the_reader(text: str) -> None:
    try:
        assert isinstance(read_reply(reply_to(text), Pairs), Pairs)
    except Unusable as problem:
        assert str(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"pairs": "none"}', "pairs: Input should be a valid array"),
        ('{"couples": []}', "pairs: Field required"),
        ("I cannot.", "it holds no JSON object"),
        ('{"pairs": [{"phrase": "a"}]}', "pairs.0.match: Field required"),
    ],
)
def test_problems_are_described_in_words(text: str, problem: str) -> None:
    with pytest.raises(Unusable) as caught:
        read_reply(reply_to(text), Pairs)
    assert problem in str(caught.value)


def test_the_schema_is_strict_as_structured_outputs_want_it() -> None:
    schema = response_format(Pairs)["json_schema"]["schema"]
    assert schema["required"] == ["pairs", "title"] and schema["additionalProperties"] is False
    assert schema["$defs"]["Pair"]["required"] == ["phrase", "match"]
    assert "default" not in str(schema) and list(schema["properties"]) == ["pairs", "title"]
    assert "Pairs of phrases." in instruction(Pairs)


def test_client_and_rules_agree_on_how_a_call_is_asked_again() -> None:
    assert requests.REASK == dispatch.REASK


class Optional(Reply):
    """One list, and a field that may be absent."""

    pairs: list[str]
    note: str = ""


class Two(Reply):
    """Two lists."""

    first: list[str]
    second: list[str] = Field(default_factory=list)


class Further(Reply):
    """A list and a required field."""

    pairs: list[str]
    note: str


class Defaults(Reply):
    """Two lists that may be absent."""

    first: list[str] = Field(default_factory=list)
    second: list[str] = Field(default_factory=list)


class Verdict(Reply):
    """One field."""

    verdict: str


def test_a_key_that_was_not_asked_for_is_dropped_unless_no_key_was() -> None:
    assert read_reply(reply_to('{"verdict": "yes", "note": "sure"}'), Verdict) == Verdict(verdict="yes")
    for other in ('{"note": "sure"}', '{"note": "sure", "answer": "yes"}'):
        with pytest.raises(Unusable):
            read_reply(reply_to(other), Verdict)


def test_a_number_is_read_as_text_where_text_was_asked_for() -> None:
    assert read_reply(reply_to('{"verdict": 7}'), Verdict) == Verdict(verdict="7")
    with pytest.raises(Unusable):
        read_reply(reply_to('{"verdict": true}'), Verdict)


def test_a_bare_list_is_read_where_only_one_field_can_be_meant() -> None:
    assert read_reply(reply_to('["a"]'), Optional) == Optional(pairs=["a"])
    for ambiguous in (Two, Defaults, Further):
        with pytest.raises(Unusable):
            read_reply(reply_to('["a"]'), ambiguous)
