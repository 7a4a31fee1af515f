"""The documents of an evaluation as the page shows them: claims at their sentence."""

import re

import pandas as pd
import pytest

from schemas.tables.columns import typed
from schemas.tables.verdicts import VERDICTS
from tasks.reporting.evaluation_page import document_data, render_evaluation
from tasks.texts.document import Document
from tests.support.report_page import metric_table

CLAIMS = pd.DataFrame(
    [
        ("b", "claim_precision", "There is no fever.", True, "said", "all"),
        ("b", "claim_precision", "She smokes.", False, None, "all"),
        ("b", "claim_precision", "The cough is dry.", None, None, "all"),
        ("b", "claim_recall", "Fever is denied.", False, "not there", "plan"),
        ("b", "citation_recall", "No fever.", True, None, "all"),
        ("b", "citation_precision", "Dry cough. [2]", False, None, "all"),
        ("b", "citation_precision", "She flew to Rome. [0]", True, None, "all"),
    ],
    columns=["system", "metric", "text", "value", "reason", "item"],
).astype({"value": float})
GROUNDED = pd.DataFrame(
    [
        ("b", "There is no fever.", "contradicted", "all", "It says 38.5."),
        ("b", "The cough is dry.", "supported", "all", None),
        ("b", "She smokes.", "absent", "all", None),
        ("b", "", None, "all", None),
    ],
    columns=["system", "text", "verdict", "item", "reason"],
)
OUTPUT = "Dry cough. No fever."


def shown(reference: str | None = "Fever denied. Well.", citing: tuple[str, ...] = ("b",)) -> dict:
    document = Document("d", ("unit",), reference, outputs={"b": OUTPUT})
    return document_data(document, ["a", "b"], citing, CLAIMS, GROUNDED)


def test_claims_are_shown_at_their_sentence_in_the_order_of_the_text() -> None:
    (output,) = shown()["outputs"].values()
    cough, fever = 0, 2  # segments; the blank between the sentences is one
    assert output["text"] == [("Dry cough.", 1), (" ", 0), ("No fever.", 1)]
    assert output["own"] == [
        ["The cough is dry.", None, cough, "all", None],
        ["There is no fever.", 1, fever, "all", "said"],
        ["She smokes.", 0, None, "all", None],
    ]
    assert output["recalled"] == [["Fever is denied.", 0, 0, "plan", "not there"]]
    assert output["statements"] == [["No fever.", 1, fever, "all", None]]
    assert output["marks"] == [[cough, 2, 0], [None, 0, 1]]


def test_documents_that_no_judge_read_are_shown_without_work_for_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which took 20 ms of each: an evaluation of 20,000 short texts by overlap alone took more than six minutes."""
    monkeypatch.setattr(pd.DataFrame, "to_dict", lambda *_: pytest.fail("an empty table is converted"))
    none = typed([], VERDICTS)
    shown = document_data(Document("d", ("unit",), "Well.", outputs={"b": OUTPUT}), ["a", "b"], ["b"], none, none)
    assert shown["outputs"][1]["own"] == shown["outputs"][1]["marks"] == [] and "grounded" not in shown["outputs"][1]


def test_claims_against_the_source_have_verdicts_of_their_own() -> None:
    (output,) = shown()["outputs"].values()
    cough, fever = 0, 2
    assert output["grounded"] == [
        ["The cough is dry.", 1, cough, "all", None],
        ["There is no fever.", 0, fever, "all", "It says 38.5."],
        ["She smokes.", 2, None, "all", None],
    ]
    (alone,) = shown(reference=None)["outputs"].values()
    assert alone["grounded"] == output["grounded"], "no reference is needed"


COMPARISON = {
    "system_a": "a", "system_b": "b", "stage": "doclens", "condition": "c", "item": "all", "metric": "claim_recall",
    "a": 0.5, "b": 0.75, "difference": 0.25, "low": 0.1, "high": 0.4, "p": 0.01, "changed": True, "n": 9,
    "failed_a": 0, "failed_b": 0, "failed_both": 0, "bound_low": 0.25, "bound_high": 0.25, "note": "",
}  # fmt: skip
UNSCORED = {
    "document": "d1",
    "system": "a",
    "method": "doclens",
    "step": "claims",
    "reason": "<b>no reply</b>",
    "detail": "x",
}


@pytest.fixture(scope="module")
def page() -> str:
    metrics = metric_table(
        {"metric": "claim_recall", "system": "a", "value": 0.5, "low": 0.25, "high": 0.75},
        {"metric": "claim_recall", "system": "b", "value": 0.875, "low": 0.875, "high": 0.875},
        {"metric": "words", "system": "a", "value": 3.5, "low": 0.5, "high": 4.0},
    )
    tables = {
        "metrics": metrics,
        "comparisons": pd.DataFrame([COMPARISON, COMPARISON | {"metric": "words", "changed": False}]),
        "unscored": pd.DataFrame([UNSCORED]),
    }
    documents = [Document("d1", ("Cough.",), "Coughs.", outputs={"a": "He coughs. </script>", "b": "Well."})]
    models = {"judge": "rules (simulator's rules)", "answerer": "gpt"}
    return render_evaluation("<i>Mine</i>", documents, [], tables, systems=["a", "b"], models=models)


def test_texts_are_escaped(page: str) -> None:
    assert "&lt;i&gt;Mine&lt;/i&gt;" in page and "<i>Mine" not in page
    assert "&lt;b&gt;no reply" in page and "He coughs. </script>" not in page


def test_an_evaluation_that_judged_nothing_has_no_place_for_claims(page: str) -> None:
    assert "All claims and facts" not in page and "uncoloured: without a claim" not in page
    documents = [Document("d1", ("Cough.",), "Coughs.", outputs={"a": "He coughs."})]
    tables = {
        "metrics": metric_table({"metric": "words"}),
        "comparisons": pd.DataFrame(),
        "unscored": pd.DataFrame([UNSCORED]),
    }
    judged = tables | {"claims": typed([], VERDICTS)}
    shown = render_evaluation("mine", documents, [], judged, systems=["a"], models={})
    assert "All claims and facts" in shown and "uncoloured: without a claim" in shown


def test_intervals_of_shares_are_bars_at_least_one_percent_wide(page: str) -> None:
    bars = [(float(left), float(width)) for left, width in re.findall(r"left:\s*([\d.]+)%;\s*width:\s*([\d.]+)%", page)]
    assert {(25.0, 50.0), (87.5, 1.0)} <= set(bars)
    assert all(left + width <= 101 for left, width in bars), "words from 0.5 to 4 have no bar"
    assert "50.0%" in page and "25.0% to 75.0%" in page
