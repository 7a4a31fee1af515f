"""Recorded replies: found by the digest of the request, asked again as recorded, missing ones fail."""

import asyncio

from tasks.llm.calls import Answer, Call, Message
from tasks.llm.recorded import RecordedAsk, digest
from tasks.llm.requests import ask_again
from tasks.measures.doclens.subclaims import Subclaims


def call(text: str, sample: int = 0) -> Call:
    return Call("1/x", (Message("user", text),), reply=Subclaims, sample=sample)


def key(asked: Call) -> str:
    return digest([(one.role, one.content) for one in asked.messages], asked.sample)


def answer(asked: Call, replies: dict[str, str]) -> Answer:
    (found,) = asyncio.run(RecordedAsk("a model", replies)([asked]))
    return found


def test_a_reply_is_found_by_all_messages_and_the_sample() -> None:
    replies = {key(call("a")): '{"claims": ["One."]}'}
    found = answer(call("a"), replies).value
    assert isinstance(found, Subclaims) and found.claims == ["One."]
    for other in (call("b"), call("a", sample=1)):
        assert answer(other, replies).failure == "no recorded reply to this request"


def test_an_unusable_reply_is_followed_by_the_recorded_reply_to_the_next_request() -> None:
    again = ask_again(call("a"), "nonsense", "")
    first = answer(call("a"), {key(call("a")): "nonsense"})
    assert first.failure is not None and "no recorded reply" in first.failure
    assert len(again.messages) == 3
