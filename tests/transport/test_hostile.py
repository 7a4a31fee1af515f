"""An endpoint that redirects, sends bombs or control characters gets nothing, and costs one clear line."""

import http.server
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import RedirectResponse, Response

from flows.commands import parser
from flows.repository.workspace import be_quiet
from schemas.errors import EndpointError
from schemas.params.llm import Role
from tasks.transport.shown import printable
from tests.support.endpoints import chat
from tests.support.hosted import Body, Hosted, completion, hosted
from tests.support.imports import ROOT
from tests.support.memory import growth_below
from tests.support.scenarios import QUICK, Scenario, ask, but_for_greeting, look, refuses, says
from tests.support.stored import fill, paid

KEY = "azure-key-of-32-characters-000000"
SENT = QUICK.model_copy(update={"api_key_env": "HOSTED_KEY", "api_key_header": "api-key"})
ESC = "\x1b]0;owned\x07\x1b[2J\r\n\u202egnp.exe"
LITTLE = 200_000_000
"""Bytes of memory that a hostile reply may take."""


@pytest.fixture
def thief() -> Iterator[Hosted]:
    """Another address, which would answer."""
    with hosted(says("stolen")) as other:
        yield other


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed_and_the_address_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thief: Hosted, status: int
) -> None:
    monkeypatch.setenv("HOSTED_KEY", KEY)
    away = RedirectResponse(f"{thief.base_url}/chat/completions?token=abc", status)
    role = {"headers": {"X-Project": "notes"}}
    error = rf"EndpointError.*redirects to {thief.base_url}/chat/completions.*set base_url"
    played = Scenario(lambda *_: away, sending=SENT, role=role, error=error).play(tmp_path)
    assert "token" not in str(played.error)
    assert thief.bodies == thief.headers == [] and len(played.endpoint.bodies) == 1


def test_a_redirect_to_no_address_is_named(tmp_path: Path) -> None:
    away = Response("", 307, headers={"location": "http://[\xff"})
    Scenario(lambda *_: away, error="redirects to an invalid address").play(tmp_path)


def test_a_probe_follows_no_redirect(tmp_path: Path, thief: Hosted) -> None:
    with hosted(says("x")) as endpoint:
        endpoint.models_reply = RedirectResponse(f"{thief.base_url}/models", 307)
        with pytest.raises(EndpointError, match=f"redirects to {thief.base_url}/models"):
            look(endpoint, tmp_path)


