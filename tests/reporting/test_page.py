"""The report page: a caption for each table, key figures equal to the tables, all outside text escaped."""

import json
import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from flows.repository.params import load_params
from flows.stages.report import tables_in
from tasks.reporting.display import script_json
from tasks.reporting.notes_view import FLAGGED
from tasks.reporting.page import by_rules, captions, grouped, key_figures, meanings, metric_section, tiles
from tasks.reporting.show import Wording, show
from tests.support.imports import ROOT
from tests.support.report_page import metric_table, page_of, shown_note

HOSTILE = "</script><script>run()</script><img src=x onerror=run()>&amp;\u2028"


@cache
def committed(folder: str) -> tuple[dict[Path, pd.DataFrame], list[str]]:
    return tables_in(ROOT / folder)


@pytest.mark.parametrize("folder", ["reports/tables", "reports/published/tables"])
def test_every_committed_metric_table_is_shown_with_a_caption_and_a_group(folder: str) -> None:
    tables, not_shown = committed(folder)
    assert not_shown == []
    missing = {path.stem for path in tables} - set(captions())
    assert not missing, f"add to the report.yaml of the measure or to captions.yaml: {sorted(missing)}"


def test_no_name_of_a_committed_table_is_shown_with_underscores() -> None:
    for folder in ("reports/tables", "reports/published/tables"):
        for path, table in committed(folder)[0].items():
            new = ~table[["system", "condition", "item", "metric"]].apply(lambda names: names.duplicated())
            shown = show(table[new.any(axis=1)], Wording(own_systems=False))
            named = [*shown.constant.values(), *(column.label for one in shown.tables for column in one.columns)]
            named += [part.value for one in shown.tables for row in one.rows for part in row[: one.heads] if part]
            assert not [name for name in named if "_" in name], path


def test_a_table_in_another_layout_is_named() -> None:
    assert "not in the layout of metric tables: a/no_seed.csv." in page_of([], not_shown=["a/no_seed.csv"])


def test_json_in_the_page_cannot_end_its_element() -> None:
    text = script_json({"note": HOSTILE})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"note": HOSTILE}


def test_outside_text_is_escaped_everywhere() -> None:
    table = metric_table({"metric": HOSTILE, "system": HOSTILE, "condition": HOSTILE, "provenance": HOSTILE})
    page = page_of([shown_note(normal=[[HOSTILE, []]])], {"doclens": table}, params=HOSTILE)
    assert "<script>run()" not in page
    assert "<img" not in page
    assert page.count("</script>") == 2  # the note data and the page's script
    assert not re.search(r'(src|href)="(?!#|papers.html)', page)


def test_the_simulator_banner_is_shown_only_if_the_simulator_was_used() -> None:
    assert "Rules, not a language model" in page_of([shown_note()])
    assert "Rules, not a language model" not in page_of([shown_note()], simulator_roles=[])


def test_key_figures_are_table_rows_and_absent_ones_are_skipped() -> None:
    table = metric_table({"metric": "claim_recall", "value": 0.7649, "low": 0.7488, "high": 0.7807, "n": 200})
    (figure,) = key_figures({"doclens": table})
    assert figure["value"] == "76.5%"
    assert figure["interval"] == "95% interval 74.9% to 78.1%, n\u00a0=\u00a0200"
    assert key_figures({}) == []
    assert key_figures({"doclens": table.assign(value=float("nan"))}) == []


def test_tables_without_caption_come_last_with_a_title_from_the_stem() -> None:
    table = metric_table({"metric": "x"})
    groups = grouped({"new_one": table, "doclens": table}, {"new_one": "n.csv", "doclens": "d.csv"})
    found = [(one.title, [part.title for part in one.parts]) for one in groups]
    assert found == [("Evaluation of notes", ["DocLens"]), ("Other tables", ["New one"])]


def test_a_table_shows_what_a_paper_would_print_and_all_rows_to_be_opened() -> None:
    rows = ({"metric": name, "item": item} for name in ("recall", "recall_std") for item in ("all", "plan"))
    section = metric_section("doclens", "doclens.csv", metric_table(*rows))
    (printed,), (fold,) = section.tables, section.folds
    assert [column.label for column in printed.columns] == ["system", "recall"] and len(printed.rows) == 1
    assert (fold.title, len(fold.tables[0].rows)) == ("all 2 rows", 2) and section.notes[0].endswith("n = 10.")


