"""``vignette compare`` on recorded lineages, and the tables that it fetches; no stage is run."""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from flows.commands.compare import main as compare
from flows.lineage.comparing import compare_lineages, find_redraws
from flows.lineage.lineage import NamedLineage, fetch_outputs, find_lineage, recorded_lineages, run_name, store_folder
from flows.repository.cache import cached_file
from flows.repository.workspace import FINGERPRINTS
from flows.runtime.tables import table_bytes
from schemas.errors import SourceError, VignetteError
from tasks.measures.evaluation import evaluated
from tasks.texts.document import Document
from tasks.tracking.lineage import Lineage, StageLineage, read_lineage
from tasks.tracking.recording import Recording
from tests.support.imports import ROOT
from tests.support.report_page import metric_table
from tests.support.repository import commit, git, keep

RECORDS = 60
OTHERS = "0 of 60 and 60 records pair, 60 have other contents under the same id, and 0 are in one lineage only"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_database: Path) -> Path:
    """An empty workspace with the project's params, for recording lineages."""
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    (tmp_path / ".dvc" / "config").write_text("[core]\n    no_scm = true\n")
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    shutil.copy2(empty_database, store_folder())
    return tmp_path


def kept(clone: Path, path: str, frame: pd.DataFrame) -> dict[str, str]:
    """Put a table into the cache of the workspace; returns its entry of dvc.lock."""
    return {"path": path, "md5": keep(clone / ".dvc" / "cache", frame.to_parquet(index=False))}


def record(
    clone: Path,
    scores: np.ndarray,
    *,
    failed: int = 0,
    redraw: int = 0,
    model: str = "m",
    sampled: int | None = 0,
    condition: str = "json",
) -> NamedLineage:
    """Record a lineage of one stage that scored all records except the first ``failed``; ``sampled``: their seed."""
    table = pd.DataFrame({"record": np.arange(RECORDS)[failed:], "value": scores[failed:]})
    table = table.assign(system="compact notes", condition=condition, item="all", metric="claim_recall")
    unscored = pd.DataFrame({"record": [str(number) for number in range(failed)]}, dtype="str")
    role = {"model": model, "redraw": redraw} if redraw else {"model": model}
    outs = [kept(clone, "data/doclens_scores.parquet", table), kept(clone, "data/unscored_doclens.parquet", unscored)]
    if sampled is not None:
        ages = np.random.default_rng(sampled).integers(0, 10_000, RECORDS)
        outs.append(kept(clone, "data/sample/records.parquet", pd.DataFrame({"record": range(RECORDS), "age": ages})))
    lineage = read_lineage({"stages": {"doclens": {"outs": outs, "params": {"params.yaml": {"roles.writer": role}}}}})
    recorded_lineages().write(lineage, Recording("test", headlines={"doclens": {"claim_recall": scores[0]}}))
    return find_lineage(lineage.id)


@pytest.mark.parametrize(
    ("identity", "named"),
    [({"asked": "m", "answered": "m-1"}, "m-1"), ({"asked": "m", "answered": None}, "m"), ({}, "unknown")],
)
def test_a_run_is_named_by_the_model_that_answered_else_by_the_one_asked(
    tmp_path: Path, identity: dict[str, Any], named: str
) -> None:
    (tmp_path / FINGERPRINTS).mkdir()
    (tmp_path / FINGERPRINTS / "judge.json").write_text(json.dumps({"identity": identity, "epoch": 0}))
    assert run_name("abcdefgh", tmp_path) == f"abcdefg unknown/{named}"


def test_a_fingerprint_that_not_all_stages_read_tells_no_identity(clone: Path) -> None:
    """After a part of the stages ran, the file is of some of them: what it says is not what the others asked."""
    (clone / FINGERPRINTS).mkdir(exist_ok=True)
    content = json.dumps({"identity": {"asked": "m"}, "epoch": 0}).encode()
    (clone / FINGERPRINTS / "writer.json").write_bytes(content)
    md5 = hashlib.md5(content).hexdigest()
    for others, told in ((md5, {"writer"}), ("0" * 32, set())):
        deps = {
            name: [{"path": "fingerprints/writer.json", "md5": own}] for name, own in (("write", md5), ("x", others))
        }
        stages = {name: {"cmd": "c", "deps": of, "outs": []} for name, of in deps.items()}
        (clone / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))
        assert set(find_lineage("workspace").identities) == told


