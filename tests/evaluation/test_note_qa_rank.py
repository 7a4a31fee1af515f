"""Comparison of answerers: EHRNoteQA's published figures are recomputed from files of its scores."""

import pandas as pd
import pytest

from flows.commands.cli import run

PUBLISHED = "tasks/reproduction/published/ehrnoteqa_table"


@pytest.fixture
def scores(tmp_path):
    takes = pd.read_csv(f"{PUBLISHED}6_takes.csv").rename(columns={"model": "system"})
    columns = ["system", *[f"free_text_take{i}" for i in range(1, 6)]]
    takes[columns].to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path / "scores.csv"


def test_takes_of_22_models_give_means_deviations_and_rank_changes(scores, capsys):
    assert run(["rank", str(scores)]) == 0
    printed = capsys.readouterr().out
    assert "rank changes over takes: 28" in printed  # against computed modes; 29 against the printed ones


def test_an_outside_ranking_gives_correlations_with_intervals(scores, tmp_path, capsys):
    outside = pd.read_csv(f"{PUBLISHED}7_benchmarks.csv").rename(columns={"model": "system"})
    outside[["system", "clinician_a"]].to_csv(tmp_path / "outside.csv", index=False)
    assert run(["rank", str(scores), "--outside", str(tmp_path / "outside.csv")]) == 0
    printed = capsys.readouterr().out
    assert "clinician_a spearman" in " ".join(printed.split()) and "low" in printed


def test_files_that_do_not_fit_are_refused(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("name,a\nm,1\n")
    assert run(["rank", str(tmp_path / "x.csv")]) == 1
    assert "expected a column 'system'" in capsys.readouterr().err
    (tmp_path / "y.csv").write_text("system,a\nm,high\n")
    assert run(["rank", str(tmp_path / "y.csv")]) == 1
    assert "not numbers" in capsys.readouterr().err