def test_the_key_figure_of_the_effect_names_treatment_outcome_and_unit() -> None:
    row = {"system": "network, exact", "condition": "intervention", "metric": "effect", "value": -0.25, "n": 0}
    row |= {"low": float("nan"), "high": float("nan")}
    found = [
        key_figures({"network_causal": metric_table(row | {"item": item})})[0]
        for item in ("antibiotics on days_at_home", "statin on stroke")
    ]
    assert [(figure["value"], figure["label"]) for figure in found] == [
        ("−0.250 days", "exact effect of antibiotics on days at home"),
        ("−0.250", "exact effect of statin on stroke"),
    ]


def test_a_key_figure_says_how_many_of_its_records_are_unscored() -> None:
    row = {"system": "annotator", "condition": "check", "metric": "flagged_first", "n": 56}
    found = [key_figures({"filtering": metric_table(row | {"unscored": count})})[0]["interval"] for count in (0, 4)]
    assert found == [f"95% interval 40.0% to 60.0%, n\u00a0=\u00a056{more}" for more in ("", ", 4 unscored")]


def test_a_note_that_was_not_checked_is_not_said_to_have_failed_the_check() -> None:
    notes = pd.DataFrame({"attempt": [0, 1], "consistent": [False, True]})
    assert {"value": "1", "label": "kept that were flagged, or whose check failed"} in tiles(notes, notes, notes)
    assert FLAGGED == "flagged by the consistency check, or the check failed"


def test_notes_that_were_read_are_not_said_to_be_written_of_sampled_records() -> None:
    written, read = page_of([shown_note()]), page_of([shown_note()], source="published")
    assert "A writer turns each record" in written and "Simulated clinical notes" in written
    assert "were read from files" in read and not re.search("A writer turns|Simulated clinical|annotator's spans", read)
    assert captions()["filtering"]["caption"].endswith("are kept without a check, and counted as unscored.")
    assert "annotator" not in captions()["span_statistics"]["caption"]


def test_rules_that_judge_claims_in_place_of_the_judge_are_named() -> None:
    params = load_params(ROOT / "params.yaml")
    judge = params.roles["judge"].model_copy(update={"base_url": "http://127.0.0.1:1/v1"})
    ruled = params.doclens.model_copy(update={"evaluator": "simulator"})
    paid = params.model_copy(update={"roles": {**params.roles, "judge": judge}})
    assert by_rules(paid) == ["writer", "annotator", "answerer"] and "judge of claims" not in by_rules(
        params.model_copy(update={"doclens": ruled})
    )
    assert by_rules(paid.model_copy(update={"doclens": ruled})) == [*by_rules(paid), "judge of claims"]
    assert "All roles" in page_of([], simulator_roles=by_rules(params))
    named = by_rules(paid.model_copy(update={"doclens": ruled}))
    assert "Of the roles, these (writer, annotator, answerer, judge of claims)" in page_of([], simulator_roles=named)


def test_metrics_mean_what_the_params_and_the_table_make_them() -> None:
    assert meanings("note_qa")["score_std_over_takes"] == "standard deviation of the mean score over the judge's takes"
    assert "each reader" in meanings("span_review")["right"] and "reader" not in meanings("planted_errors")["right"]
    assert "the simulated writer wrote, changed or left out in texts of its own" in captions()["calibration"]["caption"]
    assert "labels are all alike" in meanings("human_labels")["corrected_share"]
    assert "of notes of which both versions were read" in captions()["span_review"]["caption"]


def test_a_visit_whose_note_did_not_pass_the_check_is_marked() -> None:
    visits = [{"title": "Day 0", "mark": "", "text": "Fever."}, {"title": "Day 9", "mark": FLAGGED, "text": "Well."}]
    page = page_of([shown_note()], histories=[{"patient": 1, "visits": visits, "summaries": []}])
    assert page.count(FLAGGED) == 1 and f"<h3>Day 9 <small>{FLAGGED}</small></h3>" in page
