"""Printed figures, what answers them and whether they are met, and the page of the papers."""

import asyncio
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pandera.errors
import pytest

from flows.repository.params import load_params
from flows.repository.pipeline import stage_function
from schemas.tables.metrics import REPRODUCTION
from tasks.papers.printed import Cell, items, load_printed, papers
from tasks.papers.reproduction import PUBLISHED, absent_lines, class_counts, compared, known_rows, verdict_of
from tasks.reporting.page import printed_tiles
from tasks.statistics.metric_rows import metric_row, metric_table
from tests.papers.page import all_rows, written
from tests.support.memory_stage import MemoryStage


def row(published: float, reproduced: float, tolerance: float, basis: str = "recomputed") -> dict[str, Any]:
    return Cell(items()["simsum", "Table 7"], "r", "c", published, tolerance).reproduced(reproduced, basis=basis)


def told(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([{**one, "verdict": verdict_of(one)} for one in rows])[list(REPRODUCTION.columns)]


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        (row(0.48, 0.484, 0.005), "pass"),
        (row(0.48, 0.486, 0.005), "fail"),
        (row(4.7, 4.8, 0.1), "pass"),  # a difference of exactly the tolerance, slightly more in floating point
        (row(0.48, np.nan, 0.005), "fail"),  # a missing value fails; it is not absent
        (row(0.48, 0.48, np.nan), "fail"),
        (row(0.48, np.nan, np.nan, "absent"), "absent"),
    ],
)
def test_verdict(cells: dict[str, Any], verdict: str) -> None:
    assert verdict_of(cells) == verdict


def test_each_table_without_its_figures_is_listed_once_as_absent() -> None:
    everything = {(one["source"], one["table"]): one for one in absent_lines([])}
    assert sorted(everything) == sorted(key for key, item in items().items() if item.needs)
    assert all(one["note"].startswith("needs ") for one in everything.values())
    assert everything["doclens", "Table 21"]["row"] == "all"
    assert everything["ehrnoteqa", "Table 4"]["row"] == "others"  # the other pipeline has those of level 1
    cells = items()["doclens", "Table 21"].printed_cells()
    part = {(one["source"], one["table"]): one for one in absent_lines([cells[0].reproduced(17.4)])}
    assert len(part) == len(everything) and part["doclens", "Table 21"]["row"] == "others"
    whole = [cell.reproduced(0) for cell in items()["ehrnoteqa", "Table 3"].printed_cells()]
    assert len(absent_lines(whole)) == len(everything) - 1


def test_a_stand_in_names_its_model() -> None:
    REPRODUCTION.validate(told(row(1.0, 1.0, 0.0, "stand-in: gpt-4o")))
    for basis in ("stand-in", "fitted"):
        with pytest.raises(pandera.errors.SchemaError, match="basis"):
            REPRODUCTION.validate(told(row(1.0, 1.0, 0.0, basis)))


def test_a_printed_dash_is_not_a_cell() -> None:
    table = load_printed("doclens_table21_aci_gpt4")
    cells = items()["doclens", "Table 21"].printed_cells()
    assert len(cells) == table.select_dtypes("number").notna().to_numpy().sum()


def test_a_cell_has_the_tolerance_and_the_misprint_that_the_data_file_gives_it() -> None:
    days = {(cell.row, cell.column): cell for cell in items()["simsum", "Table 8"].printed_cells()}
    misprint = days["dyspnea=no cough=yes pain=no nasal=yes fever=high", "predicted_without"]
    assert (misprint.published, misprint.tolerance) == (4.7, 0.1) and str(misprint.note).startswith("misprint")
    assert {cell.tolerance for cell in days.values() if cell.note is None} == {0.05}


ANSWER = {
    *(
        "table",
        "stage",
        "system",
        "condition",
        "item",
        "metric",
        "names",
        "only",
        "n",
        "provenance",
        "judge",
        "percent",
    ),
    *("within", "of", "baseline", "basis", "note", "take", "printed", "columns", "by", "from", "pipeline"),
}


def test_every_answer_has_a_row_or_figures_and_only_fields_that_mean_something() -> None:
    answers = [one for item in items().values() for one in (*item.answers, *(more["answer"] for more in item.further))]
    assert len(answers) > 40
    for one in answers:
        assert set(one) <= ANSWER and ("table" in one) != ("take" in one), one
        assert {"printed", "columns"} <= set(one) if "take" in one else {"item", "metric"} <= set(one), one


OPEN = ("BART + SAMSum FT (full)", "BART + SAMSum FT (section)", "BioBART (full)", "BioBART (section)")


