"""Lineages are read from dvc.lock and written to MLflow once."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tasks.tracking.lineage import StageRun, read_lineage, record_is_behind
from tasks.tracking.recording import Recording

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

    from tasks.tracking.mlflow_store import LineageStore

LOCK = {
    "stages": {
        "sample": {
            "deps": [{"path": "tasks/network", "md5": "n1"}],
            "params": {"params.yaml": {"seed": 7, "sample": {"records": 1000}}},
            "outs": [{"path": "data/sample/records.parquet", "md5": "r1"}],
        },
        "doclens": {
            "deps": [
                {"path": "fingerprints/judge.json", "md5": "j1"},
                {"path": "data/sample/records.parquet", "md5": "r1"},
            ],
            "outs": [{"path": "reports/tables/doclens.csv", "md5": "d1"}],
        },
        "record": {"outs": [{"path": "data/record/lineage.json", "md5": "x"}]},
    }
}


def changed(**hashes: str) -> dict:
    text = json.dumps(LOCK)
    for old, new in hashes.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    return json.loads(text)


def test_the_stage_that_reads_the_code_is_no_part_of_a_lineage() -> None:
    with_code = {"stages": LOCK["stages"] | {"code": {"deps": [{"path": "tasks", "md5": "t1"}]}}}
    assert read_lineage(with_code) == read_lineage(LOCK)


def test_a_record_of_another_lineage_is_behind() -> None:
    lock = changed(x=hashlib.md5(read_lineage(LOCK).as_json().encode()).hexdigest())
    assert not record_is_behind(lock)
    lock["stages"]["doclens"]["deps"].append({"path": "fingerprints/code/doclens.json", "md5": "c2"})
    assert record_is_behind(lock), "no output has changed, and the lineage has"
    del lock["stages"]["record"]
    assert not record_is_behind(lock), "DVC runs what never ran"


def recording(tmp_path: Path, recall: float = 0.9) -> Recording:
    """A recording of LOCK: one headline figure, one metric table, the runs of both stages, a report."""
    table, report = tmp_path / "doclens.csv", tmp_path / "index.html"
    pd.DataFrame([{"system": "compact", "metric": "claim_recall", "value": recall}]).to_csv(table, index=False)
    report.write_text("<h1>Report</h1>")
    return Recording(
        name="abc1234 gpt-4o/gpt-4o",
        tags={"git.revision": "abc", "git.dirty": "true"},
        models={"judge": "gpt-4o"},
        headlines={"doclens": {"claim_recall": recall}},
        headline_stages={"doclens": "doclens"},
        runs={
            "sample": StageRun(1.5, {"records": 1000}),
            "doclens": StageRun(20.0, {"doclens_scores": 60}, 2, 300, 9000, 800, 0.25),
        },
        tables=[table],
        files={"report": report},
    )


def test_a_store_that_was_copied_or_moved_keeps_its_lineages_in_its_own_folder(
    tmp_path: Path, empty_database: Path
) -> None:
    from tasks.tracking.mlflow_store import LineageStore

    (first := tmp_path / "first").mkdir()
    shutil.copy2(empty_database, first)
    LineageStore(first, "vignette").write(lineage := read_lineage(LOCK), recording(tmp_path))
    copied = LineageStore(there := shutil.copytree(first, tmp_path / "copy"), "vignette")
    shutil.rmtree(first)
    copied.write(another := read_lineage(changed(d1="d2")), recording(tmp_path))
    assert not first.exists()
    for one in (lineage, another):
        assert (run := copied.find(one.id)) and run.info.artifact_uri.startswith(there.as_uri())
        assert (there / "mlflow-artifacts" / run.info.run_id / "artifacts" / "lineage.json").is_file()


def client_of(store: LineageStore) -> MlflowClient:
    from mlflow.tracking import MlflowClient  # takes seconds

    return MlflowClient(store.uri)


def test_the_parent_run_holds_what_two_lineages_are_compared_by(store: LineageStore, tmp_path: Path) -> None:
    lineage = read_lineage(LOCK)
    assert store.write(lineage, recording(tmp_path))
    assert not store.write(lineage, recording(tmp_path))
    run = store.find(lineage.id)
    assert run is not None and run.info.run_name == "abc1234 gpt-4o/gpt-4o"
    assert run.data.metrics == {
        "doclens/claim_recall": 0.9,
        "total/calls": 300,
        "total/prompt_tokens": 9000,
        "total/completion_tokens": 800,
        "total/dollars": 0.25,
        "total/seconds": 21.5,
    }
    assert run.data.params == {"model.judge": "gpt-4o", "seed": "7", "sample.records": "1000"}
    assert "tables/doclens.json" in run.data.tags["mlflow.loggedArtifacts"]
    client = client_of(store)
    assert [file.path for file in client.list_artifacts(run.info.run_id, "report")] == ["report/index.html"]
    assert [found["revision"] for found in store.overview() if found["lineage"] == lineage.id] == ["abc"]
    assert store.content(lineage.id[:8])["stages"]["sample"]["outs"] == {"data/sample/records.parquet": "r1"}


def test_a_stage_run_holds_its_headline_figures_and_measurements(store: LineageStore, tmp_path: Path) -> None:
    lineage = read_lineage(changed(d1="d5"))
    store.write(lineage, recording(tmp_path))
    measured = store.metrics(lineage.id)
    assert measured["doclens"]["doclens/claim_recall"] == 0.9
    assert (measured["doclens"]["unscored"], measured["doclens"]["rows/doclens_scores"]) == (2, 60)
    assert "doclens/claim_recall" not in measured["sample"]
    assert store.costs(lineage.id, ["doclens"])["doclens.dollars"] == 0.25


def test_the_cost_of_a_stage_that_was_not_measured_is_unknown(store: LineageStore) -> None:
    lineage = read_lineage(changed(d1="d6"))
    store.write(lineage, Recording("x", runs={"sample": StageRun(1.5, {})}))
    costs = store.costs(lineage.id, ["doclens"])
    assert {name.partition(".")[0] for name in costs} == {"doclens"}
    assert all(map(math.isnan, costs.values())), "as where its outputs come from a cache of several clones"


def test_a_half_written_lineage_is_replaced(store: LineageStore, tmp_path: Path) -> None:
    lineage = read_lineage(changed(d1="d3"))
    with pytest.raises(FileNotFoundError):
        store.write(lineage, Recording("x", tables=[tmp_path / "gone.csv"]))
    assert not store.has(lineage.id)
    assert store.write(lineage, Recording("x"))
    assert store.has(lineage.id)
    assert set(store.metrics(lineage.id)) == {"sample", "doclens"}


def test_names_that_mlflow_rejects_are_replaced_without_losing_an_entry(store: LineageStore) -> None:
    names = ["BART (full)", "BART [full]", "x" * 300, "a/b", "a//b", "/a/b", "../b", "", f"{'x' * 239}/y", "a\n"]
    lock = changed(d1="d7")
    lock["stages"]["sample"]["params"] = {"params.yaml": {name: at for at, name in enumerate(names)}}
    lineage = read_lineage(lock)
    store.write(lineage, Recording("x"))
    run = store.find(lineage.id)
    assert run is not None and sorted(map(int, run.data.params.values())) == [*range(len(names))]
    assert run.data.params["a/b"] == "3", "names that MLflow accepts stay"
