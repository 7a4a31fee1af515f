"""Endpoints that differ from OpenAI's, each as documented."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from schemas.params.llm import Role
from tasks.llm.probing import Sighting
from tasks.llm.roles import look_up
from tasks.llm.store import ResponseStore
from tests.support.hosted import Body, Hosted, completion, hosted
from tests.support.scenarios import QUICK, Scenario, Script, Verdict, refuses, says

KEY = "azure-key-of-32-characters-000000"


def look(endpoint: Hosted, folder: Path, **settings: Any) -> Sighting:
    """Probe ``endpoint``."""
    role = Role.model_validate({"base_url": endpoint.base_url, "model": "big-1"} | settings)

    async def run() -> Sighting:
        with ResponseStore(folder / "responses.sqlite") as store:
            return await look_up("judge", role, store=store, sending=QUICK)

    return asyncio.run(run())


def test_azures_classic_address_keeps_its_query_and_takes_the_key_in_its_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    played = Scenario(
        says("x"),
        path="/openai/deployments/my-gpt",
        query="?api-version=2024-10-21",
        role={"identity": ["endpoint", "asked", "answered"]},
        sending=QUICK.model_copy(update={"api_key_env": "AZURE_OPENAI_API_KEY"}),
    ).play(tmp_path)
    assert all(answer.ok for answer in played.answers)
    assert set(played.queries) == {"api-version=2024-10-21"}
    assert all(headers["api-key"] == KEY and "authorization" not in headers for headers in played.headers)


def test_a_role_adds_its_query_and_headers_to_each_request(tmp_path: Path) -> None:
    settings = {"query": {"api-version": "preview"}, "headers": {"X-Project": "notes"}}
    played = Scenario(says("x"), role=settings).play(tmp_path)
    assert set(played.queries) == {"api-version=preview"}
    assert {headers["x-project"] for headers in played.headers} == {"notes"}


def test_a_gateway_may_want_the_key_in_a_header_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_KEY", KEY)
    settings = {"api_key_env": "GATEWAY_KEY", "api_key_header": "X-Gateway-Key"}
    played = Scenario(says("x"), sending=QUICK.model_copy(update=settings)).play(tmp_path)
    assert {headers["x-gateway-key"] for headers in played.headers} == {KEY}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_key_without_permission_to_list_models_is_accepted(tmp_path: Path, status: int) -> None:
    with hosted(says("a reply")) as endpoint:
        endpoint.models_reply = refuses(status, "Missing scopes: api.model.read")
        seen = look(endpoint, tmp_path)
    assert seen.entry == {} and seen.greeting.model == "big-1"


def test_a_list_of_models_without_single_entries_names_the_owner(tmp_path: Path) -> None:
    with hosted(says("a reply")) as endpoint:
        endpoint.models_reply = JSONResponse({"data": [{"id": "other"}, {"id": "big-1", "owned_by": "acme"}]})
        endpoint.has_entries = False
        assert look(endpoint, tmp_path).entry["owned_by"] == "acme"


def reasoning_model(body: Body, _: int) -> Any:
    """Requires max_completion_tokens, accepts only temperature 1, and reasons before it answers."""
    if "max_tokens" in body:
        message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
        return refuses(400, message, param="max_tokens", code="unsupported_parameter")
    if body.get("temperature", 1) != 1:
        message = "Unsupported value: 'temperature' does not support 0.0. Only the default (1) value is supported."
        return refuses(400, message, param="temperature", code="unsupported_value")
    if body["max_completion_tokens"] < 200:
        return completion("", body, finish="length")
    return completion('{"holds": true}', body)


REASONING = {"max_tokens_field": "max_completion_tokens", "canary_tokens": 2000}


@pytest.mark.parametrize("temperature", [None, 1.0])
def test_a_reasoning_model_is_probed_at_its_own_temperature(tmp_path: Path, temperature: float | None) -> None:
    with hosted(reasoning_model) as endpoint:
        seen = look(endpoint, tmp_path, **REASONING, temperature=temperature)
    assert all(reply == '{"holds": true}' for replies in seen.canaries.values() for reply in replies)


def test_a_reasoning_model_answers_with_its_required_settings(tmp_path: Path) -> None:
    settings = {**REASONING, "max_tokens": 2000, "temperature": None}
    played = Scenario(reasoning_model, reply=Verdict, role=settings).play(tmp_path)
    assert all(answer.value == Verdict(holds=True) for answer in played.answers)
    assert all("temperature" not in body and body["max_completion_tokens"] == 2000 for body in played.sent)


PROBES: dict[str, tuple[Script, dict[str, Any], str]] = {
    "max_tokens": (reasoning_model, {}, "roles.judge.max_tokens_field: max_completion_tokens"),
    "too few tokens": (reasoning_model, REASONING | {"canary_tokens": 100}, "raise roles.judge.canary_tokens"),
}


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_that_is_rejected_names_the_setting(tmp_path: Path, name: str) -> None:
    script, settings, setting = PROBES[name]
    with hosted(script) as endpoint, pytest.raises(Exception, match=setting):
        look(endpoint, tmp_path, **settings)


def no_schemas(body: Body, _: int) -> Any:
    """Accepts json_object only."""
    if body.get("response_format", {}).get("type") == "json_schema":
        return refuses(400, "This response_format type is unavailable now")
    return completion('{"holds": true}', body)


def test_a_probe_records_how_an_endpoint_takes_structured_requests(tmp_path: Path) -> None:
    with hosted(no_schemas) as endpoint:
        seen = look(endpoint, tmp_path)
        fixed = look(endpoint, tmp_path, structured="prompt")
    assert seen.structured == "json_object" and fixed.structured is None