def precision(
    *systems: str, judge: str = "gpt-4o", value: float = 0.75, condition: str = "json_cot"
) -> list[dict[str, Any]]:
    """The compared precisions of Tables 21 to 23, where all ``systems`` have the same."""
    rows = [metric_row("claim_precision", value, n=2, system=name) for name in systems]
    shared = {"stage": "doclens", "item": "all", "condition": condition, "provenance": f"writer: w, judge: {judge}"}
    tables = {"published/doclens_aci": metric_table(rows, **shared)}
    found = [compared(items()["doclens", f"Table {number}"], tables, PUBLISHED) for number in (21, 22, 23)]
    return [row for rows in found for row in rows]


def test_figures_that_the_mean_of_the_others_meets_are_left_out() -> None:
    """Of 48.11, 30.38, 42.43 and 26.10, two are within 11.35 of the others' mean: 30.38 (38.88) and 42.43 (34.86)."""
    rows = precision(*OPEN)
    assert [(row["published"], row["reproduced"]) for row in rows] == [(48.11, 75), (26.10, 75)]
    assert [row["tolerance"] for row in rows] == pytest.approx([11.3533] * 2, abs=1e-4)
    assert {row["basis"] for row in rows} == {"stand-in: gpt-4o"}
    assert [row["published"] for row in precision(*OPEN[1:3])] == [30.38, 42.43], "alone, they have no such mean"
    assert precision(*OPEN, value=np.nan) == [], "nothing was scored"


def test_outputs_of_another_source_are_compared_whether_or_not_they_pass() -> None:
    """Precision 0.75 of ACI-BENCH's GPT-4, printed 75.67, and of its ChatGPT, printed 69.74: 5.93 apart."""
    rows = precision("ChatGPT (zero-shot, ACI-BENCH)", "GPT-4 (zero-shot, ACI-BENCH)")
    assert [row["tolerance"] for row in rows] == pytest.approx([5.93, 5.93])
    assert [(row["row"].partition(" (")[0], verdict_of(row)) for row in rows] == [
        ("GPT-3.5-turbo", "pass"),
        ("GPT-4", "pass"),
    ]


def test_a_judge_has_its_own_printed_column() -> None:
    """Table 21 prints GPT-4's judgements, Table 22 Mistral's; the simulator's rules stand for nobody."""
    assert {row["table"] for row in precision(*OPEN, judge="strong-model")} == {"Table 21"}
    assert {row["table"] for row in precision(*OPEN, judge="Mistral-7B-Instruct-v0.1")} == {"Table 22"}
    assert precision(*OPEN, judge="vignette-judge (simulator's rules)") == []
    true_nli = precision(*OPEN, condition="google/t5_xxl_true_nli_mixture")
    assert {row["table"] for row in true_nli} == {"Table 23"}, "whatever model the judge's role names"


@pytest.mark.parametrize(
    ("judge", "condition", "stage", "tables"),
    [
        ("gpt-4", "json_cot", "doclens_questions", {"Table 33"}),
        ("Mistral-7B-Instruct-v0.1", "cot", "doclens_questions", {"Table 34"}),
        ("gpt-4", "t5_xxl_true_nli_mixture", "doclens_questions", {"Table 35"}),
        ("Mistral-7B-Instruct-v0.1", "cot", "doclens_impressions", {"Table 30"}),
    ],
)
def test_summaries_under_their_printed_names_have_rows(
    judge: str, condition: str, stage: str, tables: set[str]
) -> None:
    """Recall 50 and 90 of two systems whose figures the mean of the others does not meet."""
    shots = ("GPT-4 (0-shot)", "GPT-3.5-turbo (0-shot)")
    rows = [metric_row("claim_recall", 0.5, n=2, system=name) for name in shots]
    shared = {"stage": stage, "item": "all", "condition": condition, "provenance": f"writer: w, judge: {judge}"}
    named = {"published/doclens_summaries": metric_table(rows, **shared)}
    found = [
        row for number in range(29, 36) for row in compared(items()["doclens", f"Table {number}"], named, PUBLISHED)
    ]
    assert {row["table"] for row in found} == tables and {row["reproduced"] for row in found} == {50}


