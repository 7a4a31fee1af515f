"""Stages run as forks of one process: each is like a process of its own, and ends with the command that waits for it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows.rebuild import forks
from flows.rebuild.forks import SOCKET, hand_over, stages_forked
from flows.repository.processes import start_group
from flows.repository.workspace import WORKSPACE
from tests.support.imports import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is started on Linux only")

SERVER = """
import json, os, sys, threading, time
from pathlib import Path
from flows.rebuild import forks

def do(work, arguments):
    said = {"work": work, "arguments": arguments, "folder": os.getcwd(), "pid": os.getpid(), "read": sys.stdin.read(),
            "threads": len(os.listdir("/proc/self/task")), "environment": dict(os.environ), "group": os.getpgrp()}
    Path(arguments[0]).write_text(json.dumps(said))
    print("said by the fork", flush=True)
    while arguments[1] == "wait":
        time.sleep(0.05)
    if arguments[1] == "meet":
        while len(list(Path().glob("meet-*"))) < 2:
            time.sleep(0.01)
    if arguments[1].startswith("-"):
        os.kill(os.getpid(), -int(arguments[1]))
    return int(arguments[1]) if arguments[1].isdigit() else 0

forks._MODULES, forks._do = ("json",), do
forks.main(int(sys.argv[1]))
"""
CLIENT = """
import sys
from flows.rebuild.forks import hand_over
status = hand_over("command", sys.argv[1:])
print("heavy:", sorted({"typer", "pydantic", "psutil", "numpy", "asyncio"} & set(sys.modules)), file=sys.stderr)
sys.exit(99 if status is None else status)
"""
"""Exits with 99 where it is to do the work itself."""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose path is too long for a socket, with a server whose forks write down what they are."""
    folder = tmp_path / ("long" * 30) / "state"
    folder.mkdir(0o700, parents=True)
    (tmp_path / "server.py").write_text(SERVER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(WORKSPACE, str(folder))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(forks, "COMMAND", [sys.executable, "server.py"])
    with stages_forked(2):
        yield tmp_path


def start(*arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
    return start_group([sys.executable, "-c", CLIENT, *arguments], environment)


def said(name: str) -> dict[str, Any]:
    """What a fork wrote, once it has."""
    deadline = time.monotonic() + 30
    while not (Path(name).exists() and Path(name).read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    found: dict[str, Any] = json.loads(Path(name).read_text())
    return found


def test_a_fork_has_the_arguments_folder_environment_and_streams_of_its_client(served: Path) -> None:
    (served / "below").mkdir()
    command = [sys.executable, "-c", CLIENT, "out", "7"]
    environment = {**os.environ, "VIGNETTE_X": "of the stage", "DVC_STAGE": "split"}
    done = subprocess.run(
        command, cwd="below", input="typed", env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "said by the fork\n", "heavy: []\n")
    found = said("below/out")
    assert (found["work"], found["arguments"], found["read"]) == ("command", ["out", "7"], "typed")
    assert found["folder"] == str(served / "below") and found["environment"] == environment
    assert found["threads"] == 1 and found["group"] == found["pid"]


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PREFECT_API_URL", "ANY_OTHER"])
def test_where_libraries_may_have_read_another_variable_the_command_runs_itself(served: Path, variable: str) -> None:
    assert start("out", "0", **{variable: "3"}).wait() == 99
    assert not Path("out").exists()


def test_a_limit_of_memory_is_kept_by_running_the_command_itself(served: Path) -> None:
    limited = f"ulimit -v 4000000; exec '{sys.executable}' -c '{CLIENT}' out 0"
    assert subprocess.run(["bash", "-c", limited], check=False).returncode == 99


def test_two_forks_run_at_once(served: Path) -> None:
    assert [process.wait(30) for process in [start(f"meet-{name}", "meet") for name in "ab"]] == [0, 0]
    assert said("meet-a")["pid"] != said("meet-b")["pid"]


def test_a_signal_that_ends_the_fork_ends_the_client(served: Path) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        assert start(f"out{number}", f"-{int(number)}").wait() == -number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_client_reaches_the_fork(served: Path, number: signal.Signals) -> None:
    client = start("out", "wait")
    fork = psutil.Process(said("out")["pid"])
    client.send_signal(number)
    assert client.wait(10) in (-number, 1) and not psutil.wait_procs([fork], 5)[1]


def test_a_fork_ends_with_its_client(served: Path) -> None:
    client = start("out", "wait")
    fork = psutil.Process(said("out")["pid"])
    client.kill()
    client.wait()
    assert not psutil.wait_procs([fork], 5)[1]


def test_a_killed_server_is_a_killed_stage_and_the_next_one_runs_itself(served: Path) -> None:
    client = start("out", "wait")
    fork = psutil.Process(said("out")["pid"])
    server = fork.parent()
    assert server is not None
    server.kill()
    assert client.wait(10) == 137 and not psutil.wait_procs([fork], 5)[1]
    assert start("next", "0").wait() == 99


def test_only_the_user_may_connect_and_nothing_is_left(served: Path) -> None:
    path = Path(os.environ[SOCKET])
    assert path.stat().st_mode & 0o777 == 0o700 and path.parent == Path(os.environ[WORKSPACE])
    with stages_forked(2):
        assert start("out", "0").wait() == 0
        server = psutil.Process(said("out")["pid"]) if psutil.pid_exists(said("out")["pid"]) else None
    assert not path.exists() and SOCKET not in os.environ and server is None


def test_without_a_server_a_command_runs_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(SOCKET, raising=False)
    assert hand_over("command", ["stage", "split"]) is None
    monkeypatch.setenv(SOCKET, str(tmp_path / "gone"))
    assert hand_over("command", ["stage", "split"]) is None
    with stages_forked(1):
        assert os.environ[SOCKET] == str(tmp_path / "gone"), "no server is started for one stage"


LOADED = """
import os, socket, sys, threading
from flows.rebuild import forks
os.environ.update(forks._STARTS_NO_THREAD)
forks._Server(socket.socket()).load()
assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1, os.listdir("/proc/self/task")
assert not {"torch", "sklearn", "xgboost"} & set(sys.modules), "they start threads, or read OMP_NUM_THREADS"
own = [each for name, module in sys.modules.items() if name.startswith(("flows.", "tasks.", "schemas."))
       for each in vars(module).values() if hasattr(each, "cache_info")]
assert own and all(each.cache_info().currsize == 0 for each in own), "a fork would find results of another process"
"""


def test_what_is_imported_before_the_forks_starts_no_thread_and_fills_no_cache(tmp_path: Path) -> None:
    from tasks.transport.instructions import AVX2

    environment = {**os.environ, **AVX2, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", LOADED], cwd=tmp_path, env=environment, check=True)
