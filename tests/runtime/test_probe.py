"""Probing rewrites a role's file if and only if its model changed."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.commands import probe
from flows.repository.workspace import STORE, WORKSPACE
from flows.runtime import identities
from schemas.errors import EndpointError
from schemas.params import Params
from schemas.params.llm import Role, Sending
from tasks.transport.epochs import PROMPTS, SAMPLES
from tasks.transport.fingerprint import is_of
from tasks.transport.probing import PROBE_CALLS
from tasks.transport.store import ResponseStore
from tests.support.hosted import Body, Hosted, completion, hosted
from tests.support.params import shipped
from tests.support.scenarios import Script, look, refuses, says
from tests.support.stored import sql

COLD = "a cold is viral so antibiotics do not help against it at all"
WARM = "what bacteria fear is nothing that a virus would ever mind"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(WORKSPACE, str(tmp_path))
    return tmp_path


def params_for(endpoint: Hosted) -> Params:
    sending = Sending(retries=1, backoff_s=0.0, timeout_s=2)
    role = Role(base_url=endpoint.base_url, model="big-1")
    return shipped(roles={"judge": role}, runtime={"sending": {"judge": sending}})


def run(endpoint: Hosted, folder: Path) -> identities.Probed:
    (result,) = asyncio.run(identities.probe(params_for(endpoint), ["judge"], folder / "fingerprints"))
    return result


def test_the_file_is_written_once_and_then_left_alone(workspace: Path) -> None:
    with hosted(lambda body, _: completion(COLD, body, model="big-1-0513")) as endpoint:
        first = run(endpoint, workspace)
        file = workspace / "fingerprints" / "judge.json"
        written, stamp = file.read_text(), file.stat().st_mtime_ns
        endpoint.model_fields["created"] = 99
        again = run(endpoint, workspace)
    assert (first.changed, again.changed) == (True, False)
    assert (file.read_text(), file.stat().st_mtime_ns) == (written, stamp)
    assert first.fingerprint.identity["answered"] == "big-1-0513" and first.fingerprint.label == "big-1-0513"


def test_roles_of_one_endpoint_and_model_are_probed_once_and_concurrently(workspace: Path) -> None:
    async def slow(body: Body) -> Body:
        await asyncio.sleep(0.02)
        return completion(COLD, body)

    with hosted(lambda body, _: slow(body)) as endpoint:
        params = params_for(endpoint)
        roles = {name: params.roles["judge"].model_copy(update={"temperature": 0.7}) for name in params.roles}
        shared = params.model_copy(update={"roles": roles})
        results = asyncio.run(identities.probe(shared, list(roles), workspace / "fingerprints"))
        assert len(endpoint.bodies) == 1 + len(PROMPTS) * SAMPLES + 1, "a greeting, the canaries, a structured question"
        assert len(endpoint.bodies) + 1 == PROBE_CALLS, "a greeting after them, where the model may have changed"
        assert endpoint.most_in_flight > 4
    assert len({result.fingerprint.key for result in results}) == 1 and len(results) == 4


@pytest.mark.parametrize("empty", [PROMPTS, PROMPTS[3:4]])
def test_empty_canary_replies_fail_the_probe_with_the_setting_to_raise(workspace: Path, empty: tuple[str, ...]) -> None:
    def reply(body: Body, _: int) -> Body:
        return completion("" if body["messages"][-1]["content"] in empty else COLD, body)

    hint = r"empty reply.*raise roles.judge.canary_tokens \(now 160\)"
    with hosted(reply) as endpoint, pytest.raises(EndpointError, match=hint):
        run(endpoint, workspace)
    assert not (workspace / "fingerprints" / "judge.json").exists()


def test_an_endpoint_that_at_times_gives_an_empty_reply_is_probed(workspace: Path) -> None:
    with hosted(lambda body, number: completion("" if number % 7 == 5 else COLD, body)) as endpoint:
        assert run(endpoint, workspace).fingerprint.label == "big-1"


def test_a_role_with_imported_replies_is_not_probed_before_a_run_until_it_is_probed_by_hand(
    workspace: Path,
) -> None:
    folder = workspace / "fingerprints"
    with hosted(lambda body, _: completion(COLD, body)) as endpoint:
        params = params_for(endpoint)
        recorded = run(endpoint, workspace).fingerprint
        with ResponseStore(workspace / STORE) as store:
            assert "judge" in probe.roles_to_probe(params, folder)
            sql(store, "INSERT INTO imported VALUES (:key)", key=recorded.key)
            assert "judge" not in probe.roles_to_probe(params, folder)
            other = params.roles["judge"].model_copy(update={"model": "big-2"})
            changed = params.model_copy(update={"roles": {**params.roles, "judge": other}})
            assert "judge" in probe.roles_to_probe(changed, folder), "the imported replies are of another model"
        assert run(endpoint, workspace).changed is False
        assert "judge" in probe.roles_to_probe(params, folder)


def test_only_a_role_whose_settings_name_another_model_needs_a_probe(
    workspace: Path,
) -> None:
    with hosted(lambda body, _: completion(COLD, body)) as endpoint:
        role = params_for(endpoint).roles["judge"]
        recorded = run(endpoint, workspace).fingerprint
    other: dict[str, Any] = {
        "model": "big-2",
        "base_url": "http://127.0.0.1:9/v1",
        "query": {"region": "eu"},
        "headers": {"X-Variant": "b"},
        "identity": ["answered"],
        "aliases": ["big-1-0513"],
    }
    assert is_of(recorded, role) and not is_of(None, role)
    for name, value in {"temperature": 0.3, "redraw": 2, "max_tokens": 9, "extra_body": {"top_p": 0.1}}.items():
        assert is_of(recorded, role.model_copy(update={name: value})), name
    for name, value in other.items():
        assert not is_of(recorded, role.model_copy(update={name: value})), name
    by_prompt = replace(recorded, structured="prompt")
    assert is_of(by_prompt, role) and not is_of(by_prompt, role.model_copy(update={"structured": "json_object"}))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_key_without_permission_to_list_models_is_accepted(tmp_path: Path, status: int) -> None:
    with hosted(says("a reply")) as endpoint:
        endpoint.models_reply = refuses(status, "Missing scopes: api.model.read")
        seen = look(endpoint, tmp_path)
    assert seen.entry == {} and seen.greeting.model == "big-1"


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


@pytest.mark.parametrize(("said", "warned"), [(COLD, False), ("%%% 0 0 0", True)])
def test_a_model_that_answers_nonsense_to_every_canary_gets_a_warning(
    workspace: Path, capsys: pytest.CaptureFixture[str], said: str, warned: bool
) -> None:
    with hosted(lambda body, _: completion(said, body, model="big-1-0513")) as endpoint:
        probe.probe_roles(params_for(endpoint), ["judge"], workspace / "fingerprints")
    expected = "judge: warning: no reply of big-1-0513 to the canary prompts is about what was asked"
    assert (expected in capsys.readouterr().err) is warned
