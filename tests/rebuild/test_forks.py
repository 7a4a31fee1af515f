"""Stages run as forks of one process: each is like a process of its own, and ends with the command that waits."""

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
from tasks.transport.instructions import AVX2
from tasks.transport.processes import is_alive, started
from tests.support.imports import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is started on Linux only")

PYTHON = ("env", "-u", "PYTEST_CURRENT_TEST", sys.executable)
SERVER = """
import json, os, signal, socket, subprocess, sys, time
from pathlib import Path
from flows.rebuild.forks import serve

Path("sets_a_variable.py").write_text("import os; os.environ['SET_BY_AN_IMPORT'] = '1'")
work, (file, what) = serve(socket.socket(fileno=int(sys.argv[1])), ["sets_a_variable"])
mask = os.umask(0)
said = {"work": work, "folder": os.getcwd(), "pid": os.getpid(), "read": sys.stdin.read(), "umask": mask,
        "environment": dict(os.environ), "left": subprocess.Popen(["sleep", "100"]).pid}
Path(file).write_text(json.dumps(said))
print("said by the fork", flush=True)
while what == "wait" or (what == "meet" and len([*Path().glob("meet-*")]) < 2):
    time.sleep(0.02)
if what.startswith("-"):
    os.kill(os.getpid(), -int(what))
sys.exit(int(what) if what.isdigit() else 0)
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
    """A folder with a server whose forks write down what they are, each with a child of its own."""
    (tmp_path / "server.py").write_text(SERVER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(forks, "COMMAND", [*PYTHON, "server.py"])
    with stages_forked(2):
        folder = Path(os.environ[SOCKET]).parent
        assert folder.stat().st_mode & 0o777 == 0o700, "another user may connect"
        yield tmp_path
    assert not folder.exists() and SOCKET not in os.environ


def start(*arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
    return start_group([*PYTHON, "-c", CLIENT, *arguments], environment)


def said(name: str) -> dict[str, Any]:
    """What a fork wrote, once it has."""
    deadline = time.monotonic() + 30
    while not (Path(name).exists() and Path(name).read_text()):
        assert time.monotonic() < deadline, "no fork was made"
        time.sleep(0.02)
    found: dict[str, Any] = json.loads(Path(name).read_text())
    return found


def processes(found: dict[str, Any]) -> list[psutil.Process]:
    """The server, the guard, the fork and what it started."""
    fork = psutil.Process(found["pid"])
    guard, server, *_ = fork.parents()
    return [server, guard, fork, psutil.Process(found["left"])]


def all_end(found: list[psutil.Process]) -> bool:
    """Whether they end; one that nobody waits for has."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not any(is_alive(each.pid, started(each.pid)) for each in found if each.is_running()):
            return True
        time.sleep(0.02)
    return False


def test_a_fork_has_the_arguments_folder_environment_streams_and_umask_of_its_command(served: Path) -> None:
    (served / "below").mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "VIGNETTE_X": "of the stage", "DVC_STAGE": "split"}
    del environment["PYTEST_CURRENT_TEST"]
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, "out", "7"],
        cwd="below",
        input="typed",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        umask=0o27,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "said by the fork\n", "heavy: []\n")
    found = said("below/out")
    assert (found["work"], found["read"], found["umask"]) == ("command", "typed", 0o27)
    assert found["folder"] == str(served / "below") and found["environment"] == environment
    assert all_end([psutil.Process(found["left"])] if psutil.pid_exists(found["left"]) else [])


def test_where_libraries_may_have_read_another_variable_the_command_runs_itself(served: Path) -> None:
    assert start("out", "0", ANY_OTHER="3").wait() == 99
    assert not Path("out").exists()


def test_two_forks_run_at_once(served: Path) -> None:
    assert [process.wait(30) for process in [start(f"meet-{name}", "meet") for name in "ab"]] == [0, 0]


def test_a_signal_that_ends_the_fork_ends_the_command(served: Path) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        assert start(f"out{number}", f"-{int(number)}").wait() == -number


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_fork_ends_with_its_command_and_with_what_it_started(served: Path, number: signal.Signals) -> None:
    command = start("out", "wait")
    _, *found = processes(said("out"))
    command.send_signal(number)
    assert command.wait(10) == -number and all_end(found)


def test_without_its_server_a_stage_is_killed_and_the_next_command_runs_itself(served: Path) -> None:
    command = start("out", "wait")
    found = processes(said("out"))
    found[0].send_signal(signal.SIGKILL)
    assert command.wait(10) == 137 and all_end(found)
    assert start("next", "0").wait() == 99


def test_without_a_server_a_command_runs_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(SOCKET, raising=False)
    assert hand_over("command", ["stage", "split"]) is None
    monkeypatch.setenv(SOCKET, str(tmp_path / "gone"))
    assert hand_over("command", ["stage", "split"]) is None
    with stages_forked(1):
        assert os.environ[SOCKET] == str(tmp_path / "gone"), "no server is started for one stage"
    (tmp_path / ("long" * 30)).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / ("long" * 30)))
    with stages_forked(2):
        assert os.environ[SOCKET] == str(tmp_path / "gone"), "the path is too long for a socket"


LOADED = """
import os, socket, sys
from flows.commands.forks import main
from flows.rebuild.forks import NO_THREAD

class Accepts(socket.socket):
    def accept(self):
        threads = os.listdir("/proc/self/task")
        assert len(threads) == 1, threads
        assert not {"torch", "xgboost"} & set(sys.modules), "they start threads"
        own = [each for name, module in sys.modules.items() if name.split(".")[0] in ("flows", "tasks", "schemas")
               for each in vars(module).values()
               if hasattr(each, "cache_parameters") and each.__module__ == name]
        constant = ("tasks.simulator.resources", "tasks.simulator.reader.words")  # the words that ship with the rules
        filled = [each for each in own if each.cache_info().currsize and each.__module__ not in constant]
        assert own and not filled, f"a fork would find results of another process: {filled}"
        sys.exit(7)

os.environ.update(NO_THREAD)
main(Accepts())
"""


def test_what_is_imported_before_the_forks_starts_no_thread_and_fills_no_cache(tmp_path: Path) -> None:
    environment = {**os.environ, **AVX2, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 7
