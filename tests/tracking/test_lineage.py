"""Lineages are read from dvc.lock and written to MLflow once."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tasks.tracking.differences import changed_stages, differing_inputs, is_redraw
from tasks.tracking.lineage import Lineage, read_lineage
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


def test_the_id_ignores_the_record_stage_and_nothing_else() -> None:
    assert read_lineage(LOCK).id == read_lineage(changed(x="y")).id
    assert read_lineage(LOCK).id != read_lineage(changed(d1="d2")).id


def test_inputs_that_differ_are_named_with_their_readers() -> None:
    rows = differing_inputs(read_lineage(LOCK), read_lineage(changed(j1="j2", d1="d2")))
    assert rows.to_dict("records") == [
        {"kind": "identity", "name": "fingerprints/judge.json", "a": "j1", "b": "j2", "stages": "doclens"}
    ]  # the changed table is an output, not an input


def test_a_changed_param_is_named_by_its_dotted_name() -> None:
    other = changed()
    other["stages"]["sample"]["params"]["params.yaml"]["sample"]["records"] = 50
    rows = differing_inputs(read_lineage(LOCK), read_lineage(other))
    assert rows[["kind", "name", "a", "b"]].values.tolist() == [["param", "sample.records", "1000", "50"]]


def test_changed_stages_name_their_changed_outputs() -> None:
    rows = changed_stages(read_lineage(LOCK), read_lineage(changed(d1="d2")))
    assert rows.values.tolist() == [["doclens", "reports/tables/doclens.csv"]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LineageStore:
    return LineageStore(tmp_path_factory.mktemp("mlflow"), "vignette")


def test_a_lineage_is_written_once_with_its_metrics(store: LineageStore, tmp_path: Path) -> None:
    table = tmp_path / "doclens.csv"
    row = {"system": "compact", "condition": "plain", "item": "all", "metric": "claim_recall"}
    pd.DataFrame([{**row, "value": 0.9, "low": 0.8, "high": float("nan")}]).to_csv(table, index=False)
    lineage = read_lineage(LOCK)

    assert store.write(lineage, {"doclens": [table]}, {"git.revision": "abc"})
    assert not store.write(lineage, {"doclens": [table]}, {"git.revision": "abc"})
    assert store.metrics(lineage.id)["doclens"] == {
        "compact/plain/all/claim_recall": 0.9,
        "compact/plain/all/claim_recall.low": 0.8,
    }
    assert [found["revision"] for found in store.overview() if found["lineage"] == lineage.id] == ["abc"]
    assert store.content(lineage.id[:8])["stages"]["sample"]["outs"] == {"data/sample/records.parquet": "r1"}


def test_a_half_written_lineage_is_replaced(store: LineageStore, tmp_path: Path) -> None:
    lineage = read_lineage(changed(d1="d3"))
    with pytest.raises(FileNotFoundError):
        store.write(lineage, {"doclens": [tmp_path / "gone.csv"]}, {})
    assert not store.has(lineage.id)
    assert store.write(lineage, {}, {})
    assert store.has(lineage.id)
    assert set(store.metrics(lineage.id)) == {"sample", "doclens"}


def test_names_that_mlflow_rejects_are_replaced_without_losing_an_entry(store: LineageStore, tmp_path: Path) -> None:
    lock = changed(d1="d4")
    lock["stages"]["doclens"]["params"] = {"params.yaml": {"systems": {"BART (full)": "a.csv", "BART [full]": "b.csv"}}}
    lock["stages"]["doclens"]["params"]["params.yaml"]["x" * 300] = 1
    table = tmp_path / "doclens.csv"
    rows = [{"system": f"BART {mark}", "condition": "c", "item": "i", "metric": "m"} for mark in ("+", "*")]
    pd.DataFrame([{**row, "value": at, "low": at, "high": at} for at, row in enumerate(rows)]).to_csv(
        table, index=False
    )
    lineage = read_lineage(lock)
    assert store.write(lineage, {"doclens": [table]}, {})
    assert sorted(store.metrics(lineage.id)["doclens"].values()) == [0, 0, 0, 1, 1, 1]


def test_a_redraw_differs_in_its_redraw_number_only() -> None:
    def drawn(number: int, **hashes: str) -> Lineage:
        lock = changed(**hashes)
        lock["stages"]["doclens"]["params"] = {"params.yaml": {"roles.writer": {"model": "m", "redraw": number}}}
        return read_lineage(lock)

    assert is_redraw(drawn(0), drawn(1, r1="r2", d1="d2"))
    assert not is_redraw(drawn(0), drawn(0, d1="d2"))
    assert not is_redraw(drawn(0), drawn(1, j1="j2"))
