"""The whole DAG, on few records in a scratch clone, as a user runs it: what processes, DVC, git and servers do.

What the stages compute is in tests/snapshots.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator

import pytest

from flows.repository.pipeline import declared_outputs, read_pipeline, with_dependents
from tests.support.clone import Clone

pytestmark = pytest.mark.dag


def test_a_second_run_changes_nothing_and_leaves_no_process_behind(built: Clone) -> None:
    lock = (built.folder / "dvc.lock").read_bytes()
    done = built.vignette("repro")
    assert "up to date" in done.stdout
    assert (built.folder / "dvc.lock").read_bytes() == lock
    assert built.git("status", "--porcelain") == ""
    assert built.processes() == []


def test_the_lineage_is_in_mlflow_with_a_run_per_stage(built: Clone) -> None:
    with sqlite3.connect(built.folder / ".vignette" / "mlflow" / "mlflow.db") as database:
        rows = database.execute("SELECT key, value FROM tags WHERE key IN ('level', 'stage')").fetchall()
    assert sum(row == ("level", "lineage") for row in rows) == 1
    recorded = {value for key, value in rows if key == "stage"}
    assert recorded == set(read_pipeline(built.folder / "dvc.yaml")) - {"code", "record"}


def test_prefect_shows_a_rebuild_as_one_run_with_its_stages_beneath_it(built: Clone) -> None:
    with sqlite3.connect(built.folder / ".vignette" / "prefect" / "prefect.db") as database:
        beneath = "SELECT f.name, p.tags FROM flow_run f JOIN task_run t ON f.parent_task_run_id = t.id "
        rows = database.execute(beneath + "JOIN flow_run p ON t.flow_run_id = p.id").fetchall()
        tables = {row[0] for row in database.execute("SELECT key FROM artifact WHERE type = 'table'")}
        logged = [row[0] for row in database.execute("SELECT message FROM log WHERE message LIKE 'notes: %'")]
    stages = read_pipeline(built.folder / "dvc.yaml").items()
    stages = {n: s for n, s in stages if n != "code" and not n.startswith("probe@")}  # commands without a flow
    shown = {name.removeprefix("dvc.yaml:") for name, tags in rows if "lineage: " in tags}
    # a stage whose outputs are all in git is not run where dvc.lock holds for it
    run = {n for n, s in stages.items() if any(out.get("cache", True) for out in declared_outputs(s).values())}
    assert len(run) > 20 and run <= shown <= set(stages)
    assert {stage.replace("_", "-") for stage in shown} <= tables
    assert "notes: 12 rows written" in logged


def test_the_report_names_the_rules_and_asks_nothing_from_outside(built: Clone) -> None:
    page = (built.folder / "reports" / "index.html").read_text()
    assert "Rules, not a language model" in page
    outside = [word for word in ('src="http', 'href="http', "url(http", "@import") if word in page]
    assert outside == []


@pytest.fixture(scope="module")
def lived(built: Clone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A copy of the built clone that goes on: the tests below are its history, in their order."""
    clone = built.copied_to(tmp_path_factory.mktemp("lived") / "vignette")
    yield clone
    clone.vignette("server", "stop")


def would_rebuild(clone: Clone) -> set[str]:
    said = clone.vignette("repro", "--no-probe", "--dry-run").stdout  # an estimate of the calls follows
    return set(said.partition("would rebuild: ")[2].splitlines()[0].split(", ")) - {"nothing"}


def depending(clone: Clone, name: str) -> set[str]:
    return set(with_dependents(read_pipeline(clone.folder / "dvc.yaml"), [name]))


def test_another_fingerprint_makes_stale_what_asks_that_model_and_what_follows(lived: Clone) -> None:
    file = lived.folder / "fingerprints" / "answerer.json"
    before = file.read_text()
    assert would_rebuild(lived) == set()
    file.write_text(json.dumps(json.loads(before) | {"epoch": 1}, indent=2) + "\n")
    stale = would_rebuild(lived)
    file.write_text(before)
    assert {"note_qa", "history_qa", "report"} <= stale <= depending(lived, "probe@answerer")


def begin_round(clone: Clone) -> "subprocess.Popen[str]":
    """A round of the watch, in a process group of its own."""
    command = [sys.executable, "-m", "flows.commands.cli", "watch", "once"]
    environment = clone.environment | {"PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, cwd=clone.folder, env=environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_a_round_of_the_watch_that_is_killed_is_finished_by_the_next(lived: Clone) -> None:
    lived.set_params(history_qa__questions=3)
    killed = begin_round(lived)
    assert killed.stdout is not None
    begun = any("Running stage 'history_qa'" in line for line in killed.stdout)  # reads no further than that line
    assert begun, "the round ended before it ran the stage"
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert lived.git("branch", "--list", "lineages") == ""
    done = lived.vignette("watch", "once")
    assert "watch: rebuilt (branch HEAD)" in done.stdout, done.stdout[-3000:]
    assert lived.git("status", "--porcelain", "--untracked-files=no") == ""


def test_the_lineage_of_the_watch_differs_by_the_edit_and_what_follows_from_it(lived: Clone) -> None:
    changed = lived.git("diff", "--name-only", "HEAD", "lineages", "--", "reports/tables").split()
    assert changed == ["reports/tables/history_qa.csv"]
    lived.vignette("compare", "HEAD~1", "lineages", "--out", "compared")
    (page,) = (lived.folder / "compared").glob("*.html")
    text = page.read_text()
    assert "history_qa.questions" in text and "note_qa.judge_takes" not in text
