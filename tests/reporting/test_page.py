"""The report page: a caption for each table, key figures equal to the tables, all outside text escaped."""

import json
import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from flows.stages.report import tables_in
from tasks.reporting.display import script_json
from tasks.reporting.notes_view import FLAGGED
from tasks.reporting.page import captions, grouped, key_figures, metric_section
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


def test_a_visit_whose_note_did_not_pass_the_check_is_marked() -> None:
    visits = [{"title": "Day 0", "mark": "", "text": "Fever."}, {"title": "Day 9", "mark": FLAGGED, "text": "Well."}]
    page = page_of([shown_note()], histories=[{"patient": 1, "visits": visits, "summaries": []}])
    assert page.count(FLAGGED) == 1 and f"<h3>Day 9 <small>{FLAGGED}</small></h3>" in page
