"""Requests without a reply are collected in place of being sent, and their replies imported from a batch's results."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from flows.commands import parser
from flows.repository.params import COLLECT
from flows.repository.workspace import STORE
from flows.runtime.clients import Clients
from schemas.errors import MissingError
from schemas.params import Params
from schemas.params.llm import Price, Role
from tasks.llm.calls import Answer, Ask
from tasks.transport import missing
from tasks.transport.inspection import check, ledgers
from tasks.transport.missing import batch_files, import_results
from tests.support.endpoints import chat
from tests.support.hosted import Hosted, completion, hosted
from tests.support.params import shipped
from tests.support.scenarios import echo, fingerprint
from tests.support.stored import kept, within

PRICE = Price(prompt=1000.0, completion=2000.0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing, "PAUSE_S", 0.01)


def params_for(endpoint: Hosted, folder: Path) -> Params:
    role = Role(base_url=endpoint.base_url, model="big-1")
    (folder / "judge.json").write_text(fingerprint(endpoint.base_url).to_json())
    return shipped(roles={"judge": role}, prices={"big-1": PRICE}, runtime={"store": str(folder / STORE)})


async def two_steps(ask: Ask) -> list[Answer]:
    """Three calls, and three whose texts hold the replies to the first."""
    first = await ask([chat(n) for n in range(3)])
    return await ask([chat(n, answer.text or "none") for n, answer in enumerate(first)])


def run(params: Params, folder: Path, work: Callable[[Ask], Any] = two_steps) -> Any:
    """What a stage makes of the judge's answers."""

    async def stage() -> Any:
        clients = Clients("doclens", params, fingerprints=folder)
        try:
            return await work(clients.of("judge"))
        finally:
            await clients.close()

    return asyncio.run(stage())


def collected(params: Params, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The requests that a stage which collects writes; none where it ends."""
    begun = time.time()
    with monkeypatch.context() as patch:
        patch.setenv(COLLECT, "1")
        try:
            run(params, folder)
        except MissingError as error:
            assert "nothing was sent" in str(error)
    return [json.loads(line) for _, lines in within(folder / STORE, batch_files, begun) for line in lines]


def answered(request: dict[str, Any], url: str) -> dict[str, Any]:
    """The result of a request, as a service that works through a batch gives it."""
    assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
    reply = httpx.post(f"{url}/chat/completions", json=request["body"])
    response = {"status_code": reply.status_code, "request_id": "r", "body": reply.json()}
    return {"id": "batch_req", "custom_id": request["custom_id"], "response": response, "error": None}


def written(folder: Path, *lines: Any) -> Path:
    file = folder / "results.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def imported(params: Params, folder: Path, *lines: Any) -> missing.Results:
    recorded = [fingerprint(params.roles["judge"].base_url)]
    return import_results(folder / STORE, written(folder, *lines), "default", params.prices, recorded)


def test_rounds_of_a_batch_give_what_a_run_would_and_send_nothing_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosted(echo) as endpoint:
        params, rounds = params_for(endpoint, tmp_path), []
        while requests := collected(params, tmp_path, monkeypatch):
            assert len(endpoint.bodies) == sum(rounds), "a stage that collects sends nothing, nor a check of identity"
            found = imported(params, tmp_path, *(answered(request, endpoint.base_url) for request in requests))
            assert (found.added, found.problems) == (len(requests), [])
            rounds.append(len(requests))
        assert rounds == [3, 3], "what depends on a missing reply is of the next round"
        texts = [answer.text for answer in run(params, tmp_path)]
        assert texts == [f"said said hello {n} {n}" for n in range(3)] and len(endpoint.bodies) == 6
    spent = within(tmp_path / STORE, ledgers)["default"]
    assert (round(spent.dollars, 6), spent.tokens, spent.calls) == (0.06, 90, 6), "half the price"
    assert within(tmp_path / STORE, check).unreadable == [], "they are kept under the keys of their requests"


def test_lines_without_a_reply_are_named_and_stay_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hosted(echo) as endpoint:
        params = params_for(endpoint, tmp_path)
        first, second, third = requests = collected(params, tmp_path, monkeypatch)
        other = {"response": {"status_code": 200, "body": completion("x", {"model": "other"})}}
        lines = [
            {**first, "response": {"status_code": 400, "body": {"error": {"message": "too long"}}}},
            {**second, "response": None, "error": {"code": "batch_expired", "message": "late"}},
            {**third, **other},
            {"custom_id": "ab" * 32, **other},
            {"custom_id": "no hex", **other},
            {**third, "response": {"status_code": 200, "body": {"choices": []}}},
            17,
        ]
        found = imported(params, tmp_path, *lines)
        assert found.added == 0 and kept(tmp_path / STORE) == 0 and within(tmp_path / STORE, ledgers) == {}
        expected = ["too long", "batch_expired", "answered is 'other'", "wrote no such request here", "hexadecimal"]
        expected += ["no chat completion", "not subscriptable"]
        for number, (said, problem) in enumerate(zip(expected, found.problems, strict=True), 1):
            assert problem.startswith(f"line {number}: ") and said in problem and problem.isprintable()
        assert collected(params, tmp_path, monkeypatch) == requests


def test_results_imported_twice_are_booked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with hosted(echo) as endpoint:
        params = params_for(endpoint, tmp_path)
        lines = [answered(one, endpoint.base_url) for one in collected(params, tmp_path, monkeypatch)]
        failed = {**lines[0], "response": None, "error": {"code": "batch_expired"}}
        file = written(tmp_path, failed, *lines[1:])
    command = ["store", "import", str(file), "--store", str(tmp_path / STORE)]
    assert parser.run(command) == 0 and parser.run(command) == 0
    said = capsys.readouterr()
    assert "2 replies added, booked at" in said.out and "0 replies added, booked at" in said.out
    assert said.err.count("results.jsonl: line 1: doclens") == 2
    assert within(tmp_path / STORE, ledgers)["default"].calls == 2


def test_a_file_asks_one_model_and_holds_no_more_than_a_batch_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missing, "MOST_REQUESTS", 2)
    with hosted(echo) as endpoint:
        assert len(collected(params_for(endpoint, tmp_path), tmp_path, monkeypatch)) == 3
    assert [(role, len(lines)) for role, lines in within(tmp_path / STORE, batch_files, 0.0)] == [
        ("judge", 2),
        ("judge", 1),
    ]
