"""`vignette plan`: what studies drawn from a pilot find, beside studies drawn from the population."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flows.commands import parser
from schemas.tables.columns import typed
from schemas.tables.evaluate import DOCUMENT_SCORES
from tasks.statistics.intervals import mean_interval
from tasks.tracking import planning
from tasks.tracking.comparison import compare_systems
from tasks.tracking.planning import half_widths, powers


def scores(a: np.ndarray, b: np.ndarray) -> pd.DataFrame:
    """Claim recall of two systems on the same documents."""
    rows = [
        {"record": place, "document": f"d{place:03}", "system": system, "value": float(value)}
        for system, values in (("a", a), ("b", b))
        for place, value in enumerate(values)
    ]
    about = {"stage": "doclens", "condition": "json_cot", "item": "all", "metric": "claim_recall"}
    return typed([{**row, **about} for row in rows], DOCUMENT_SCORES)


def drawn(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Shares of five claims, with ties: b has one claim more in about a third of the documents."""
    a = rng.binomial(5, 0.7, n) / 5
    return scores(a, np.clip(a + (rng.random(n) < 0.45) * 0.2 - (rng.random(n) < 0.15) * 0.2, 0, 1))


def test_planned_half_widths_are_those_of_studies_of_that_size() -> None:
    rng = np.random.default_rng(1)
    planned = np.mean([half_widths(drawn(rng, 30), [120], seed=s, studies=20)["120"].iloc[0] for s in range(30)])
    ends = [mean_interval(drawn(rng, 120).query("system == 'a'")["value"]) for _ in range(60)]
    assert planned == pytest.approx(np.mean([(high - low) / 2 for _, low, high in ends]), rel=0.06)


@pytest.mark.soak
def test_power_planned_from_small_pilots_promises_no_more_than_studies_find() -> None:
    """From 8 documents each, the former planner promised .95 where studies found .58."""
    rng = np.random.default_rng(2)
    unknown = pd.DataFrame(columns=["system", "stage", "condition", "item", "metric", "unscored"])
    studies = [drawn(rng, 40) for _ in range(80)]
    found = np.mean([compare_systems(one, {}, unknown, ["a", "b"], seed=1)["p"].lt(0.05).item() for one in studies])
    planned = [powers(drawn(rng, 8), [40], seed=s, studies=10)["40"].iloc[0] for s in range(40)]
    assert 0.4 < found < 0.95
    assert np.mean(planned) < found + 0.1


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
    assert parser.run(["plan", str(tmp_path), "--documents", "10,60", "--metrics", "doclens"]) == 0
    assert capsys.readouterr().out == of_evaluation, "the metrics of a measure"
    more = pd.concat([table, *(table.assign(metric=name, stage="overlap") for name in ("rouge1_f", "rougeLsum_f"))])
    more.to_parquet(tmp_path / "tables" / "scores.parquet")
    for options, named in (([], {"claim_recall", "rougeLsum_f"}), (["--metrics", "rouge1_f"], {"rouge1_f"})):
        assert parser.run(["plan", str(tmp_path), "--documents", "10,60", *options]) == 0
        words = {*capsys.readouterr().out.split()}
        assert words & {"claim_recall", "rouge1_f", "rougeLsum_f"} == named, "as evaluate tests, or as named"


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
