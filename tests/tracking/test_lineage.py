"""Lineages are read from dvc.lock and written to MLflow once."""

import json
from pathlib import Path

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from schemas.tables.people import RATINGS, REVIEW_NOTES
from tasks.tracking.differences import changed_stages, cost_table, differing_fields, differing_inputs, is_redraw
from tasks.tracking.lineage import Lineage, StageRun, read_lineage
from tasks.tracking.mlflow_store import LineageStore
from tasks.tracking.recording import Recording, Reviewed, named, outside_inputs

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


def reviewed() -> Reviewed:
    notes = pd.DataFrame([(4, "type_1", "p", "n", "c", False, "[]")], columns=list(REVIEW_NOTES.columns))
    given = [("rater_1", "person", 4, "consistency", 5), ("model", "model", 4, "consistency", 3)]
    return Reviewed(notes, pd.DataFrame(given, columns=list(RATINGS.columns)), "gpt-4o")


def recording(tmp_path: Path, recall: float = 0.9) -> Recording:
    """A recording of LOCK: one headline figure, one metric table, the runs of both stages, a report."""
    table, report = tmp_path / "doclens.csv", tmp_path / "index.html"
    pd.DataFrame([{"system": "compact", "metric": "claim_recall", "value": recall}]).to_csv(table, index=False)
    report.write_text("<h1>Report</h1>")
    return Recording(
        name="abc1234 gpt-4o/gpt-4o",
        tags={"git.revision": "abc"},
        models={"judge": "gpt-4o"},
        headlines={"doclens": {"claim_recall": recall}},
        headline_stages={"doclens": "doclens"},
        runs={
            "sample": StageRun(1.5, {"records": 1000}),
            "doclens": StageRun(20.0, {"doclens_scores": 60}, 2, 300, 9000, 800, 0.25),
        },
        tables={"doclens": [table]},
        files={"report": report},
        reviewed=reviewed(),
    )


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
    client = MlflowClient(store.uri)
    assert [file.path for file in client.list_artifacts(run.info.run_id, "report")] == ["report/index.html"]
    assert [found["revision"] for found in store.overview() if found["lineage"] == lineage.id] == ["abc"]
    assert store.content(lineage.id[:8])["stages"]["sample"]["outs"] == {"data/sample/records.parquet": "r1"}


def test_a_stage_run_holds_its_headline_figures_measurements_and_inputs(store: LineageStore, tmp_path: Path) -> None:
    lineage = read_lineage(changed(d1="d5"))
    store.write(lineage, recording(tmp_path))
    measured = store.metrics(lineage.id)
    assert measured["doclens"]["doclens/claim_recall"] == 0.9
    assert (measured["doclens"]["unscored"], measured["doclens"]["rows/doclens_scores"]) == (2, 60)
    assert "doclens/claim_recall" not in measured["sample"]
    assert store.costs(lineage.id)["doclens.dollars"] == 0.25
    (child,) = (run for run in store.runs(lineage.id) if run.data.tags.get("stage") == "doclens")
    assert [(i.dataset.name, i.dataset.digest) for i in child.inputs.dataset_inputs] == [
        ("data/sample/records.parquet", "r1")
    ]


def test_reviewed_notes_are_traces_with_feedback_of_judge_and_person(store: LineageStore, tmp_path: Path) -> None:
    lineage = read_lineage(changed(d1="d6"))
    store.write(lineage, recording(tmp_path))
    run = store.find(lineage.id)
    (trace,) = MlflowClient(store.uri).search_traces(locations=[store.experiment_id], run_id=run.info.run_id)
    assert trace.data.spans[0].inputs == {"prompt": "p"}
    given = {(a.source.source_type, a.source.source_id, a.name, a.feedback.value) for a in trace.info.assessments}
    assert given == {("HUMAN", "rater_1", "consistency", 5), ("LLM_JUDGE", "gpt-4o", "consistency", 3)}
    store.remove(lineage.id)
    assert not MlflowClient(store.uri).search_traces(locations=[store.experiment_id], run_id=run.info.run_id)


def test_an_evaluation_is_written_once_with_its_metrics_and_params(store: LineageStore, tmp_path: Path) -> None:
    manifest = {"evaluation": {"name": "mine"}, "params": {"seed": 7}, "models": {}, "code": {}, "documents": {}}
    (tmp_path / "tables").mkdir()
    for name in ("metrics.csv", "comparisons.csv"):
        (tmp_path / "tables" / name).write_text("x\n")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    row = {"system": "a", "condition": "c", "item": "all", "metric": "claim_recall"}
    table = pd.DataFrame([{**row, "value": 0.9, "low": 0.8, "high": float("nan")}])
    assert store.write_evaluation("mine", tmp_path, table)
    assert not store.write_evaluation("mine", tmp_path, table)
    (run,) = MlflowClient(store.uri).search_runs([store.experiment_id], "attributes.run_name = 'mine'")
    assert run.data.metrics == {"a/c/all/claim_recall": 0.9, "a/c/all/claim_recall.low": 0.8}
    assert run.data.params == {"evaluation.name": "mine", "params.seed": "7"}


