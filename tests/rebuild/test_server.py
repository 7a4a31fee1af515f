"""The Prefect server of a clone answers only who knows its token, under its own name, and no page of another site."""

import asyncio
import base64
import json
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from flows.rebuild import server
from flows.rebuild.access import access

EVIL = "https://evil.example"


class Attacker:
    """Sends requests to the server of a clone, with what it is given."""

    def __init__(self) -> None:
        self.url = server.ensure_server()
        self.address = self.url.removesuffix("/api")
        self.token = "Basic " + base64.b64encode(access().encode()).decode()

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.request(method, f"{self.url}{path}", json=body, headers=named, timeout=30)

    def with_csrf(self) -> dict[str, str]:
        """The headers of an own client."""
        client = uuid.uuid4().hex
        token = self.send("GET", f"/csrf-token?client={client}", Authorization=self.token).json()["token"]
        return {"Authorization": self.token, "Prefect_Csrf_Token": token, "Prefect_Csrf_Client": client}


@pytest.fixture
def attacker(workplace: Path) -> Attacker:
    return Attacker()


def test_the_files_with_the_token_can_be_read_by_their_owner_only(attacker: Attacker, workplace: Path) -> None:
    for file in (workplace / "prefect-access", workplace.parent / "prefect.toml"):
        assert file.stat().st_mode & 0o777 == 0o600
        assert access() in file.read_text()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:42000", "127.0.0.1.evil.example", ""])
@pytest.mark.parametrize("path", ["/health", "/deployments/filter", "/../"])
def test_another_host_is_refused_with_and_without_the_token(attacker: Attacker, host: str, path: str) -> None:
    assert attacker.send("GET", path, Host=host).status_code == 400
    assert attacker.send("GET", path, Host=host, Authorization=attacker.token).status_code == 400


@pytest.mark.parametrize("token", [None, "Basic", "Basic dmlnbmV0dGU6", "Bearer x"])
def test_without_the_token_nothing_is_told_but_that_the_server_lives(attacker: Attacker, token: str | None) -> None:
    headers = {} if token is None else {"Authorization": token}
    for path in ("/deployments/filter", "/flow_runs/filter", "/automations/filter"):
        csrf = {name: value for name, value in attacker.with_csrf().items() if name != "Authorization"}
        assert attacker.send("POST", path, {}, **csrf, **headers).status_code == 401
    assert attacker.send("GET", "/health").json() is True


def test_a_page_of_another_site_may_not_read_and_its_preflight_is_refused(attacker: Attacker) -> None:
    answered = attacker.send("GET", "/health", Origin=EVIL)
    assert "access-control-allow-origin" not in answered.headers
    asked = {"Access_Control_Request_Method": "PATCH", "Access_Control_Request_Headers": "authorization"}
    refused = attacker.send("OPTIONS", "/deployments/x", Origin=EVIL, **asked)
    assert refused.status_code == 400 and "access-control-allow-origin" not in refused.headers
    allowed = attacker.send("OPTIONS", "/deployments/x", Origin=attacker.address, **asked)
    assert allowed.headers["access-control-allow-origin"] == attacker.address


def test_a_deployment_is_not_changed_or_deleted_without_the_token(attacker: Attacker) -> None:
    own = attacker.with_csrf()
    flow = attacker.send("POST", "/flows/", {"name": "watch"}, **own).json()["id"]
    made = {"name": "endpoints", "flow_id": flow, "entrypoint": "flows/commands/watch_round.py:watch"}
    deployment = attacker.send("POST", "/deployments/", made, **own).json()["id"]
    step = {"pull_steps": [{"prefect.deployments.steps.run_shell_script": {"script": "id"}}]}
    without_token = {name: value for name, value in own.items() if name != "Authorization"}
    attempts = [({}, 403), (without_token, 401), ({"Authorization": attacker.token}, 403)]  # the last: no CSRF token
    for headers, status in attempts:
        for method, body in (("PATCH", step), ("DELETE", None)):
            assert attacker.send(method, f"/deployments/{deployment}", body, **headers).status_code == status
    kept = attacker.send("GET", f"/deployments/{deployment}", Authorization=attacker.token).json()
    assert kept["entrypoint"] == made["entrypoint"] and not kept["pull_steps"]
    assert attacker.send("PATCH", f"/deployments/{deployment}", {"description": "mine"}, **own).status_code == 204


@pytest.mark.parametrize(
    ("first", "host"),
    [
        ({"type": "auth", "token": "guessed"}, "127.0.0.1"),
        ({"type": "event"}, "127.0.0.1"),
        ({"type": "auth", "token": "own"}, "evil.example"),
    ],
)
@pytest.mark.parametrize("channel", ["events/in", "events/out", "logs/out"])
def test_no_channel_of_events_opens_to_a_stranger(
    attacker: Attacker, channel: str, first: dict[str, str], host: str
) -> None:
    told = first | ({"token": access()} if first.get("token") == "own" else {})
    assert not asyncio.run(_opens(attacker, channel, told, host))


async def _opens(attacker: Attacker, channel: str, first: dict[str, str], host: str) -> bool:
    port = int(attacker.address.rpartition(":")[2])
    url = f"ws://{host}:{port}/api/{channel}"
    try:
        async with connect(url, host="127.0.0.1", port=port, subprotocols=[Subprotocol("prefect")]) as socket:
            await socket.send(json.dumps(first))
            return bool(json.loads(await asyncio.wait_for(socket.recv(), 10))["type"] == "auth_success")
    except WebSocketException:
        return False


def test_the_channel_of_events_opens_to_an_own_client(attacker: Attacker) -> None:
    first = {"type": "auth", "token": access()}
    assert asyncio.run(_opens(attacker, "events/in", first, "localhost"))