def test_failed_records_are_found_in_the_unscored_tables(clone: Path) -> None:
    scores = np.random.default_rng(1).random(RECORDS)
    a, b = record(clone, scores), record(clone, scores, failed=10)
    table = pd.read_csv(compare_lineages(a, [b], clone)[0][0]).set_index("metric")
    assert table.loc["unscored claim_recall", "changed"]
    assert not table.loc["claim_recall", "changed"]
    assert table.loc["claim_recall", ["n", "failed_a", "failed_b", "unpaired"]].tolist() == [50, 0, 10, 0]


def test_redraws_are_recorded_lineages_with_another_redraw_number(clone: Path) -> None:
    draw = np.random.default_rng(3)
    scores = draw.random(RECORDS)
    first = record(clone, scores)
    with pytest.raises(SourceError, match="no recorded lineage is a redraw"):
        find_redraws(first)
    shifts = (0.2, -0.3, 0.25)
    redraws = [record(clone, scores + shift, redraw=number) for number, shift in enumerate(shifts, start=1)]
    other = record(clone, scores + 0.1, model="another")
    found = find_redraws(first)
    assert {lineage.lineage.id for lineage in found} == {lineage.lineage.id for lineage in redraws}
    compare([first.name, other.name], out=clone, null="redraws")
    (changed,) = pd.read_csv(next(clone.glob("*.csv")))["changed"]
    assert not changed
    compare([first.name, other.name], out=clone)
    (changed,) = pd.read_csv(next(clone.glob("*.csv")))["changed"]
    assert changed


