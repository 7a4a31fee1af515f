"""`vignette plan`: from the folder of an evaluation, and from a table of a pilot."""

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flows.commands import parser, plan
from tasks.reporting.evaluation_text import DRY_RUN
from tasks.tracking import planning
from tasks.tracking.planning import powers
from tests.tracking.test_planning import drawn


def test_the_command_plans_from_an_evaluation_and_from_a_pilot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "powers", partial(powers, studies=5))
    (tmp_path / "tables").mkdir()
    table = drawn(np.random.default_rng(3), 12)
    table.to_parquet(tmp_path / "tables" / "scores.parquet")
    assert parser.run(["plan", str(tmp_path), "--documents", "10,60"]) == 0
    of_evaluation = capsys.readouterr().out
    pilot = tmp_path / "pilot.csv"
    for marks in ({}, {"sep": ";", "decimal": ","}):
        rows = table.rename(columns={"value": "score"})[["document", "system", "metric", "score"]]
        rows.to_csv(pilot, index=False, **marks)
        assert parser.run(["plan", str(pilot), "--documents", "10,60"]) == 0
        assert of_evaluation.splitlines()[1:] == capsys.readouterr().out.splitlines()[1:]
    numbered = table.assign(system=table["system"].map({"a": 0, "b": 1}), score=table["value"])
    numbered.drop(columns=["value", "condition", "stage"]).to_json(tmp_path / "pilot.json", orient="records")
    assert parser.run(["plan", str(tmp_path / "pilot.json"), "--documents", "10"]) == 0
    assert "0 claim_recall" in " ".join(capsys.readouterr().out.split()), "a system called 0 keeps its name"
    widths = of_evaluation.splitlines()[5].split()
    assert widths[:4] == ["a", "claim_recall", "all", "12"] and float(widths[-1]) < float(widths[-2])
    *_, said, _, _ = of_evaluation.splitlines()
    assert "80% from" in of_evaluation and said.split()[-3:] == ["0.000", "1.000", "60"]
    assert of_evaluation.splitlines()[-1].startswith("Each allows"), of_evaluation
    assert parser.run(["plan", str(tmp_path), "--documents", "10,60", "--metrics", "doclens"]) == 0
    assert capsys.readouterr().out == of_evaluation, "the metrics of a measure"
    more = pd.concat([table, *(table.assign(metric=name, stage="overlap") for name in ("rouge1_f", "rougeLsum_f"))])
    more.to_parquet(tmp_path / "tables" / "scores.parquet")
    twice = ["--metrics", "rouge1_f", "--metrics", "claim_recall"]
    for options, named in (
        ([], {"claim_recall", "rougeLsum_f"}),
        (twice[:2], {"rouge1_f"}),
        (twice, {"rouge1_f", "claim_recall"}),
    ):
        assert parser.run(["plan", str(tmp_path), "--documents", "10,60", *options]) == 0
        words = {*capsys.readouterr().out.split()}
        assert words & {"claim_recall", "rouge1_f", "rougeLsum_f"} == named, "as evaluate tests, or as named"


def test_a_manifest_of_somebody_else_is_read_within_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "manifest.json"
    os.mkfifo(file)
    plan.print_remark(tmp_path)
    file.unlink()
    file.write_text("[" * 100_000)
    plan.print_remark(tmp_path)
    assert capsys.readouterr().out == ""
    file.write_text(json.dumps({"remark": DRY_RUN}))
    plan.print_remark(tmp_path)
    assert capsys.readouterr().out == f"{DRY_RUN}\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("document,score\na,1\nb,x\n", [], "score 'x'; expected a number"),
        ("document,score\na,1\nb,inf\n", [], "score 'inf'; expected a number"),
        ("document,value\na,1\n", [], "no document or score"),
        ("document,score\na,1\na,0\n", [], "listed twice"),
        ("document,score\na,\n", [], "0 documents; a plan needs a pilot of 8 or more"),
        ("document,score\na,1\nb,0\n", [], "2 documents; a plan needs a pilot of 8 or more"),
        ("document,score\na,1\n", ["--documents", "1"], "expected numbers from 2"),
        ("document,score\na,1\n", ["--metrics", "scores"], "did you mean score?"),
    ],
)
def test_a_pilot_that_allows_no_plan_is_named(
    text: str, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pilot.csv").write_text(text)
    assert parser.run(["plan", str(tmp_path / "pilot.csv"), *options]) == 1
    assert message in capsys.readouterr().err
