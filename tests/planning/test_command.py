"""`vignette plan`: sources of components, prices, what is printed and written, and errors on one line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from flows.commands import cli
from tests.support.imports import ROOT


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    status = cli.run(["plan", *map(str, arguments)])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    return shown.out


def planned(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: object) -> pd.Series:
    """The first design of a plan."""
    run(capsys, *arguments, "--csv", folder / "plan.csv")
    return pd.read_csv(folder / "plan.csv").iloc[0]


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert cli.run(["plan", *map(str, arguments)]) == 1
    return capsys.readouterr().err


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    """Two systems, 40 documents with three questions, each judged twice; one judgement is missing."""
    draw = np.random.default_rng(0)
    rows = [
        {"document": f"d{note}", "question": question, "take": take, "system": system,
         "score": int(draw.random() < 0.5 + 0.3 * (note % 2) + 0.15 * (system == "new"))}
        for note in range(40) for system in ("new", "old") for question in range(3) for take in range(2)
    ]  # fmt: skip
    rows[0]["score"] = ""
    file = tmp_path / "pilot.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    return file


@pytest.fixture
def priced(tmp_path: Path) -> Path:
    """Params with a hosted judge whose tokens have a price."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["roles"]["judge"] = {"base_url": "https://example.org/v1", "model": "large", "temperature": 0.0}
    params["prices"] = {"large": {"prompt": 2.0, "completion": 10.0}}
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(params))
    return file


def test_the_clones_own_table_is_planned_from_where_nothing_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, "evaluate", "--half-width", 0.02)
    row = pd.read_csv(ROOT / "reports" / "tables" / "doclens.csv")
    row = row[(row["metric"] == "claim_recall") & (row["system"] == "compact notes")].iloc[0]
    assert f"claim_recall of compact notes, json_cot: {row['value']:.3f}, n {row['n']}" in shown
    assert "<- cheapest" in shown


