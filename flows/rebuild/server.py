"""Starts, reuses and stops the Prefect server of this clone, which listens on loopback and stops when idle.

It answers only who knows the token of the clone and addresses it by a name of loopback: see docs/security.md.
A PREFECT_API_URL set by the user is used unchanged, and its server is never stopped. `serve` serves both.
"""

import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock

from flows.repository.terminal import fitted
from flows.repository.workspace import LOGGER, be_quiet, workspace
from schemas.errors import VignetteError
from tasks.transport.processes import is_alive, started, this_process
from tasks.transport.shown import sqlite_url

IDLE_SECONDS = 300
START_SECONDS = 300  # a busy machine takes minutes
SAID_AFTER_SECONDS = 5
STOP_SECONDS = 5

LOOPBACK = "127.0.0.1"
_PORTS = range(42000, 43000)
_USERS = "prefect-users"
_DATABASE = "PREFECT_API_DATABASE_CONNECTION_URL"
_OWN = "VIGNETTE_OWN_SERVER"
_TOKEN = "PREFECT_SERVER_API_AUTH_STRING"
_CLIENT_SETTINGS = "prefect.toml"
_OURS = "# Written while the server of `vignette` runs, for the prefect command in this folder."


def prefect_environment() -> dict[str, str]:
    """Prefect's settings for this clone, to be set before prefect is imported."""
    return {
        "PREFECT_HOME": str(workspace() / "prefect"),  # relative homes follow the working directory
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "INFO",
        "PREFECT_LOGGING_EXTRA_LOGGERS": LOGGER,
        "PREFECT_LOGGING_TO_API_ENABLED": "true",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        "PREFECT_LOGGING_ROOT_LEVEL": "ERROR",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",  # a stage prints its own errors, as one line
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "PREFECT_CLIENT_METRICS_ENABLED": "false",
        "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",  # the server is of the same installation
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    }


def use_server() -> None:
    """Point this process's Prefect at the server, starting it if none runs, and mark the server as in use."""
    be_quiet()
    # Or Prefect prints two lines for all records that a server on a full disk refuses. It has no other switch for it.
    logging.raiseExceptions = False
    if "PREFECT_API_URL" not in os.environ or is_own_server():
        before = os.environ.get("PREFECT_API_URL")
        for name, value in prefect_environment().items():
            os.environ.setdefault(name, value)
        os.environ["PREFECT_API_URL"] = ensure_server()
        os.environ["PREFECT_API_AUTH_STRING"] = access()
        os.environ[_OWN] = "1"
        if "prefect" in sys.modules and before != os.environ["PREFECT_API_URL"]:  # as in a fork
            from prefect.context import refresh_global_settings_context

            refresh_global_settings_context()
        users = workspace() / _USERS
        users.mkdir(exist_ok=True)
        _, pid, born = this_process()
        users.joinpath(f"{pid}:{born}").touch()
    elif not server_answers():
        named = f"PREFECT_API_URL={os.environ['PREFECT_API_URL']}"
        raise VignetteError(f"{named}: no server answers; start it, or unset the variable")


def ensure_server() -> str:
    """Return the API address of the server, starting one if none runs. A lock ensures that only one starts.

    A server that does not answer but runs is waited for, as it may have too little of a busy machine.
    """
    with FileLock(workspace() / "prefect-server.lock"):
        state = _read_state()
        if state is not None and _comes_to_answer(state["url"]):
            return str(state["url"])
        stop_server()
        return _start()


def is_own_server() -> bool:
    """Whether this process uses the server of this clone rather than one that the user configured."""
    return _OWN in os.environ


def own_server_runs() -> bool:
    """Whether the process of this clone's server runs."""
    state = _read_state()
    return state is not None and is_alive(state["pid"], state["born"])


def server_answers() -> bool:
    """Whether the server that this process uses answers."""
    return _answers(os.environ["PREFECT_API_URL"])


def stop_server() -> bool:
    """Stop the server; False when none was running."""
    state, is_running = _read_state(), own_server_runs()
    _forget()
    if state is None or not is_running:
        return False
    with suppress(psutil.NoSuchProcess):
        server = psutil.Process(state["pid"])
        server.terminate()
        try:
            server.wait(timeout=2 * STOP_SECONDS)
        except psutil.TimeoutExpired:
            server.kill()
    return True


def stop_if_unused() -> bool:
    """Stop the server unless another process uses it, such as a watch; False when it keeps running."""
    return not _in_use(workspace(), but=os.getpid()) and stop_server()


def access() -> str:
    """User and token of this clone's server, drawn once and kept in a file that only the user can read."""
    file = access_file()
    with FileLock(file.with_suffix(".lock")):
        if not file.exists():
            _write_privately(file, f"vignette:{secrets.token_urlsafe(32)}")
    return file.read_text(encoding="utf-8")


def access_file() -> Path:
    """The file that holds user and token."""
    return workspace() / "prefect-access"


def server_settings(port: int, names: Sequence[str] = ()) -> dict[str, str]:
    """Settings of a server whose answers only its own pages may read: those at loopback and at further ``names``."""
    origins = [f"http://{name}:{port}" for name in (LOOPBACK, *names)]
    return {
        "PREFECT_UI_API_URL": os.environ.get("PREFECT_UI_API_URL") or f"{origins[0]}/api",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins),
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
    }


