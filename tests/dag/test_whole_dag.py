"""The whole DAG, on few records in a scratch clone, as a user runs it: what processes, DVC, git and servers do.

What the stages compute is in tests/snapshots.
"""

import sqlite3

import pytest

from flows.repository.pipeline import declared_outputs, read_pipeline
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
        logged = [row[0] for row in database.execute("SELECT message FROM log WHERE message LIKE 'notes: %'")]
    stages = read_pipeline(built.folder / "dvc.yaml").items()
    stages = {n: s for n, s in stages if n != "code" and not n.startswith("probe@")}  # commands without a flow
    shown = {name.removeprefix("dvc.yaml:") for name, tags in rows if "lineage: " in tags}
    # a stage whose outputs are all in git is not run where dvc.lock holds for it
    run = {n for n, s in stages.items() if any(out.get("cache", True) for out in declared_outputs(s).values())}
    assert len(run) > 20 and run <= shown <= set(stages)
    assert "notes: 12 rows written" in logged


def test_the_report_names_the_rules_and_asks_nothing_from_outside(built: Clone) -> None:
    page = (built.folder / "reports" / "index.html").read_text()
    assert "Rules, not a language model" in page
    outside = [word for word in ('src="http', 'href="http', "url(http", "@import") if word in page]
    assert outside == []
