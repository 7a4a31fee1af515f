"""The Prefect server of a clone answers only who knows its token, under its own name, and no page of another site."""

import asyncio
import base64
import json
import os
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from flows.rebuild import server
from schemas.errors import VignetteError
from tasks.transport.processes import depended_on, is_alive, this_process
from tests.support.cases import each
from tests.support.imports import ROOT

EVIL = "https://evil.example"


class Attacker:
    """Sends requests to a Prefect server, with what it is given. ``access`` are the server's user and token."""

    def __init__(self, url: str, access: str) -> None:
        self.url, self.access = url, access
        self.address = self.url.removesuffix("/api")
        self.token = "Basic " + base64.b64encode(access.encode()).decode()

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.request(method, f"{self.url}{path}", json=body, headers=named, timeout=30)

    def with_csrf(self) -> dict[str, str]:
        """The headers of an own client."""
        client = uuid.uuid4().hex
        token = self.send("GET", f"/csrf-token?client={client}", Authorization=self.token).json()["token"]
        return {"Authorization": self.token, "Prefect_Csrf_Token": token, "Prefect_Csrf_Client": client}


def composed(name: str, **given: str) -> dict[str, Any]:
    """A service of compose.yaml as docker compose would start it, with ``given`` in vignette.env."""

    def fill(found: re.Match[str]) -> str:
        variable, required = found.groups()
        assert required and variable in given, f"{variable} has no value, and docker compose would not say so"
        return given[variable]

    text = re.sub(r"\$\{(\w+)(:\?[^}]*)?\}", fill, (ROOT / "compose.yaml").read_text())
    return dict(yaml.safe_load(text)["services"][name])


SECRETS = {"PREFECT_AUTH": "vignette:of-compose", "PGPASSWORD": "p"}


@pytest.fixture
def attacker(workplace: Path) -> Attacker:
    """An attacker of the server of a clone."""
    return Attacker(server.ensure_server(), server.access())


def test_each_service_that_uses_prefect_has_its_token_and_none_starts_without_one() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    clients = [name for name in services if "PREFECT_API_URL" in composed(name, **SECRETS).get("environment", {})]
    assert {"repro", "watch", "worker", "scheduler"} <= set(clients)
    for name in clients:
        assert composed(name, **SECRETS)["environment"]["PREFECT_API_AUTH_STRING"] == SECRETS["PREFECT_AUTH"]
    ports = [port for name in services for port in services[name].get("ports", [])]
    assert ports == ["127.0.0.1:4200:4200"], "any other port can be reached from outside"


def test_a_server_without_a_token_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for token in ("", "token", "user:"):
        monkeypatch.setenv("PREFECT_SERVER_API_AUTH_STRING", token)
        with pytest.raises(VignetteError, match="PREFECT_SERVER_API_AUTH_STRING is not set; set it to USER:TOKEN"):
            server.serve(4200, "0.0.0.0", stay=True)


def test_the_files_with_the_token_can_be_read_by_their_owner_only(workplace: Path) -> None:
    server.ensure_server()
    for file in (workplace / "prefect-access", workplace.parent / "prefect.toml"):
        assert file.stat().st_mode & 0o777 == 0o600
        assert server.access() in file.read_text()


@each("host", ["evil.example", "evil.example:42000", "127.0.0.1.evil.example", ""])
@each("path", ["/health", "/deployments/filter", "/../"])
def test_another_host_is_refused_with_and_without_the_token(attacker: Attacker, host: str, path: str) -> None:
    assert attacker.send("GET", path, Host=host).status_code == 400
    assert attacker.send("GET", path, Host=host, Authorization=attacker.token).status_code == 400


@each("token", [None, "Basic", "Basic dmlnbmV0dGU6", "Bearer x"])
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


@each(
    "first, host",
    [
        ({"type": "auth", "token": "guessed"}, "127.0.0.1"),
        ({"type": "event"}, "127.0.0.1"),
        ({"type": "auth", "token": "own"}, "evil.example"),
    ],
)
@each("channel", ["events/in", "events/out", "logs/out"])
def test_no_channel_of_events_opens_to_a_stranger(
    attacker: Attacker, channel: str, first: dict[str, str], host: str
) -> None:
    told = first | ({"token": attacker.access} if first.get("token") == "own" else {})
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
    first = {"type": "auth", "token": attacker.access}
    assert asyncio.run(_opens(attacker, "events/in", first, "localhost"))


@pytest.mark.skipif(sys.platform != "linux", reason="sets the clock as Linux shows it")
@each("seconds", [-3600, 3600])
def test_a_clock_that_is_set_ends_no_process_and_leaves_its_server_in_use(
    seconds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me, above, booted = this_process(), depended_on(), psutil.boot_time()
    monkeypatch.setattr(server, "workspace", lambda: tmp_path)
    monkeypatch.setattr(server, "ensure_server", lambda: "http://here/api")
    monkeypatch.setattr(os, "environ", {**os.environ, "PREFECT_API_URL": "http://here/api", server._OWN: "1"})
    server.use_server()
    assert not is_alive(me[1], me[2] + 5), "the id of another process"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psutil._pslinux.boot_time", lambda: booted + seconds)
        assert psutil.Process().create_time() > 0 and this_process() == me
        assert all(is_alive(pid, born) for pid, born in [me[1:], *(one[:2] for one in above)])
        assert server._in_use(tmp_path)