def serve(port: int, host: str = LOOPBACK, names: Sequence[str] = (), *, stay: bool = False) -> None:
    """Serve Prefect on ``host`` to who knows the token in PREFECT_SERVER_API_AUTH_STRING, until it is idle.

    It is addressed by a name of loopback or by one of ``names``. Idle: no process of this clone has used it for
    IDLE_SECONDS; with ``stay``, it is never stopped. Raises VignetteError without a token.
    """
    if not all(os.environ.get(_TOKEN, "").partition(":")):
        raise VignetteError(f"{_TOKEN} is not set; set it to USER:TOKEN, and PREFECT_API_AUTH_STRING of clients, too")
    os.environ.update(server_settings(port, names))  # before the import, with which Prefect reads its settings
    import uvicorn
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    # Prefect checks no Host: a page of any site could reach it under a name that resolves to this machine.
    app = TrustedHostMiddleware(create_app(final=True), allowed_hosts=[LOOPBACK, "localhost", *names])
    config = uvicorn.Config(app, host, port, lifespan="on", log_level="warning", timeout_graceful_shutdown=STOP_SECONDS)
    server = uvicorn.Server(config)
    if stay:
        server.run()
        return
    folder = workspace()
    threading.Thread(target=_stop_when_idle, args=(server, folder), daemon=True).start()
    server.run()
    if folder.exists() and (_read_state() or {}).get("pid") == os.getpid():
        _forget()


def _start() -> str:
    """Start a server."""
    log = workspace() / "prefect-server.log"
    database = sqlite_url(workspace() / "prefect" / "prefect.db", "sqlite+aiosqlite")
    port = _free_port()
    address = f"http://{LOOPBACK}:{port}"
    url = f"{address}/api"
    with log.open("ab") as sink:
        server = subprocess.Popen(
            [sys.executable, "-m", "flows.commands.cli", "server", "supervise", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,  # a stage's end or interrupt must not take the server with it
            env={_DATABASE: database, **os.environ, **prefect_environment(), _TOKEN: access()},
        )
    _state_file().write_text(json.dumps({"pid": server.pid, "born": started(server.pid), "url": url}))
    if _may_write():  # points the ``prefect`` command, called in the clone's folder, at the server
        _write_privately(_client_settings(), f'{_OURS}\n[api]\nurl = "{url}"\nauth_string = "{access()}"\n')
    if not _comes_to_answer(url):
        said = f"did not start within {START_SECONDS} s" if stop_server() else "ended when it was started"
        raise VignetteError(f"the Prefect server {said}; see {log}, and run again")
    print(fitted(f"prefect: {address} (asks for the content of {access_file()})"))
    return url


def _comes_to_answer(url: str) -> bool:
    """Whether the server at ``url`` answers within START_SECONDS, for as long as its process runs."""
    begun, is_said = time.monotonic(), False
    while not _answers(url):
        waited = time.monotonic() - begun
        if not own_server_runs() or waited > START_SECONDS:
            return False
        if waited > SAID_AFTER_SECONDS and not is_said:
            print(f"prefect: waiting for its server, up to {START_SECONDS} s on a busy machine", flush=True)
            is_said = True
        time.sleep(0.2)
    return True


def _free_port() -> int:
    """The port that the path of the clone determines, so that bookmarks stay valid; another if it is taken."""
    for port in (_PORTS[zlib.crc32(str(workspace()).encode()) % len(_PORTS)], 0):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server will
            probe.bind((LOOPBACK, port))
            return int(probe.getsockname()[1])
    raise VignetteError(f"no free port on {LOOPBACK}")


def _forget() -> None:
    _state_file().unlink(missing_ok=True)
    if _may_write():
        _client_settings().unlink(missing_ok=True)


def _may_write() -> bool:
    """Whether a person did not write the settings of the ``prefect`` command."""
    file = _client_settings()
    return not file.exists() or file.read_text(encoding="utf-8").startswith(_OURS)


def _client_settings() -> Path:
    return workspace().parent / _CLIENT_SETTINGS


def _write_privately(file: Path, text: str) -> None:
    """Write a file that only the user can read."""
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as sink:
        sink.write(text)


def _stop_when_idle(server: Any, folder: Path) -> None:
    last_used = time.monotonic()
    while folder.exists() and time.monotonic() - last_used < IDLE_SECONDS:
        time.sleep(1)
        if _in_use(folder):
            last_used = time.monotonic()
    server.should_exit = True


def _in_use(folder: Path, but: int | None = None) -> bool:
    for mark in (folder / _USERS).glob("[0-9]*"):  # not what a system puts into folders
        pid, _, born = mark.name.partition(":")
        if int(pid) == but:
            continue
        if is_alive(int(pid), float(born or 0)):
            return True
        mark.unlink(missing_ok=True)
    return False


def _state_file() -> Path:
    return workspace() / "prefect-server.json"


def _read_state() -> dict[str, Any] | None:
    """Process and address of the last server that was started; None where the file is not there, or damaged."""
    try:
        state = json.loads(_state_file().read_text(encoding="utf-8"))
        return {"pid": int(state["pid"]), "born": float(state["born"]), "url": str(state["url"])}
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None


def _answers(url: object) -> bool:
    import httpx  # takes a tenth of a second, and a rebuild with nothing to do asks no server

    try:  # without certificates, which httpx takes 20 ms to load
        secure = str(url).startswith("https:")
        return httpx.get(f"{url}/health", timeout=5, verify=secure).status_code == 200
    except httpx.HTTPError:
        return False
