"""The served watch tells a dead Prefect server from one that is slow, and starts a dead one until it runs."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import httpx
import pytest

from flows.commands import server as commands
from flows.commands import watch
from flows.commands.parser import run
from flows.rebuild import server
from schemas.errors import VignetteError
from tasks.transport.processes import started
from tests.support.imports import ROOT


class Polling:
    """A polling process that ends after some checks."""

    def __init__(self, checks: int) -> None:
        self.left = checks

    def poll(self) -> int | None:
        self.left -= 1
        return None if self.left >= 0 else 0


IS_DEPLOYED = watch._is_deployed


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "CHECK_S", 0)
    monkeypatch.setattr(watch, "RETRY_S", 0)
    monkeypatch.setattr(watch, "is_own_server", lambda: True)
    monkeypatch.setattr(watch, "_is_deployed", lambda: None)


@pytest.mark.parametrize(("runs", "left"), [(True, -1), (False, 9)])
def test_a_slow_server_is_waited_for_and_a_dead_one_is_not(
    monkeypatch: pytest.MonkeyPatch, runs: bool, left: int
) -> None:
    monkeypatch.setattr(watch, "server_answers", lambda: False)
    monkeypatch.setattr(watch, "own_server_runs", lambda: runs)
    polling = Polling(checks=10)
    watch._wait(polling)  # type: ignore[arg-type]
    assert polling.left == left


def test_a_deployment_that_vanished_ends_the_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = [False, None, True, None, True, False]  # not yet made, and answers that tell nothing
    monkeypatch.setattr(watch, "server_answers", lambda: True)
    monkeypatch.setattr(watch, "_is_deployed", lambda: known.pop(0))
    polling = Polling(checks=10)
    watch._wait(polling)  # type: ignore[arg-type]
    assert known == [] and polling.left == 4
    assert "the deployment watch/endpoints was deleted" in capsys.readouterr().err


@pytest.mark.parametrize(("status", "known"), [(200, True), (404, False), (401, None), (503, None)])
def test_the_deployment_is_asked_for_with_the_token(
    monkeypatch: pytest.MonkeyPatch, status: int, known: bool | None
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:42000/api")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "vignette:secret")

    def get(url: str, auth: object, timeout: float) -> httpx.Response:
        assert (url, auth) == ("http://127.0.0.1:42000/api/deployments/name/watch/endpoints", ("vignette", "secret"))
        return httpx.Response(status)

    monkeypatch.setattr(httpx, "get", get)
    assert IS_DEPLOYED() is known


@pytest.mark.parametrize("state", ["[]", '"x"', "{}", '{"pid": 1, "url": "http://here/api"}', "[" * 10, "\xff"])
def test_a_damaged_note_of_the_server_names_no_process(
    state: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(server, "workspace", lambda: tmp_path)
    (tmp_path / "prefect-server.json").write_bytes(state.encode("latin-1"))
    (tmp_path / "prefect-users").mkdir()
    (tmp_path / "prefect-users" / ".DS_Store").touch()
    assert not server.own_server_runs()
    monkeypatch.setattr(server, "stop_server", lambda: True)
    assert server.stop_if_unused()


def test_a_server_is_started_in_the_clone_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "ensure_server", os.getcwd)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert run(["server", "start"]) == 1 and "no clone of vignette here" in capsys.readouterr().err
    monkeypatch.chdir(ROOT / "docs")
    assert run(["server", "start"]) == 0 and capsys.readouterr().out == f"{ROOT}\n"


def test_a_server_that_runs_but_does_not_answer_yet_is_not_started_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = iter([False, False, True])
    monkeypatch.setattr(server, "workspace", lambda: tmp_path)
    monkeypatch.setattr(server, "_answers", lambda url: next(answers))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        (tmp_path / "prefect-server.json").write_text(
            json.dumps({"pid": running.pid, "born": started(running.pid), "url": "http://here/api"})
        )
        assert server.ensure_server() == "http://here/api"
        assert server.own_server_runs()
        running.stdin.write(os.linesep.encode())
    assert not server.own_server_runs()


@pytest.mark.parametrize(("own", "url"), [(True, "http://again/api"), (False, "http://theirs/api")])
def test_the_watch_starts_its_own_server_until_it_runs_and_waits_for_that_of_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own: bool, url: str
) -> None:
    starts, answers, rounds = [True, False], [False, False, True], [None]

    def ensure_server() -> str:
        if starts.pop():
            return "http://again/api"
        raise VignetteError("busy")

    monkeypatch.setenv("PREFECT_API_URL", "http://theirs/api")
    for name in ("_prepare", "use_server", "stop_if_unused"):
        monkeypatch.setattr(watch, name, lambda: None)
    monkeypatch.setattr(watch, "is_own_server", lambda: own)
    monkeypatch.setattr(watch, "server_answers", lambda: answers.pop(0))
    monkeypatch.setattr(watch, "ensure_server", ensure_server)
    monkeypatch.setattr(watch, "_polling", nullcontext)
    monkeypatch.setattr(watch, "_wait", lambda _: rounds.pop())
    with pytest.raises(IndexError):  # of the second round
        watch.serve()
    assert os.environ["PREFECT_API_URL"] == url and len(answers) == (3 if own else 0)
    assert ("busy; trying again" in capsys.readouterr().err) is own
