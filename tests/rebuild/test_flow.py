"""Stages run in an order that dvc.yaml allows; a failure holds up those that depend on it, and no other."""

import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prefect.exceptions import PrefectHTTPStatusError
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

from flows.rebuild import flow, server
from flows.rebuild.dvc_stage import NO_MORE_CALLS, UNCHANGED
from flows.rebuild.flow import Unfinished, rebuild
from flows.repository.pipeline import needed_by
from flows.repository.processes import exit_on_sigterm
from schemas.errors import VignetteError
from tests.support.imports import ROOT

CHAINS = {"a1": [], "a2": ["a1"], "a3": ["a2"], "b1": [], "b2": ["b1"], "joined": ["a3", "b2"]}
CALLING = ("a2", "b2")


@pytest.fixture
def pipeline(workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A dvc.yaml of two chains and a stage that needs both, whose stages only log. Two call a model."""
    stages = {
        name: {
            "cmd": "true",
            "deps": [*(f"data/{other}" for other in needs), *(["fingerprints/judge.json"] if name in CALLING else [])],
            "outs": [f"data/{name}"],
        }
        for name, needs in CHAINS.items()
    }
    (tmp_path / "pipe.yaml").write_text(yaml.safe_dump({"stages": stages}, sort_keys=False))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(flow, "STAGE_RUNNER", "tests.support.stage_log")
    monkeypatch.setattr(flow, "RETRY_S", 0)
    monkeypatch.setattr(flow, "run_name", lambda: tmp_path.name)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with temporary_settings({PREFECT_API_URL: server.ensure_server(), PREFECT_API_AUTH_STRING: server.access()}):
        yield Path("pipe.yaml")


def begun() -> list[str]:
    return [line.removeprefix("begin ") for line in Path("log").read_text().splitlines() if line.startswith("begin ")]


def statuses(**by_stage: int) -> None:
    """Have stages end with these exit statuses."""
    Path("fails").write_text("\n".join(f"{name} {status}" for name, status in by_stage.items()))


def states(workplace: Path, run: Path) -> dict[str, str]:
    """What Prefect shows of the tasks of a run, once its server, which may be busy, has recorded their last states."""
    query = "SELECT t.name, t.state_name FROM task_run t JOIN flow_run f ON t.flow_run_id = f.id WHERE f.name = ?"
    for _ in range(600):
        with sqlite3.connect(workplace / "prefect" / "prefect.db") as database:
            found = dict(database.execute(query, (run.name,)).fetchall())
        if set(found) == set(CHAINS) and not {"Pending", "Running"} & set(found.values()):
            break
        time.sleep(0.1)
    return found


def test_a_stage_waits_for_what_it_needs_and_for_nothing_else(pipeline: Path, workplace: Path, tmp_path: Path) -> None:
    Path("meeting").write_text("a2 b1")  # ends only if both run at once
    assert rebuild(pipeline, list(CHAINS), at_once=2) == Unfinished()
    log = Path("log").read_text().splitlines()
    assert sorted(begun()) == sorted(CHAINS)
    for name, needs in CHAINS.items():
        assert all(log.index(f"end {other}") < log.index(f"begin {name}") for other in needs)
    assert states(workplace, tmp_path) == dict.fromkeys(CHAINS, "Completed")


def test_one_at_a_time_takes_the_longest_chain_first(pipeline: Path) -> None:
    assert rebuild(pipeline, list(CHAINS), at_once=1) == Unfinished()
    log = Path("log").read_text().splitlines()
    assert begun() == ["a1", "a2", "b1", "a3", "b2", "joined"]
    assert [line.split()[0] for line in log] == ["begin", "end"] * len(CHAINS)


def test_after_a_failure_stages_that_do_not_depend_on_it_still_run(
    pipeline: Path, workplace: Path, tmp_path: Path
) -> None:
    statuses(a1=1, b2=UNCHANGED)
    outcome = rebuild(pipeline, list(CHAINS), at_once=2)
    assert outcome == Unfinished(["a1"], {"a2": ["a1"], "a3": ["a1"], "joined": ["a1"]})
    assert sorted(begun()) == ["a1", "b1", "b2"]
    assert str(outcome).splitlines() == [
        "failed: a1",
        "not run: a2 (because of a1), a3 (because of a1), joined (because of a1)",
    ]
    shown = {"a1": "Failed", "b1": "Completed", "b2": "Unchanged"}
    assert states(workplace, tmp_path) == {**dict.fromkeys(CHAINS, "NotReady"), **shown}


def test_after_an_error_of_the_budget_no_stage_that_calls_a_model_begins(pipeline: Path) -> None:
    statuses(a2=NO_MORE_CALLS)
    outcome = rebuild(pipeline, list(CHAINS), at_once=1)
    assert outcome == Unfinished(["a2"], {"a3": ["a2"], "b2": ["a2"], "joined": ["a2"]})
    assert begun() == ["a1", "a2", "b1"]


@pytest.mark.parametrize(("times", "outcome"), [(1, Unfinished()), (2, Unfinished(["a3"], {"joined": ["a3"]}))])
def test_a_stage_that_was_killed_is_run_once_more(pipeline: Path, times: int, outcome: Unfinished) -> None:
    Path("killed").write_text("a3\n" * times)
    assert rebuild(pipeline, ["a3", "joined"], at_once=2) == outcome
    assert begun()[:2] == ["a3", "a3"]


def test_a_killed_stage_gets_its_last_outputs_back(pipeline: Path) -> None:
    """DVC deletes them before it runs the stage, and the stage, which restores them when it fails, is gone."""
    kept = Path("data/a3")
    kept.parent.mkdir()
    kept.write_text("last")
    for command in (["init", "-q"], ["add", "data"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], check=True)
    kept.unlink()
    Path("killed").write_text("a3\n" * 2)
    assert rebuild(pipeline, ["a3"], at_once=1) == Unfinished(["a3"])
    assert kept.read_text() == "last"


@pytest.mark.parametrize("dep", ["data/made/table.csv", "data/made", "data/made/table.csv/part"])
def test_a_stage_needs_the_maker_of_a_file_and_of_a_folder_around_it(dep: str) -> None:
    stages: dict[str, Any] = {"maker": {"outs": [{"data/made/table.csv": {"cache": False}}]}, "user": {"deps": [dep]}}
    assert needed_by(stages) == {"maker": set(), "user": {"maker"}}


def test_an_interrupted_rebuild_sends_prefect_what_it_has_before_it_ends(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("meeting").write_text("a2 never")  # a2 waits until it is ended
    sent = []
    for worker in (flow.APILogWorker, flow.EventsWorker):
        monkeypatch.setattr(worker, "drain_all", lambda worker=worker: sent.append(worker))

    def interrupt() -> None:
        while not (Path("log").exists() and "a2" in begun()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    with exit_on_sigterm(), pytest.raises(SystemExit):
        threading.Thread(target=interrupt, daemon=True).start()
        rebuild(pipeline, list(CHAINS), at_once=2)
    assert sent == [flow.APILogWorker, flow.EventsWorker]


@pytest.mark.parametrize("asking", ["create_run", "run_flow_sync"])
def test_a_server_that_can_no_longer_write_ends_the_rebuild_with_a_reason(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, asking: str
) -> None:
    """As Prefect's server answers when its database does not fit on the disk."""

    def failing(*_: object, **__: object) -> None:
        request = httpx.Request("POST", "http://127.0.0.1/api/flow_runs")
        raise PrefectHTTPStatusError("500", request=request, response=httpx.Response(500, request=request))

    monkeypatch.setattr(flow, asking, failing)
    with pytest.raises(VignetteError, match=r"server failed \(500\); \d+ MB are free on the disk.*run again"):
        rebuild(pipeline, ["a1"], at_once=1)
