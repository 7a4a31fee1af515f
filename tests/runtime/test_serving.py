"""The simulator answers within the process of a stage, and the same on a port."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import psutil
import pytest

from flows.runtime.clients import Clients
from schemas.params.llm import Role, Sending
from tasks.llm.calls import Answer, Call, Message
from tasks.simulator import dispatch
from tasks.transport.fingerprint import Fingerprint, served_identity, simulator_identity
from tasks.transport.store import ResponseStore, unpack
from tests.support.endpoints import WRITER, answers, chat, simulator
from tests.support.params import shipped
from tests.support.stored import sql

CLIENT = httpx.Client(timeout=60)


def asked_in_process(folder: Path, calls: list[Call], **sending: float) -> list[Answer]:
    """The writer's answers to a stage's calls."""
    fingerprint = Fingerprint("writer", simulator_identity(WRITER))
    (folder / "writer.json").write_text(fingerprint.to_json())
    runtime = {"store": str(folder / "responses.sqlite"), "sending": {"writer": Sending(**sending)}}
    params = shipped(roles={"writer": WRITER}, runtime=runtime)

    async def run() -> list[Answer]:
        clients = Clients("test", params, fingerprints=folder)
        try:
            return await clients.of("writer")(calls)
        finally:
            await clients.close()

    return asyncio.run(run())


def kept(folder: Path) -> list[tuple[bytes, str, dict[str, Any]]]:
    """Key, request and reply without its time of all calls that are stored."""
    with ResponseStore(folder / "responses.sqlite") as store:
        rows = sql(store, "SELECT key, request, reply FROM responses ORDER BY key")
    return [(key, unpack(request), json.loads(unpack(reply)) | {"created": 0}) for key, request, reply in rows]


def test_a_stage_asks_the_simulator_without_a_port_or_process(tmp_path: Path, server: str) -> None:
    tasks = ("write a clinical note\n\nThe note must mention:\n- cough", "guess")
    calls = [Call(f"{n}", (Message("user", f"Task: {tasks[n % 2]}"),), sample=n) for n in range(20)]
    for folder in (tmp_path / "within", tmp_path / "port"):
        folder.mkdir()
    this = psutil.Process()
    before = this.net_connections(), this.children()
    within = asked_in_process(tmp_path / "within", calls)
    assert (this.net_connections(), this.children()) == before
    assert within == answers(server, tmp_path / "port", calls) and all(answer.ok for answer in within)
    assert kept(tmp_path / "within") == kept(tmp_path / "port") and len(kept(tmp_path / "port")) == 20


def test_no_request_times_out_while_a_slow_rule_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    module = ModuleType("tasks.simulator.writer.testing")

    def slow(request: object) -> str:
        asked.append(request)
        time.sleep(0.3)
        return "done"

    module.slow = slow  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(dispatch._HANDLERS, "slow", ("writer", "writer.testing:slow"))
    calls = [chat(n, "Task: slow\n\n") for n in range(6)]
    found = asked_in_process(tmp_path, calls, timeout_s=0.1, backoff_s=0.01)
    assert [answer.text for answer in found] == ["done"] * 6 and len(asked) == 6


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a simulator."""
    with simulator() as running:
        yield running.base_url


def test_the_server_lists_its_models_and_names_an_unknown_one(server: str) -> None:
    models = CLIENT.get(f"{server}/models").json()["data"]
    assert [model["id"] for model in models][:1] == ["vignette-writer"] and len(models) >= 4
    entry = CLIENT.get(f"{server}/models/vignette-judge").json()
    identity = served_identity(Role(base_url=server, model="vignette-judge"), entry, "vignette-judge", None)
    assert Fingerprint("judge", identity).label == "vignette-judge (simulator's rules)"
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
    refused = CLIENT.post(f"{server}/chat/completions", json=body)
    assert refused.status_code == 404 and "unknown model 'gpt-4o'; available" in refused.json()["error"]["message"]
    for broken in (b"{", b"[]", b'{"model": "vignette-judge"}', b'{"model": "vignette-judge", "messages": [1]}'):
        assert CLIENT.post(f"{server}/chat/completions", content=broken).status_code == 400


def test_a_reply_is_cut_at_max_tokens(server: str) -> None:
    body = {"model": "vignette-writer", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
    reply = CLIENT.post(f"{server}/chat/completions", json=body).json()
    assert reply["choices"][0]["message"]["content"] == "I answer by"
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"] == {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}


@pytest.mark.parametrize(("model", "status"), [("writer", 200), ("writer-calibration", 200), ("judge", 404)])
def test_a_model_does_only_its_own_tasks(server: str, model: str, status: int) -> None:
    task = "Task: write a clinical note\n\nThe note must mention:\n- cough"
    asked = {"model": f"vignette-{model}", "messages": [{"role": "user", "content": task}]}
    reply = CLIENT.post(f"{server}/chat/completions", json=asked)
    assert reply.status_code == status, reply.text
    assert ("send it to the writer" in reply.text) == (status == 404)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *[("127.0.0.1:{port}", 200), ("localhost:{port}", 200), ("[::1]:{port}", 200)],
        *[("rebound.example:{port}", 400), ("localhost.rebound.example:{port}", 400)],
        *[("127.0.0.1:1", 400), ("127.0.0.1", 400)],
    ],
)
def test_the_server_answers_only_to_names_of_loopback_and_its_own_port(server: str, host: str, status: int) -> None:
    asked = host.format(port=httpx.URL(server).port)
    assert httpx.get(f"{server}/models", headers={"Host": asked}).status_code == status