def test_an_interval_of_draws_is_a_tolerance_and_boosting_is_compared_as_released() -> None:
    rows = [
        metric_row("f1, mean of 3 draws", f1, f1 - 0.1, f1 + 0.1, n=9, system=system, item="cough")
        for system, f1 in (("BN-tab", 0.5), ("XGBoost-tab", 0.6), ("XGBoost-tab as released", 0.4))
    ]
    table = metric_table(rows, stage="baselines", condition="all", provenance="p")
    none = {"published/simsum_text": metric_table([])}
    found = compared(items()["simsum", "Table 5"], {**none, "published/baselines_replicates": table}, PUBLISHED)
    assert [(row["row"], row["reproduced"], row["basis"]) for row in found] == [
        ("BN-tab all", 0.5, "sampled"),
        ("XGBoost-tab all", 0.4, "sampled"),
    ]
    assert [row["tolerance"] for row in found] == pytest.approx([0.1, 0.1])
    assert found[0]["note"].startswith("f1, mean of 3 draws; parameters by")


def test_a_share_is_compared_within_the_sampling_error_of_both_samples() -> None:
    shared = {"stage": "note_qa_outside", "system": "clinicians", "condition": "outside", "provenance": "p"}
    table = metric_table([metric_row("category_share", 0.3, n=400, item="treatment")], **shared)
    (row,) = compared(items()["ehrnoteqa", "Table 3"], {"published/note_qa_outside": table}, PUBLISHED)
    assert (row["row"], row["published"], row["reproduced"]) == ("treatment", 19, 30)
    assert row["tolerance"] == pytest.approx(100 * 1.96 * (0.19 * 0.81 * (1 / 100 + 1 / 400)) ** 0.5)


def test_the_committed_rows_are_what_the_stages_make_of_the_committed_tables(tmp_path: Path) -> None:
    for name, folder in (("reproduce", Path("reports")), ("reproduce_published", Path("reports/published"))):
        stage = MemoryStage(load_params(), tmp_path, name)
        stage.tables = {file.stem: pd.read_csv(file) for file in (folder / "tables").glob("*.csv")}
        asyncio.run(stage_function(name)(stage))
        found, kept = stage.tables["reproduction"], pd.read_csv(folder / "reproduction.csv")
        assert found.to_csv(index=False, float_format="%.6g") == kept.to_csv(index=False, float_format="%.6g")


PRINTED = {"simsum": (9, 10), "medomit": (5, 14), "ehrnoteqa": (7, 3), "doclens": (36, 9)}
"""Numbers of the last table and figure of each paper."""
FOLDER = Path("tasks/papers/printed")


@pytest.fixture(scope="module")
def rows():
    return all_rows()


@pytest.mark.parametrize("source", papers())
def test_every_table_and_figure_is_listed(source):
    names = [item.name for item in items().values() if item.source == source]
    for kind, last in zip(("Table", "Figure"), PRINTED[source], strict=True):
        found = {int(number) for name in names for number in re.findall(rf"^{kind} (\d+)", name)}
        assert found == set(range(1, last + 1))
    assert len(names) == len(set(names)) and papers()[source]


def test_every_item_has_a_command_or_a_requirement_or_names_its_counterpart(rows):
    tables = set(zip(rows["source"], rows["table"], strict=True))
    for item in items().values():
        assert bool(item.instead) != bool(item.command or item.needs), item
        assert not item.printed or (item.source, item.name) in tables, item


def test_every_judged_row_and_every_printed_table_belongs_to_an_item(rows):
    listed = set(items())
    assert set(zip(rows["source"], rows["table"], strict=True)) <= listed
    assert {item.printed for item in items().values()} - {None} == {file.stem for file in FOLDER.glob("*.csv")}


def test_a_table_that_one_pipeline_reproduces_is_not_absent():
    """Others of its figures may be."""
    absent = told({**row(math.nan, math.nan, math.nan, "absent"), "row": "all", "column": "all"})
    there = told(row(1, 1, 0))
    assert known_rows([absent, there])["verdict"].tolist() == ["pass"]
    assert known_rows([absent.assign(row="others"), there])["verdict"].tolist() == ["pass", "absent"]


def test_the_written_files_are_up_to_date():
    for file, text in written().items():
        assert file.read_text(encoding="utf-8") == text, f"{file}: run python -m tests.papers.page"


def test_readme_and_the_report_count_the_same(rows):
    shown = {tile["value"] for tile in printed_tiles(rows)}
    readme = Path("README.md").read_text(encoding="utf-8")
    for met, told in class_counts(rows).values():
        assert f"{met:,} of {told:,}" in shown and f"| {met:,} of {told:,} |" in readme


def test_counts_are_by_kind_of_basis_and_leave_out_absent_tables():
    rows = [row(1, value, 0, f"stand-in: {model}") for model in "ab" for value in (1, 2)]
    assert class_counts(told(*rows, row(1, 1, 0, "absent"))) == {"stand-in": (2, 4)}