def test_records_of_another_seed_are_not_paired(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.random.default_rng(6).random(RECORDS)
    a, b, c = (record(clone, scores + shift, sampled=seed) for shift, seed in ((0.0, 1), (0.01, 2), (0.02, 1)))
    files = compare_lineages(a, [b, c], clone)
    other, same = (pd.read_csv(table).iloc[0] for table, _ in files)
    assert other["note"] == f"compared as independent samples: {OTHERS}" and not other["changed"]
    assert same.isna()["note"] and same["changed"]
    said = capsys.readouterr().out
    assert f"compared as independent samples: {OTHERS} (1 of 1 measures)" in said
    assert f"  doclens/claim_recall     {scores[0]:.3f} -> {scores[0] + 0.01:.3f}\n  without an" in said


def test_measures_of_one_lineage_alone_are_named(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As after a change of the reading of claims, which is the condition of all their rows."""
    scores = np.random.default_rng(7).random(RECORDS)
    a, b = record(clone, scores), record(clone, scores + 0.1, condition="clinician")
    ((table, page),) = compare_lineages(a, [b], clone)
    said = f"doclens: not compared, as the other lineage has none such: 1 measure of {a.name}, 1 of {b.name}"
    such = "compact notes, json, all, claim_recall and compact notes, clinician, all, claim_recall"
    shown, html = capsys.readouterr().out, page.read_text()
    assert f"warning: {said}, such as {such}\n" in shown and said in html
    assert "no measure in common" in shown and "no measure in common" in html and "by record differs" not in shown
    assert pd.read_csv(table).empty


def test_values_of_one_lineage_alone_are_named_where_records_are_not_at_hand(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = []
    for number, condition in enumerate(("json", "clinician")):
        rows = [{"metric": "claim_recall", "condition": condition}, {"metric": "words", "value": 5.0 + number}]
        md5 = keep(clone / ".dvc" / "cache", table_bytes(metric_table(*({**row, "item": "all"} for row in rows))))
        nowhere = {"path": "data/doclens_scores.parquet", "md5": str(number) * 32}
        outs = [{"path": "reports/tables/doclens.csv", "md5": md5}, nowhere]
        lineage = read_lineage({"stages": {"doclens": {"outs": outs}}})
        recorded_lineages().write(lineage, Recording("test"))
        sides.append(find_lineage(lineage.id))
    ((table, _),) = compare_lineages(sides[0], sides[1:], clone)
    assert pd.read_csv(table)[["metric", "a", "b"]].to_numpy().tolist() == [["words", 5.0, 6.0]]
    assert "doclens: not compared, as the other lineage has none such: 1 measure of" in capsys.readouterr().out


def test_values_of_what_has_no_scores_by_record_are_compared_beside_those_that_have(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of stages with scores by record are left out, also those that only one lineage has."""
    sides = []
    for number in range(2):
        scores = pd.DataFrame({"record": np.arange(RECORDS), "value": np.linspace(0, 0.5, RECORDS) + number / 4})
        scores = scores.assign(system="notes", condition="json", item="all", metric="claim_recall")
        stages = {"doclens": {"outs": [kept(clone, "data/doclens_scores.parquet", scores)]}}
        for stage, rows in {
            "doclens": [{"system": "others", "condition": f"style {number}", "item": "all", "metric": "words"}],
            "history_qa": [{"stage": "history_qa", "condition": "none", "metric": "score"}],
            "network_predictions": [{"stage": "network", "condition": "true", "metric": "effect"}],
        }.items():
            table = metric_table(*({"stage": stage, **row, "value": 1.0 + number} for row in rows))
            md5 = keep(clone / ".dvc" / "cache", table_bytes(table))
            outs = stages.setdefault(stage, {"outs": []})["outs"]
            outs.append({"path": f"reports/tables/{stage}.csv", "md5": md5})
        # A stage that is the same in both, of which nothing is at hand, keeps none of the others from being tested.
        stages["review"] = {"outs": [{"path": "data/unscored_review.parquet", "md5": "0" * 32}]}
        lineage = read_lineage({"stages": stages})
        recorded_lineages().write(lineage, Recording("test"))
        sides.append(find_lineage(lineage.id))
    ((table, page),) = compare_lineages(sides[0], sides[1:], clone)
    found = pd.read_csv(table).set_index(["stage", "metric"])
    assert {key: found.loc[key, "changed"].item() for key in found.index} == {
        ("doclens", "claim_recall"): True, ("history_qa", "score"): False, ("network", "effect"): False,
    }  # fmt: skip
    assert (
        "history_qa  compact notes, none, all, score: 1 -> 2" in capsys.readouterr().out
        and "history_qa" in page.read_text()
    )


def test_figures_of_stages_that_were_not_rebuilt_are_not_those_of_the_later_lineage(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a rebuild of some stages for fewer records: the others' tables are of all of them."""
    sides = []
    for digest, value in (("a", 0.75), ("b", 0.25)):
        row = {"condition": "json_cot", "metric": "claim_recall", "value": value}
        md5 = keep(clone / ".dvc" / "cache", table_bytes(metric_table(row)))
        stages = {
            "sample": {"outs": [{"path": "data/records.parquet", "md5": digest * 32}]},
            "doclens": {
                "deps": [{"path": "data/records.parquet", "md5": "a" * 32}],
                "outs": [{"path": "reports/tables/doclens.csv", "md5": md5}],
            },
        }
        lineage = read_lineage({"stages": stages})
        recorded_lineages().write(lineage, Recording("test", headlines={"doclens": {"claim_recall": 0.75}}))
        sides.append(find_lineage(lineage.id))
    ((table, page),) = compare_lineages(sides[0], sides[1:], clone)
    shown = capsys.readouterr().out
    assert pd.read_csv(table).empty and "0.25" not in shown
    said = f"{sides[1].name}: not compared, as not rebuilt after what they read changed: doclens"
    assert said in shown and said in page.read_text()
    assert re.search(r"doclens/claim_recall +0\.750 \[.*\] -> –", shown)


def evaluated_lineage(clone: Path, shift: float, texts: Mapping[str, Sequence[str]]) -> NamedLineage:
    """Record a lineage of evaluations with the same ids of documents; ``texts``: their sources, by evaluation."""
    stages = {}
    for name, sources in texts.items():
        documents = [Document(f"d{number}", (source,), "reference") for number, source in enumerate(sources)]
        scores = np.random.default_rng(6).random(len(sources)) + shift
        table = pd.DataFrame({"record": evaluated(documents)["record"], "value": scores, "metric": "claim_recall"})
        table = table.assign(system="mine", condition="own", item="all")
        folder = f"data/evaluations/{name}"
        outs = [kept(clone, f"{folder}/document_scores.parquet", table)]
        stages[f"evaluate@{name}"] = {"outs": [*outs, kept(clone, f"{folder}/evaluated.parquet", evaluated(documents))]}
    lineage = read_lineage({"stages": stages})
    recorded_lineages().write(lineage, Recording("test"))
    return find_lineage(lineage.id)


def test_documents_of_an_evaluation_pair_by_their_texts(clone: Path) -> None:
    texts = [f"Cough for {number} days." for number in range(RECORDS)]
    others = [f"Fever for {number} days." for number in range(RECORDS)]
    first = evaluated_lineage(clone, 0.0, {"one": texts, "two": texts})
    second = evaluated_lineage(clone, 0.01, {"one": texts, "two": others})
    table = pd.read_csv(compare_lineages(first, [second], clone)[0][0])
    notes, changed = table["note"].fillna("").tolist(), table["changed"].tolist()
    assert notes == ["", f"compared as independent samples: {OTHERS}"] and changed == [True, False]


def answering_lineage(clone: Path, found: int, reworded: int) -> NamedLineage:
    """Record predictions of which ``found`` of all coughs, and scores of a question on each record and one reworded."""
    numbers, about = np.arange(RECORDS), {"system": "s", "condition": "c"}
    predicted = {"predicted": np.where(numbers < found, "yes", "no"), "label": "yes", "symptom": "cough", "seed": 0}
    items = [(number, f"{number}/{place}") for number in numbers for place in range(2)]
    scores = pd.DataFrame(items, columns=["record", "item"]).assign(**about, metric="score", value=float(reworded))
    asked = pd.DataFrame({"question": scores["item"], "choices": "", "answer": "A"})
    asked["wording"] = asked["question"].where(scores["record"] >= reworded, f"reworded {reworded}")
    tables = {
        "sample/records": pd.DataFrame({"record": numbers}),
        "baselines/predictions": pd.DataFrame({"record": numbers, **about, **predicted}),
        "note_qa/note_qa_scores": scores,
        "note_qa/questions": asked,
    }
    stages: dict[str, dict[str, list]] = {}
    for name, table in tables.items():
        outs = stages.setdefault(name.partition("/")[0], {"outs": []})["outs"]
        outs.append(kept(clone, f"data/{name}.parquet", table))
    lineage = read_lineage({"stages": stages})
    recorded_lineages().write(lineage, Recording("test"))
    return find_lineage(lineage.id)


def test_predictions_are_compared_by_f1_and_answers_to_the_same_questions_pair(clone: Path) -> None:
    sides = [answering_lineage(clone, found, reworded) for found, reworded in ((60, 0), (30, 20))]
    table = pd.read_csv(compare_lineages(sides[0], sides[1:], clone)[0][0]).set_index("metric")
    assert table.loc["f1", ["a", "b"]].tolist() == pytest.approx([1, 2 * 30 / (60 + 30)])
    assert table["n"].to_dict() == {"f1": 60, "score": 40}
    assert table.loc["score", "note"] == "not comparable: what is scored differs in 20 records"


def test_metric_tables_of_git_replace_missing_scores(
    clone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.rebuild.plan.stages_to_run", lambda pipeline: [])
    git(clone, "init", "-q")
    for value in (0.5, 0.75):
        table = clone / "reports/tables/doclens.csv"
        table.parent.mkdir(parents=True, exist_ok=True)
        row = {
            "condition": "json_cot",
            "metric": "claim_recall",
            "value": value,
            "low": value - 0.1,
            "high": value + 0.1,
        }
        metric_table({"system": "compact notes", "n": 20} | row).to_csv(table, index=False)
        outs = [{"path": "reports/tables/doclens.csv", "md5": hashlib.md5(table.read_bytes()).hexdigest()}]
        if value == 0.5:  # as the cache of runs, which names no ending
            keep(clone / ".dvc" / "cache", table.read_bytes())
        outs.append({"path": "data/doclens_scores.parquet", "md5": hashlib.md5(str(value).encode()).hexdigest()})
        figures = clone / "reports/metrics.json"
        figures.write_text(json.dumps({"doclens": {"claim_recall": 0.5}}))  # at 0.75, stage `headlines` did not run
        outs.append({"path": "reports/metrics.json", "md5": hashlib.md5(figures.read_bytes()).hexdigest()})
        (clone / "dvc.lock").write_text(yaml.safe_dump({"stages": {"doclens": {"outs": outs}}}))
        commit(clone, str(value), "reports", "dvc.lock")
    compare(["HEAD~1", "workspace"], out=clone / "out")
    said = capsys.readouterr().out
    assert "rebuild the workspace and run `dvc push` in the clone that made HEAD~1" in said
    assert "values that differ in the metric tables: 1" in said and "0.500 -> 0.750 (+0.250, n 20)" in said
    assert (
        "of HEAD~1 and workspace are neither" in said
        and "0.500 [0.400, 0.600] -> 0.750 [0.650, 0.850]  ● apart" in said
    )
    compare(["HEAD", "workspace"], out=clone / "out")
    assert "measures compared: 0" in capsys.readouterr().out


def test_lineages_are_listed_with_time_revision_and_models(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare()
    assert capsys.readouterr().out.startswith("no lineage is recorded in this clone")
    lineage = read_lineage({"stages": {}})
    models = {"writer": "gpt-4o", "judge": "gpt-4o", "annotator": "rules"}
    recorded_lineages().write(lineage, Recording("test", tags={"git.revision": "0123456789abcdef"}, models=models))
    compare()
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["lineage", "recorded", "(UTC)", "on", "revision", "experiment", "models"]
    assert re.fullmatch(rf"{lineage.id}  \d{{4}}-\d\d-\d\d \d\d:\d\d  0123456789  +rules, gpt-4o", line)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("workspace", "no dvc.lock yet; run vignette repro --pipeline dvc.yaml first"),
        ("HEAD", "has no dvc.lock; nothing was run there"),
        ("gone", "neither a git revision, nor a DVC experiment, nor a recorded lineage id"),
    ],
)
def test_a_name_of_no_lineage_says_what_is_missing(clone: Path, name: str, said: str) -> None:
    git(clone, "init", "-q")
    commit(clone, "one", "params.yaml")
    with pytest.raises(SourceError, match=f"^{name}: .*{said}"):
        compare([name, "HEAD"])


def test_a_damaged_database_is_named(clone: Path) -> None:
    (store_folder() / "mlflow.db").write_bytes(b"no database" * 500)
    with pytest.raises(VignetteError, match=r"mlflow\.db: no database of MLflow"):
        compare()


def test_missing_outputs_are_fetched_from_the_remote_and_others_left_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    settings = ["[core]", "no_scm = true", "remote = r", "['remote \"r\"']", "url = ../remote", "[cache]"]
    (tmp_path / ".dvc" / "config").write_text("\n".join([*settings, f"dir = {tmp_path / 'elsewhere'}"]))
    outs = {}
    for name in ("scores.parquet", "notes.parquet"):
        outs[f"data/{name}"] = keep(tmp_path / "remote", name.encode())
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    lineage = NamedLineage("a", Lineage("a", (StageLineage("doclens", outs=outs),)), None)

    fetch_outputs([(lineage, "data/scores.parquet")])
    assert capsys.readouterr().out == "fetched 1 of 1 files (0.0 MB) from DVC's remote\n"
    found = cached_file(outs["data/scores.parquet"])
    assert found is not None and found.is_relative_to(tmp_path / "elsewhere")
    assert lineage.open_output("data/scores.parquet").read_text() == "scores.parquet"
    assert cached_file(outs["data/notes.parquet"]) is None
    outs["data/gone.parquet"] = hashlib.md5(b"gone").hexdigest()
    assert fetch_outputs([(lineage, "data/gone.parquet")]) == [(lineage, "data/gone.parquet")]
    assert caplog.text == "", "DVC lists the hashes of what is nowhere"
    shutil.rmtree(tmp_path / "remote")
    fetch_outputs([(lineage, "data/scores.parquet")])
    assert capsys.readouterr().out == ""
