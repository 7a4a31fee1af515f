"""Starts, reuses and stops the Prefect server of this clone, which listens on loopback and stops when idle.

A PREFECT_API_URL set by the user is used unchanged, and its server is never stopped.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
from filelock import FileLock

from flows.engine.workspace import be_quiet, workspace
from schemas.errors import VignetteError

IDLE_SECONDS = 300
START_SECONDS = 90
_HOST = "127.0.0.1"
_USERS = "prefect-users"


def prefect_environment() -> dict[str, str]:
    """Prefect's settings for this clone, to be set before prefect is imported."""
    return {
        "PREFECT_HOME": str(workspace() / "prefect"),  # relative homes follow the working directory
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",  # a stage prints its own errors, as one line
        "PREFECT_LOGGING_ROOT_LEVEL": "ERROR",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "PREFECT_CLIENT_METRICS_ENABLED": "false",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    }


def use_server() -> None:
    """Point this process's Prefect at the server, starting it if none runs, and mark the server as in use."""
    be_quiet()
    if "PREFECT_API_URL" not in os.environ:
        for name, value in prefect_environment().items():
            os.environ.setdefault(name, value)
        os.environ["PREFECT_API_URL"] = ensure_server()
        users = workspace() / _USERS
        users.mkdir(exist_ok=True)
        users.joinpath(str(os.getpid())).touch()


def ensure_server() -> str:
    """Return the API address of the server, starting one if none runs. A lock ensures that only one starts."""
    with FileLock(workspace() / "prefect-server.lock"):
        state = _read_state()
        if state is not None and _answers(state["url"]):
            return str(state["url"])
        return _start()


def stop_server() -> bool:
    """Stop the server and its supervisor; False when no server was running."""
    state = _read_state()
    _state_file().unlink(missing_ok=True)
    if state is None or not psutil.pid_exists(state["pid"]):
        return False
    supervisor = psutil.Process(state["pid"])
    processes = [supervisor, *supervisor.children(recursive=True)]
    for process in processes:
        _signal(process, signal.SIGTERM)
    _, alive = psutil.wait_procs(processes, timeout=10)
    for process in alive:
        _signal(process, signal.SIGKILL)
    return True


def stop_if_unused() -> bool:
    """Stop the server unless another process uses it, such as a watch; False when it keeps running."""
    return not _in_use(workspace(), but=os.getpid()) and stop_server()


def _signal(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def _start() -> str:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port = probe.getsockname()[1]
    url = f"http://{_HOST}:{port}/api"
    log = workspace() / "prefect-server.log"
    with log.open("ab") as sink:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "flows.commands.cli", "server", "supervise", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,  # a stage's end or interrupt must not take the server with it
            env={**os.environ, **prefect_environment()},
        )
    _state_file().write_text(json.dumps({"pid": supervisor.pid, "url": url}))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if _answers(url):
            return url
        if supervisor.poll() is not None:
            break
        time.sleep(0.2)
    stop_server()
    raise VignetteError(f"the Prefect server did not start within {START_SECONDS} s; see {log}")


def supervise(port: int) -> None:
    """Run the server until it is idle for five minutes."""
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", _HOST, "--port", str(port), "--no-ui"]
    folder = workspace()
    server = subprocess.Popen(command)
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    last_used = time.monotonic()
    try:
        while server.poll() is None and folder.exists() and time.monotonic() - last_used < IDLE_SECONDS:
            time.sleep(1)
            if _in_use(folder):
                last_used = time.monotonic()
    finally:
        server.terminate()
        server.wait(timeout=20)
    if (_read_state() or {}).get("pid") == os.getpid():
        _state_file().unlink(missing_ok=True)


def _in_use(folder: Path, but: int | None = None) -> bool:
    for mark in (folder / _USERS).glob("*"):
        if int(mark.name) == but:
            continue
        if psutil.pid_exists(int(mark.name)):
            return True
        mark.unlink(missing_ok=True)
    return False


def _state_file() -> Path:
    return workspace() / "prefect-server.json"


def _read_state() -> dict[str, object] | None:
    try:
        state: dict[str, object] = json.loads(_state_file().read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return state


def _answers(url: object) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
