"""The simulator's server ends with the process that started it."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tasks.simulator.faults import Faults, spoil
from tests.support.endpoints import simulator
from tests.support.hosted import completion

CLIENT = httpx.Client(timeout=60)

STARTER = """
from flows.runtime.clients import SimulatorServer
import time
server = SimulatorServer(workers=3)
print(server.pid, flush=True)
time.sleep(60)
"""


def processes(pid: int) -> list[psutil.Process]:
    """The server's processes: the one that was started, and its workers."""
    first = psutil.Process(pid)
    return [first, *first.children()]


def wait_for_workers(pid: int, workers: int, seconds: float = 60) -> list[psutil.Process]:
    """The server's processes once it has forked its workers, for which it first loads libraries."""
    deadline = time.monotonic() + seconds
    while len(running := processes(pid)) <= workers:
        assert time.monotonic() < deadline, f"{len(running) - 1} of {workers} workers"
        time.sleep(0.05)
    return running


def wait_gone(running: list[psutil.Process], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in running):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_the_process_that_started_it(how: signal.Signals) -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    running = wait_for_workers(int(starter.stdout.readline()), 2)
    os.kill(starter.pid, how)
    starter.wait()
    assert wait_gone(running, 3)


def test_the_server_ends_when_stopped_and_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with simulator(workers=2) as server:
        running = wait_for_workers(server.pid, 1)
        assert len(list(tmp_path.glob("vignette-endpoint-*"))) == 1
    assert wait_gone(running, 3)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a simulator."""
    with simulator() as running:
        yield running.base_url


def test_the_server_lists_its_models_and_names_an_unknown_one(server: str) -> None:
    models = CLIENT.get(f"{server}/models").json()["data"]
    assert [model["id"] for model in models][:1] == ["vignette-writer"] and len(models) >= 4
    assert CLIENT.get(f"{server}/models/vignette-judge").json()["owned_by"] == "vignette"
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
    refused = CLIENT.post(f"{server}/chat/completions", json=body)
    assert refused.status_code == 404 and "unknown model 'gpt-4o'; available" in refused.json()["error"]["message"]
    for broken in (b"{", b"[]", b'{"model": "vignette-judge"}', b'{"model": "vignette-judge", "messages": [1]}'):
        assert CLIENT.post(f"{server}/chat/completions", content=broken).status_code == 400


def test_a_reply_is_cut_at_max_tokens(server: str) -> None:
    body = {"model": "vignette-writer", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
    reply = CLIENT.post(f"{server}/chat/completions", json=body).json()
    assert reply["choices"][0]["message"]["content"] == "I answer by"
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"] == {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}


@pytest.mark.parametrize(("model", "status"), [("writer", 200), ("writer-calibration", 200), ("judge", 404)])
def test_a_model_does_only_its_own_tasks(server: str, model: str, status: int) -> None:
    task = "Task: write a clinical note\n\nThe note must mention:\n- cough"
    asked = {"model": f"vignette-{model}", "messages": [{"role": "user", "content": task}]}
    reply = CLIENT.post(f"{server}/chat/completions", json=asked)
    assert reply.status_code == status, reply.text
    assert ("send it to the writer" in reply.text) == (status == 404)


def test_faults_occur_at_the_set_rate_which_is_checked() -> None:
    faults = Faults({"429": 0.1, "empty": 0.2}, seed=1)
    drawn = Counter(faults.draw() for _ in range(20_000))
    assert drawn["429"] / 20_000 == pytest.approx(0.1, abs=0.01)
    assert drawn["empty"] / 20_000 == pytest.approx(0.2, abs=0.01)
    for rates, problem in (({"flood": 0.1}, "expected kinds"), ({"429": 0.6, "500": 0.6}, "at most 1")):
        with pytest.raises(ValueError, match=problem):
            Faults(rates)


def test_a_cut_plain_text_says_so() -> None:
    whole = completion("plain words here", {"model": "m"})
    assert spoil("truncated_json", whole)["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *[("127.0.0.1:{port}", 200), ("localhost:{port}", 200), ("[::1]:{port}", 200)],
        *[("rebound.example:{port}", 400), ("localhost.rebound.example:{port}", 400)],
        *[("127.0.0.1:1", 400), ("127.0.0.1", 400)],
    ],
)
def test_the_server_answers_only_to_names_of_loopback_and_its_own_port(server: str, host: str, status: int) -> None:
    asked = host.format(port=httpx.URL(server).port)
    assert httpx.get(f"{server}/models", headers={"Host": asked}).status_code == status
