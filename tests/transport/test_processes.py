"""A stage whose run was killed stops calling within seconds."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from dvc.repo import Repo

from tasks.transport import processes
from tasks.transport.processes import RUN, depended_on
from tests.support.cases import from_table
from tests.support.endpoints import journal_lines
from tests.support.faulty import Faults, faulty_app
from tests.support.hosted import serving
from tests.support.imports import ROOT

STAGE = """
import asyncio, os, sys
from pathlib import Path
from tasks.transport.processes import end_with_parent
from tasks.transport.store import ResponseStore
from tests.support.endpoints import QUICK, asker, chat

async def run():
    with ResponseStore(Path("responses.sqlite")) as store:
        async with asker(store, sys.argv[1], sending=QUICK.model_copy(update={"rpm": 1200})) as ask:
            await ask([chat(n) for n in range(100_000)])

Path("pid").write_text(str(os.getpid()))
end_with_parent()
asyncio.run(run())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_killing_dvc_stops_the_calls_of_its_stage(tmp_path: Path, how: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DVC_NO_ANALYTICS": "1"}
    (tmp_path / "stage.py").write_text(STAGE)
    Repo.init(str(tmp_path), no_scm=True).close()
    journal = tmp_path / "journal"
    with serving(faulty_app(Faults(), journal)) as base_url:
        command = f"{sys.executable} stage.py {base_url}"
        (tmp_path / "dvc.yaml").write_text(f"stages: {{ask: {{cmd: '{command}', outs: [out]}}}}")
        run = subprocess.Popen([sys.executable, "-m", "dvc", "repro", "-q"], cwd=tmp_path, env=environment)
        deadline = time.monotonic() + 60
        while len(journal_lines(journal)) < 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(run.pid, how)
        killed = time.monotonic()
        while psutil.pid_exists(int((tmp_path / "pid").read_text())) and time.monotonic() < killed + 5:
            time.sleep(0.05)
        assert time.monotonic() < killed + 5
        seen = len(journal_lines(journal))
        assert seen >= 20
        time.sleep(0.5)
        assert len(journal_lines(journal)) == seen, "no call leaves any more"
        run.wait()


CHILD = """
import signal, subprocess, time
from tasks.transport.processes import end_with_parent
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
subprocess.Popen(["sleep", "60"])
end_with_parent()
print("watching", flush=True)
time.sleep(60)
"""
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


def test_a_process_that_calls_nothing_ends_with_its_parent_and_with_what_it_started() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, CHILD], cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout is not None and parent.stdout.readline() == b"watching\n"
    below = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(below, timeout=10)
    assert len(below) == 2 and not alive


def ancestor(*words: str) -> SimpleNamespace:
    """A process by its command line."""
    return SimpleNamespace(pid=7, cmdline=lambda: list(words), name=lambda: words[0], create_time=lambda: 1.0)


@from_table
def test_dvc_is_found_by_its_command_line(line: tuple[str, ...], is_dvc: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ancestors = [ancestor("sh"), ancestor(*line), ancestor("bash"), ancestor("init")]
    monkeypatch.setattr(processes.psutil, "Process", lambda: SimpleNamespace(parents=lambda: ancestors))
    assert processes.dvc_process() is (ancestors[1] if is_dvc else None)


def test_the_run_of_a_stage_and_all_up_to_dvc_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    above = [ancestor("sh"), ancestor("python", "-m", "dvc"), ancestor("bash")]
    monkeypatch.setattr(processes, "ancestors", lambda: above)
    monkeypatch.setattr(processes.signal, "getsignal", lambda _: processes.signal.SIG_DFL)  # under nohup too
    monkeypatch.setattr(processes.os, "getppid", lambda: 2)
    monkeypatch.setenv(RUN, "7:17.5")
    assert [name for *_, name in depended_on()] == ["vignette repro", "sh", "dvc"]
    monkeypatch.delenv(RUN)
    del above[1]
    assert [name for *_, name in depended_on()] == ["sh"], "the parent alone"
    monkeypatch.setattr(processes.os, "getppid", lambda: 1)
    assert depended_on() == [], "a stage without a terminal outlives its parent"