def test_a_half_written_lineage_is_replaced(store: LineageStore, tmp_path: Path) -> None:
    lineage = read_lineage(changed(d1="d3"))
    with pytest.raises(FileNotFoundError):
        store.write(lineage, Recording("x", tables={"doclens": [tmp_path / "gone.csv"]}))
    assert not store.has(lineage.id)
    assert store.write(lineage, Recording("x"))
    assert store.has(lineage.id)
    assert set(store.metrics(lineage.id)) == {"sample", "doclens"}


def test_names_that_mlflow_rejects_are_replaced_without_losing_an_entry() -> None:
    entries = {"BART (full)": 1, "BART [full]": 2, "x" * 300: 3}
    accepted = named(entries)
    assert list(accepted.values()) == [1, 2, 3]
    assert all(len(name) <= 250 and not set(name) & set("()[]") for name in accepted)


def test_inputs_of_a_lineage_are_data_that_no_stage_makes() -> None:
    lock = changed()
    lock["stages"]["sample"]["deps"] += [
        {"path": "tasks/network/respiratory.yaml", "md5": "y1"},
        {"path": "tasks/network/sampling.py", "md5": "c1"},
        {"path": "returned/review_returned", "md5": "f1.dir"},
    ]
    assert outside_inputs(read_lineage(lock)) == {
        "returned/review_returned": "f1.dir",
        "tasks/network/respiratory.yaml": "y1",
    }


def test_a_redraw_differs_in_its_redraw_number_only() -> None:
    def drawn(number: int, **hashes: str) -> Lineage:
        lock = changed(**hashes)
        lock["stages"]["doclens"]["params"] = {"params.yaml": {"roles.writer": {"model": "m", "redraw": number}}}
        return read_lineage(lock)

    assert is_redraw(drawn(0), drawn(1, r1="r2", d1="d2"))
    assert not is_redraw(drawn(0), drawn(0, d1="d2"))
    assert not is_redraw(drawn(0), drawn(1, j1="j2"))


def test_an_input_that_one_lineage_lacks_is_empty_there_and_names_the_readers_of_the_other() -> None:
    without = changed()
    del without["stages"]["doclens"]["deps"][0]
    a, b = read_lineage(LOCK), read_lineage(without)
    expected = [["identity", "fingerprints/judge.json", "j1", "", "doclens"]]
    assert differing_inputs(a, b).values.tolist() == expected
    assert differing_inputs(b, a)[["a", "b", "stages"]].values.tolist() == [["", "j1", "doclens"]]


def test_data_that_a_stage_makes_is_no_input_but_code_and_files_are() -> None:
    rows = differing_inputs(read_lineage(LOCK), read_lineage(changed(n1="n2", r1="r2")))
    assert rows[["kind", "name", "stages"]].values.tolist() == [["code", "tasks/network", "sample"]]


def test_two_identities_of_a_role_differ_in_named_fields() -> None:
    a = {"identity": {"answered": "big-1", "hash": "a" * 64, "owner": "acme"}, "epoch": 0}
    b = {"identity": {"answered": "big-2", "hash": "b" * 64, "owner": "acme"}, "epoch": 0}
    said = (f"answered big-1, hash {'a' * 10}…", f"answered big-2, hash {'b' * 10}…")
    assert differing_fields(a, b) == said
    assert differing_fields(a, a | {"epoch": 2}) == ("epoch 0", "epoch 2")
    assert differing_fields(a, {"identity": {**a["identity"], "region": "eu"}, "epoch": 0}) == (
        "region absent",
        "region eu",
    )
    assert differing_fields(a, a) == ("same identity", "other canary replies")
    rows = differing_inputs(read_lineage(LOCK), read_lineage(changed(j1="j2")), {"judge": a}, {"judge": b})
    assert rows[["a", "b"]].values.tolist() == [list(said)]
    one_sided = differing_inputs(read_lineage(LOCK), read_lineage(changed(j1="j2")), {"judge": a}, {})
    assert one_sided[["a", "b"]].values.tolist() == [["j1", "j2"]]


def test_an_added_and_a_removed_output_are_changes_of_their_stage() -> None:
    more = changed()
    more["stages"]["doclens"]["outs"].append({"path": "data/more.parquet", "md5": "m"})
    a, b = read_lineage(LOCK), read_lineage(more)
    for rows in (changed_stages(a, b), changed_stages(b, a)):
        assert rows.values.tolist() == [["doclens", "data/more.parquet"]]
    assert len(changed_stages(a, a)) == 0


def test_costs_of_both_lineages_are_listed_by_stage() -> None:
    a = {"write.calls": 3.0, "write.prompt_tokens": 30.0, "write.completion_tokens": 12.0, "write.dollars": 0.5}
    table = cost_table(a, {"span.calls": 2.0, "span.prompt_tokens": 7.0})
    assert table.to_dict("list") == {
        "stage": ["span", "write"],
        "calls_a": [0, 3],
        "tokens_a": [0, 42],
        "dollars_a": [0, 0.5],
        "calls_b": [2, 0],
        "tokens_b": [7, 0],
        "dollars_b": [0, 0],
    }
