"""Calls lost to transport errors are retried by the next run; until then the stage is unfinished."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from flows.engine.clients import Clients
from flows.engine.params import load_params
from schemas.errors import EndpointError
from schemas.params import Params
from schemas.params.llm import Role, Sending
from tasks.llm.calls import Answer
from tasks.llm.fingerprint import Fingerprint
from tests.support.endpoints import chat
from tests.support.hosted import Body, Hosted, completion, hosted
from tests.support.scenarios import Script, refuses


def params_for(endpoint: Hosted, **runtime: Any) -> Params:
    loaded = load_params()
    role = Role(base_url=endpoint.base_url, model="big-1")
    sending = Sending(retries=1, backoff_s=0.0, timeout_s=2, breaker_failures=1000)
    changed = loaded.runtime.model_copy(update={"sending": {"judge": sending}, **runtime})
    return loaded.model_copy(update={"roles": {**loaded.roles, "judge": role}, "runtime": changed})


def run_stage(endpoint: Hosted, folder: Path, **runtime: Any) -> list[Answer]:
    """A minimal stage: ask, then end."""

    async def run() -> list[Answer]:
        clients = Clients("doclens", params_for(endpoint, **runtime), folder, fingerprints=folder)
        try:
            answers = await clients.of("judge")([chat(n) for n in range(6)])
            clients.require_answers()
            return answers
        finally:
            await clients.close()

    return asyncio.run(run())


def record(endpoint: Hosted, folder: Path) -> None:
    identity = {"endpoint": endpoint.base_url, "asked": "big-1", "answered": "big-1", "owner": "acme"}
    (folder / "judge.json").write_text(Fingerprint("judge", identity).to_json())


def down_for(call: str, until: int) -> Script:
    """A server error for one call, in its first ``until`` attempts."""
    attempts = [0]

    def reply(body: Body, _: int) -> Any:
        if call in str(body["messages"]):
            attempts[0] += 1
            if attempts[0] <= until:
                return refuses(500, "boom")
        return completion("fine", body)

    return reply


def test_a_stage_with_lost_calls_is_not_finished_and_its_next_run_asks_only_for_them(tmp_path: Path) -> None:
    with hosted(down_for("hello 3", until=2)) as endpoint:
        record(endpoint, tmp_path)
        with pytest.raises(EndpointError, match=r"1 calls failed on the way.*3/test.*boom.*accept_lost_calls: true"):
            run_stage(endpoint, tmp_path)
        sent = len(endpoint.bodies)
        assert all(answer.ok for answer in run_stage(endpoint, tmp_path))
        assert len(endpoint.bodies) == sent + 2, "the check of identity and the lost call"


def test_lost_calls_can_be_accepted(tmp_path: Path) -> None:
    with hosted(down_for("hello 3", until=99)) as endpoint:
        record(endpoint, tmp_path)
        answers = run_stage(endpoint, tmp_path, accept_lost_calls=True)
    assert [answer.ok for answer in answers] == [True, True, True, False, True, True]


def test_a_call_that_failed_for_its_content_does_not_keep_the_stage_from_finishing(tmp_path: Path) -> None:
    def reply(body: Body, _: int) -> Any:
        wrong = {"hello 1": refuses(400, "filtered", code="content_filter"), "hello 2": {"object": "error"}}
        return next((said for part, said in wrong.items() if part in str(body["messages"])), completion("fine", body))

    with hosted(reply) as endpoint:
        record(endpoint, tmp_path)
        answers = run_stage(endpoint, tmp_path)
    assert [answer.ok for answer in answers] == [True, False, False, True, True, True]


def test_a_stage_refuses_a_role_whose_model_is_not_the_probed_one(tmp_path: Path) -> None:
    with hosted(down_for("", until=0)) as endpoint:
        record(endpoint, tmp_path)
        params = params_for(endpoint)
        other = params.roles["judge"].model_copy(update={"model": "big-2"})
        changed = params.model_copy(update={"roles": {**params.roles, "judge": other}})
        with pytest.raises(Exception, match=r"asked is 'big-2', recorded is 'big-1'.*vignette probe --role judge"):
            Clients("doclens", changed, tmp_path, fingerprints=tmp_path).of("judge")
