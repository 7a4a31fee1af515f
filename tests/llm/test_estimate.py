"""The cost of a run is estimated before anything is paid."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from flows.commands import parser
from flows.repository import kept_runs
from flows.repository.params import load_params
from flows.repository.workspace import STORE, WORKSPACE
from flows.runtime import costs
from schemas.params import Params
from schemas.params.llm import Price, Role
from tasks.tracking.lineage import StageRun
from tasks.transport.inspection import rehearsed
from tests.support.imports import ROOT
from tests.support.params import shipped
from tests.support.stored import fill, paid

PIPELINE = """
stages:
  sample: {cmd: x, deps: [flows/stages/records.py], outs: [data/records.parquet]}
  write: {cmd: x, deps: [fingerprints/writer.json], outs: [a]}
  mystery: {cmd: x, deps: [fingerprints/judge.json], outs: [b]}
"""
BIG = Role(base_url="https://api.example.com/v1", model="big")


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(WORKSPACE, str(tmp_path))
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    return tmp_path / "dvc.yaml"


def hosted_params(**sending: object) -> Params:
    prices = {"big": Price(prompt=2.5, completion=10.0)}
    return shipped(roles={"writer": BIG}, prices=prices, runtime={"sending": {"writer": sending}})


def test_a_stage_is_estimated_from_its_prompt_files(pipeline: Path) -> None:
    (line,), unknown = costs.estimates(hosted_params(), pipeline, 10_000)
    assert (line.stage, line.how, line.estimate.calls) == ("write", "from prompts", 10_000)
    assert unknown == ["mystery"]
    assert line.dollars == pytest.approx(
        (2.5 * line.estimate.prompt_tokens + 10 * line.estimate.completion_tokens) / 1e6
    )
    assert 20 < line.dollars < 80  # SimSUM paid 150 dollars for notes and compact notes at twice the price


QA = "stages: {note_qa: {cmd: x, deps: [fingerprints/judge.json], outs: [a]}}"


@pytest.fixture
def ran(pipeline: Path) -> Path:
    """Stage `note_qa` ran here with the shipped params: dvc.lock says so, and 20 calls to the judge are kept."""
    pipeline.write_text(QA)
    out, shipped = pipeline.parent / "a", load_params().model_dump(mode="json")
    out.write_text("made by the last run")
    stage = {"cmd": "x", "params": {"params.yaml": {"note_qa": shipped["note_qa"], "seed": 7}}}
    stage["outs"] = [{"path": str(out), "md5": hashlib.md5(out.read_bytes()).hexdigest()}]
    pipeline.with_suffix(".lock").write_text(yaml.safe_dump({"stages": {"note_qa": stage}}))
    kept_runs.keep_run("note_qa", [out], StageRun(1.0), [paid(n).key for n in range(20)])
    fill(pipeline.parent / STORE, *(replace(paid(n, stage="note_qa"), role="judge") for n in range(20)))
    return pipeline


def judged(**note_qa: object) -> Params:
    return shipped(roles={"judge": BIG}, prices={"big": Price(prompt=1e6, completion=0.0)}, note_qa=note_qa)


@pytest.mark.parametrize(
    ("change", "calls", "how"),
    [
        ({}, 20, "counted"),
        ({"judge_takes": 500}, 2000, "scaled"),
        ({"patients_by_notes": [30, 30, 30], "planted_questions": 72}, 60, "scaled"),
        ({"generation_attempts": 5}, 20, "counted"),
    ],
)
def test_a_counted_stage_is_scaled_to_the_params_as_they_are_now(
    ran: Path, change: dict[str, object], calls: int, how: str
) -> None:
    (line,), _ = costs.estimates(judged(**change), ran)
    assert (line.estimate.calls, line.how, line.most) == (calls, how, calls * 3), "each reply may be asked for thrice"


def test_replies_of_other_runs_in_the_store_are_not_counted(ran: Path) -> None:
    """A trial shares the store of its clone, which holds the replies of whole runs; here, of 15 further calls."""
    kept_runs.keep_run("note_qa", [ran.parent / "a"], StageRun(1.0), [paid(n).key for n in range(5)])
    (line,), _ = costs.estimates(judged(judge_takes=500), ran)
    assert (line.estimate.calls, line.how) == (500, "scaled")


def test_a_stage_that_ran_in_another_clone_is_not_estimated_from_a_trials_replies(ran: Path) -> None:
    for file in (ran.parent / "runs" / "note_qa").iterdir():
        file.unlink()
    assert costs.estimates(judged(), ran) == ([], ["note_qa"])


def test_bounds_enclose_the_estimate_where_calls_depend_on_replies(pipeline: Path) -> None:
    pipeline.write_text("stages: {filter: {cmd: x, deps: [fingerprints/writer.json, fingerprints/annotator.json]}}")
    lines = {line.estimate.role: line for line in costs.estimates(hosted_params(), pipeline, 1000)[0]}
    counts = {role: (line.least, line.estimate.calls, line.most) for role, line in lines.items()}
    assert counts == {"annotator": (1000, 1010, 12_120), "writer": (0, 10, 27_000)}
    dollars = [lines["writer"].dollars_of(bound) for bound in ("least", "calls", "most")]
    assert dollars == [
        0.0,
        pytest.approx(lines["writer"].dollars),
        pytest.approx(2700 * (lines["writer"].dollars or 0)),
    ]


def test_calls_of_a_former_run_are_counted(tmp_path: Path) -> None:
    older = [paid(100 + n, identity="older.0") for n in range(3)]
    fill(tmp_path / "s.sqlite", *older, *(paid(n) for n in range(10)))
    (found,) = rehearsed(tmp_path / "s.sqlite")["write"]
    assert found.calls == 10 and found.role == "writer"
    assert found.completion_tokens == 10 * round(len("reply 1") / 4)
    last = {"write": [paid(n).key for n in (2, 3)] + [paid(100).key], "filter": []}
    (found,) = rehearsed(tmp_path / "s.sqlite", last)["write"]
    assert found.calls == 3, "those of the last run, and not all that the store has of the model"


def test_the_table_names_stages_without_an_estimate(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(pipeline.parent)
    shutil.copy(ROOT / "params.yaml", "params.yaml")
    assert parser.run(["trial", "--estimate", "--records", "100"]) == 0
    out = capsys.readouterr().out
    assert "unknown: mystery; run them once with the simulator" in out
    assert "cap: none" in out


ASKS = "from vignette import metric\n\n@metric('asked')\ndef asked(texts, ask):\n    return {}\n"


@pytest.mark.parametrize(("code", "said"), [(ASKS, True), (ASKS.replace(", ask", ""), False)])
def test_calls_of_an_own_metric_are_none_or_not_known_beforehand(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: str, said: bool
) -> None:
    pipeline.write_text("stages: {own_metrics: {cmd: x, deps: [fingerprints/judge.json, metrics.py]}}")
    (pipeline.parent / "metrics.py").write_text(code)
    monkeypatch.chdir(pipeline.parent)
    shutil.copy(ROOT / "params.yaml", "params.yaml")
    assert parser.run(["trial", "--estimate"]) == 0
    out = capsys.readouterr().out
    assert "unknown: " not in out
    assert ("own_metrics: the calls of a metric of your own are not known before it ran once" in out) == said