def test_as_many_notes_as_a_table_has_give_the_interval_that_it_prints(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    keys = ["--table", "doclens", "--metric", "claim_recall", "--system", "compact notes"]
    found = planned(capsys, tmp_path, "evaluate", *keys, "--notes", 200)
    table = pd.read_csv(ROOT / "reports" / "tables" / "doclens.csv")
    row = table[(table["metric"] == "claim_recall") & (table["system"] == "compact notes")].iloc[0]
    assert found["half_width"] == pytest.approx((row["high"] - row["low"]) / 2, rel=1e-4)


def test_a_pilot_of_two_systems_plans_their_difference(capsys: pytest.CaptureFixture[str], pilot: Path) -> None:
    shown = run(capsys, "systems", "--pilot", pilot, "--difference", 0.1, "--takes", "1,3", "--questions", 3)
    assert "differences old - new; 1 scored rows without a pair are left out" in shown
    assert "note" in shown and "question" in shown and "take" in shown
    assert "1 rows without a score (0.4%)" in shown
    assert shown.count("<- cheapest") == 1


def test_questions_takes_and_prices_of_the_role_count(
    capsys: pytest.CaptureFixture[str], pilot: Path, priced: Path, tmp_path: Path
) -> None:
    chosen = ["--pilot", pilot, "--system", "new", "--notes", 100]
    more = ["--params", priced, "--tokens", "1500,100", "--note-price", 0.5]
    found = planned(capsys, tmp_path, "evaluate", *chosen, "--questions", 2, "--takes", 3, *more)
    assert found["dollars"] == pytest.approx(100 * 0.5 + 600 * (1500 * 2 + 100 * 10) / 1e6)
    shown = run(capsys, "evaluate", *chosen, "--params", priced)
    assert "no price" in shown


def test_scores_of_a_lineage_are_a_pilot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    rows = [
        {"record": record, "system": "answerer", "condition": form, "item": f"{record}/{item}", "metric": "accuracy",
         "value": float(draw.random() < 0.4 + 0.5 * (record % 2))}
        for form in ("free_text", "multiple_choice") for record in range(50) for item in range(3)
    ]  # fmt: skip
    pd.DataFrame(rows).to_parquet(tmp_path / "scores.parquet")
    named = ["--map", "document=record", "--map", "question=item", "--where", "condition=free_text"]
    pilot = ["--pilot", tmp_path / "scores.parquet", *named]
    shown = run(capsys, "evaluate", *pilot, "--half-width", 0.1, "--questions", "1,3")
    assert "150 scores of 50 notes" in shown
    assert "question" in shown.splitlines()[1]


def test_independent_lineages_need_more_notes_than_paired_ones(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    paired, independent = (
        planned(capsys, tmp_path, "lineages", "--difference", 0.03, *more)["notes"]
        for more in (["--correlation", 0.5], ["--independent"])
    )
    assert independent == pytest.approx(2 * paired, rel=0.02)  # variances of note 2 - 1 and 2; samples of so many each


def test_a_family_of_tests_needs_more_notes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, many = (
        planned(capsys, tmp_path, "lineages", "--difference", 0.03, "--family", family)["notes"] for family in (1, 20)
    )
    # Normal quantiles of 0.0025 and 0.05, and of power .8: ((3.023 + 0.842) / (1.960 + 0.842)) ** 2 = 1.90.
    assert many / one == pytest.approx(1.90, rel=0.03)


def test_people_are_planned_from_their_labels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    hard = draw.random(30)
    rows = [(f"d{note}", item, rater, draw.random() < hard[note]) for note in range(30) for item in range(3)
            for rater in ("ann", "bob")]  # fmt: skip
    pd.DataFrame(rows, columns=["document", "question", "rater", "holds"]).to_csv(tmp_path / "labels.csv", index=False)
    shown = run(capsys, "forms", "--pilot", tmp_path / "labels.csv", "--map", "score=holds", "--half-width", 0.08,
                "--questions", 3, "--raters", "1,2", "--label-price", 2)  # fmt: skip
    assert "of other raters" in shown
    assert "rater" in shown.splitlines()[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "nothing: no such study; expected one of evaluate"),
        (["evalate"], "; did you mean evaluate?"),
        (["evaluate"], "expected a half width, a difference, or numbers of notes"),
        (["evaluate", "--difference", "0.1"], "--difference: evaluate estimates one mean"),
        (["evaluate", "--half-width", "-1"], "--half-width -1: expected a number above 0"),
        (["evaluate", "--half-width", "2"], "--half-width 2: no interval within --bounds 0,1 is wider; expected less"),
        (["forms", "--half-width", "0.1"], "no table here holds labels of people"),
        (["evaluate", "--half-width", "0.1", "--components", "note"], "--components note: expected NAME=VARIANCE"),
        (
            ["evaluate", "--half-width", "0.1", "--components", "notes=1"],
            "expected a variance from 0 up of note",
        ),
        (["evaluate", "--half-width", "0.1", "--components", "note=0"], "nothing varies"),
        (["evaluate", "--half-width", "0.1", "--table", "nothing"], "--table nothing: no such table"),
        (["evaluate", "--half-width", "0.1", "--table", "docles"], "; did you mean doclens?"),
        (["evaluate", "--half-width", "0.1", "--table", "doclens"], "doclens.csv: 10 rows; choose one with --metric"),
        (["evaluate", "--half-width", "0.1", "--takes", "3"], "3 takes: the components do not say"),
        (["evaluate", "--half-width", "0.1", "--takes", "0"], "--takes 0: expected numbers from 1"),
        (["lineages", "--difference", "0.1", "--correlation", "1"], "--correlation 1: expected"),
        (["lineages", "--difference", "0.1", "--power", "2"], "--power 2: expected a probability"),
        (["audit", "--half-width", "0.1", "--counted", "nothing"], "--counted nothing: expected one of"),
        (["audit", "--half-width", "0.1", "--counted", "doclen"], "; did you mean doclens?"),
    ],
)
def test_a_wrong_option_is_one_line_that_says_what_was_expected(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = refused(capsys, *arguments)
    assert said in shown
    assert shown.startswith("plan: ") and shown.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("document,value\na,1.5\nb,0\n", "row 1: score 1.5; expected 0 to 1; see --bounds"),
        ("document,value\na,often\nb,0\n", "row 1: score 'often'; expected a number, true or false, or nothing"),
        ("document,value\na,\nb,\n", "none of 2 rows has a score in column value"),
        ("note,value\na,1\nb,0\n", "no column document; found note, value; name it with --map FIELD=COLUMN"),
        ("document,value,take\na,1,1\na,0,1\n", "row 2: document a, take 1 is listed twice"),
        ("document,value\na,1\na,0\n", "1 document with a score; expected at least 2"),
        ("document,value,system\na,1,x\nb,0,y\n", "2 systems, x, y; choose one with --system"),
    ],
)
def test_a_damaged_pilot_is_refused_by_row(
    content: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pilot.csv").write_text(content)
    assert said in refused(capsys, "evaluate", "--pilot", tmp_path / "pilot.csv", "--half-width", 0.1)


@pytest.mark.parametrize("study", ["audit", "evaluate"])
def test_a_study_is_priced_by_a_rehearsal(
    study: str, priced: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    note = "The patient has had a cough for three days. She takes codeine daily. There is no fever."
    texts = [{"id": f"t{place}", "source": note, "reference": note, "output": note} for place in range(3)]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, texts)))
    like = ["--like", tmp_path / "texts.jsonl"] if study == "evaluate" else []
    dollars = planned(capsys, tmp_path, study, "--notes", 100, "--params", priced, *like)["dollars"]
    assert 100 * 200 * 2 / 1e6 < dollars < 100 * 5000 * 10 / 1e6  # between 200 tokens sent and 5,000 received a note