def bomb(encoding: str) -> Response:
    """Half a megabyte that unpacks to 500, without its end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    first, again = (packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    headers = {"content-encoding": encoding, "content-type": "application/json"}
    return Response(first + again * 499, headers=headers)


@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, gzip"])
def test_a_bomb_costs_its_call_and_little_memory(tmp_path: Path, encoding: str) -> None:
    packed, failure = bomb(encoding), "reply is (longer than 16 MB|encoded as)"
    with growth_below(LITTLE):
        Scenario(but_for_greeting(lambda *_: packed), 1, ok=0, failure=failure).play(tmp_path)


DEEP = "[" * 100_000 + "]" * 100_000
HOSTILE = {
    "a deep list": Response(DEEP),
    "deep objects": Response('{"choices":' * 50_000 + "1" + "}" * 50_000),
    "a deep error": Response(DEEP, 400),
    "a long text": Response("x" * 17_000_000),
    "a long error": Response("x" * 17_000_000, 400),
    "no content": Response(""),
    "null": Response("null"),
    "choices as words": Response('{"choices": "none"}'),
    "no UTF-8": Response(b"\xff\xfe\x00"),
    "control characters": Response(json.dumps({"choices": ESC})),
    "an error of control characters": refuses(400, ESC),
    "an unknown packing": Response("x", headers={"content-encoding": "zip"}),
    "fifty packings": Response("x", headers={"content-encoding": ", ".join(["gzip"] * 50)}),
    "a packing that is none": Response("x", headers={"content-encoding": "gzip"}),
    "an unknown encoding": Response(b"\xff", headers={"content-type": "application/json; charset=x\xff"}),
    "an encoding of bytes": Response("x", headers={"content-type": "application/json; charset=hex"}),
    "an encoding with a mark": Response("xyz", headers={"content-type": "application/json; charset=utf-16"}),
    "a long code": Response(json.dumps({"error": {"message": "x", "code": "context " * 1_000_000}}), 400),
    "a header of 30 kB": Response("x", headers={"x-request-id": "\xff" * 30_000}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_reply_is_one_printable_line(tmp_path: Path, kind: str) -> None:
    began = time.monotonic()
    with growth_below(LITTLE):
        played = Scenario(but_for_greeting(lambda *_: HOSTILE[kind]), 1, ok=0).play(tmp_path)
    assert time.monotonic() - began < 20
    failure = str(played.answers[0].failure)
    assert failure.isprintable() and 10 < len(failure) < 1000


def test_hostile_lists_of_models_are_passed_over(tmp_path: Path) -> None:
    for reply in (Response(DEEP), Response("17"), refuses(500, ESC)):
        with hosted(says("x")) as endpoint:
            endpoint.models_reply = reply
            with growth_below(LITTLE):
                assert look(endpoint, tmp_path).greeting.model == "big-1"


def test_names_of_a_model_that_utf_8_cannot_encode_are_kept_without_their_halves(tmp_path: Path) -> None:
    def reply(body: Body, _: int) -> Response:
        return Response(json.dumps(completion("x", body, model="m\ud800", system_fingerprint=["\ud800"])))

    with hosted(reply) as endpoint:
        endpoint.models_reply = Response(json.dumps({"id": "big-1", "owned_by": "\ud800"}))
        role = Role(base_url=endpoint.base_url, model="big-1", identity=["answered", "owner", "system_fingerprint"])
        found = look(endpoint, tmp_path).identity(role)
    assert all(found[name].isprintable() for name in role.identity)


def test_everything_that_a_command_prints_is_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "s.sqlite"
    fill(store)
    assert parser.run(["store", "ledger", ESC, "--dollars", "0", "--store", str(store)]) == 0
    assert parser.run(["store", "check", "--store", str(tmp_path / f"no{ESC}.sqlite")]) == 1
    printed = capsys.readouterr()
    assert all(line.isprintable() for line in (printed.out + printed.err).split("\n"))
    assert printable("naïve – “quoted” 咳嗽\n") == "naïve – “quoted” 咳嗽\\n"


@pytest.mark.parametrize(("host", "given"), [("127.0.0.1", ""), ("localhost", "example.org")])
def test_loopback_never_goes_through_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, given: str
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", given)
    monkeypatch.delenv("no_proxy", raising=False)
    be_quiet()
    with hosted(says("x")) as endpoint:
        (answer,) = ask(endpoint.base_url.replace("127.0.0.1", host), tmp_path, [chat(1)], sending=QUICK)
    assert answer.text == "x" and os.environ["NO_PROXY"].startswith(given)


def test_a_proxy_is_named_without_its_scheme_as_for_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with hosted(says("x")) as proxy:  # which gets the whole address as a request's path
        monkeypatch.setenv("http_proxy", proxy.base_url.removeprefix("http://").removesuffix("/v1"))
        (answer,) = ask("http://endpoint.invalid/v1", tmp_path, [chat(1)], sending=QUICK)
    assert answer.text == "x"


COMMANDS = {
    "stage sample": (".dvc/tmp", ".dvc/tmp/stages: Permission denied; allow this user"),
    "store ledger": (".", ".vignette: Permission denied; allow this user"),
    "server start": (".vignette", ".vignette/prefect-server.lock: Permission denied; allow this user"),
    "probe": ("fingerprints", ".json: could not be written: Permission denied; allow this user"),
    "domain list": ("", ""),
    "store export --store kept/s.sqlite": ("kept/s.sqlite", ""),
    "store ledger --store kept/s.sqlite": ("kept", ""),
    "store ledger main --dollars 0 --store kept/s.sqlite": (
        "kept",
        "s.sqlite: response store cannot be used (attempt to write",
    ),
}
"""Commands, the folder or file that may not be written, and what the last line says of it."""
AS_A_USER = """
import os, sys
from pathlib import Path
from flows.commands.parser import run
for command, protected in zip(*[iter(sys.argv[1:])] * 2):
    Path(protected or ".").chmod(0o555 if protected else 0o755)
    status = run(command.split())
    Path(protected or ".").chmod(0o755)
    if protected != ".":
        Path(".vignette").mkdir(exist_ok=True)
    print(f"{command}: status {status}", file=sys.stderr, flush=True)
"""
"""Without root's right to write everywhere, and without a home."""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="root gives its rights up with setpriv")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    for folder in (".dvc/tmp", "fingerprints"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("params.yaml", "dvc.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    fill(tmp_path / "kept" / "s.sqlite", paid(1))
    lost = "-dac_override,-dac_read_search,-fowner"
    without = ["setpriv", f"--bounding-set={lost}", f"--inh-caps={lost}"] if os.geteuid() == 0 else []
    named = sorted(COMMANDS, key=lambda command: COMMANDS[command][0] != ".")  # before there is a folder of state
    given = [word for command in named for word in (command, COMMANDS[command][0])]
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "DVC_ROOT")}
    done = subprocess.run(
        [*without, sys.executable, "-c", AS_A_USER, *given], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    said = done.stderr
    for command in named:
        part, _, said = said.partition(f"{command}: status ")
        assert said[0] == ("1" if COMMANDS[command][1] else "0") and "Traceback" not in part, part
        assert COMMANDS[command][1] in part.splitlines()[-1] if COMMANDS[command][1] else not part[2:]
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["s.sqlite"], "nothing is left beside it"


def test_a_certificate_of_an_unknown_authority_is_named(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 1 -subj /CN=localhost"
    subprocess.run(make.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(EndpointError, match=r"https://localhost:\d+/v1.*(certificate|CERTIFICATE)"):
            ask(f"https://localhost:{server.server_address[1]}/v1", tmp_path, [chat(1)], sending=QUICK)
    finally:
        server.shutdown()


@pytest.mark.parametrize(
    "wait", ["nan", "-1e9", "1e400", "9" * 5000, "1 Jan 99999 0:0:0", "1 Jan 99999999999 0:0:0", "\xb2"]
)
def test_no_header_makes_a_call_wait_without_end(tmp_path: Path, wait: str) -> None:
    busy = Response("{}", 429, headers={"retry-after": wait})
    began = time.monotonic()
    played = Scenario(but_for_greeting(lambda *_: busy), 1, sending=QUICK.model_copy(update={"retries": 0}), ok=0)
    with growth_below(LITTLE):
        assert str(played.play(tmp_path).answers[0].failure).isprintable()
    assert time.monotonic() - began < 20
