"""The bytes of a request, in which a schema keeps the order of its fields, and recorded replies found by its digest."""

import asyncio
import importlib
import json
import pkgutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pydantic import create_model

import tasks
from schemas.params.llm import Role
from tasks.llm.calls import Answer, Call, Message, Reply
from tasks.llm.costs import Estimate, request_tokens
from tasks.llm.prompt_set import use_folder
from tasks.llm.prompts import render
from tasks.llm.recorded import RecordedAsk, digest
from tasks.llm.requests import ask_again, make_request, tokens_needed
from tasks.measures.doclens.subclaims import Subclaims
from tests.support.cases import each

ROOMS = {"judges", "measures", "notes", "people", "spans", "texts"}
"""The rooms that ask models."""

REASONS = {"explanation", "reason", "differences", "supporting"}
VERDICTS = {"consistent", "entailed", "likelihood", "correct", "same"}


def replies() -> list[type[Reply]]:
    """Every kind of structured reply requested by a package."""
    for module in pkgutil.walk_packages(tasks.__path__, "tasks."):
        if module.name.split(".")[1] in ROOMS:
            importlib.import_module(module.name)
    return [kind for kind in _subclasses(Reply) if kind.__module__.startswith("tasks.")]


def _subclasses(kind: type[Reply]) -> Iterator[type[Reply]]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def sent_schema(kind: type[Reply], structured: str) -> dict:
    role = Role(base_url="https://api.example.com/v1", model="m", structured=structured)
    body = json.loads(make_request(Call("1", (Message("user", "x"),), reply=kind), role, "id").content)
    if structured == "json_schema":
        return body["response_format"]["json_schema"]["schema"]
    text = body["messages"][0]["content"]
    return json.loads(text[text.index("\n{") :])


@each("structured", ["json_schema", "json_object", "prompt"])
@each("kind", replies())
def test_the_schema_is_sent_with_the_fields_in_their_order(kind: type[Reply], structured: str) -> None:
    schema = sent_schema(kind, structured)
    assert list(schema["properties"]) == list(kind.model_fields) == schema["required"]


@each("kind", replies())
def test_a_reply_gives_its_reason_before_its_verdict(kind: type[Reply]) -> None:
    fields = list(kind.model_fields)
    reasons = [fields.index(name) for name in REASONS & set(fields)]
    verdicts = [fields.index(name) for name in VERDICTS & set(fields)]
    assert all(reason < verdict for reason in reasons for verdict in verdicts)


def test_another_order_of_fields_is_another_request() -> None:
    role, fields = Role(base_url="https://api.example.com/v1", model="m"), ("entailed", "explanation")
    kinds = [
        create_model("Verdict", __base__=Reply, **dict.fromkeys(names, (str, ...))) for names in (fields, fields[::-1])
    ]
    first, second = (make_request(Call("1", (Message("user", "x"),), reply=kind), role, "id") for kind in kinds)
    assert first.key != second.key


def test_a_call_sets_its_temperature_and_raises_the_limit_of_tokens_to_what_it_needs() -> None:
    def sent(call: Call, **settings: object) -> dict:
        role = Role(base_url="http://x", model="m", **settings)  # type: ignore[arg-type]
        return json.loads(make_request(call, role, "id").content)

    call = Call("1", (Message("user", "x"),), temperature=1.0, least_tokens=2560)
    body = sent(call, temperature=0.2, max_tokens=1000)
    assert (body["temperature"], body["max_tokens"]) == (1.0, 2560)
    assert sent(call, max_tokens=1000, protocol="paper")["max_tokens"] == 1000
    assert sent(call, max_tokens=1000, max_tokens_limit=2000)["max_tokens"] == 2000
    assert sent(call, max_tokens=4000)["max_tokens"] == 4000
    assert not {"temperature", "max_tokens"} & sent(call).keys()  # settings that the role does not send
    assert tokens_needed("x" * 3000, times=1.5) == 1536


def test_a_prompt_file_is_blocks_of_messages_and_names_are_quoted(tmp_path: Path) -> None:
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "map.txt").write_text(
        "[system]\nBe short.\n[user]\nTask: x\n{{ note }}{{ compact }}{{ phrases | quoted }}\n"
    )
    use_folder(tmp_path)
    read = partial(render, "tasks.spans", "map", note="", compact="")
    try:
        system, user = read(phrases=["a", "b", "c"])
        assert (system.role, system.content) == ("system", "Be short.")
        assert (user.role, user.content) == ("user", 'Task: x\n"a", "b" or "c"')
        assert read(phrases=["a"])[1].content.endswith('\n"a"')
        assert read(phrases=["a", "b"])[1].content.endswith('\n"a" or "b"')
    finally:
        use_folder(None)


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


def test_tokens_of_a_request_are_those_of_its_messages_and_of_the_form_of_its_reply() -> None:
    body = {"messages": [{"content": "x" * 40}, {"content": "y" * 8}]}
    assert request_tokens(json.dumps(body).encode()) == (10 + 4) + (2 + 4)
    assert request_tokens(json.dumps(body | {"response_format": "z" * 18}).encode()) == 20 + 5
    assert Estimate("judge", 3, 1000, 101).times(2.5) == Estimate("judge", 8, 2500, 252)
