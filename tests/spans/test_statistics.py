"""Table 3 counted by hand on a few notes, and the published figures of span quality to the printed digit."""

import numpy as np
import pandas as pd
import pytest

from schemas.errors import SourceError
from schemas.tables.metrics import METRICS
from tasks.domains.rules import load_rules
from tasks.spans.annotation import spans_table
from tasks.spans.statistics import all_statistics, precision, recall, span_quality
from tests.support.records import records_of, span_row

SYMPTOMS = list(load_rules().symptoms)


def span(record: int, symptom: str, text: str, section: str, version: str = "normal") -> dict[str, object]:
    return span_row(record, version, symptom, text, section=section)


RECORDS = records_of({"cough": "yes", "fever": "high"}, {"cough": "yes"}, {}, {})[["record", *SYMPTOMS]]
SPANS = spans_table(
    [
        span(0, "cough", "a dry cough", "history"),
        span(0, "cough", "coughs", "physical_examination"),
        span(0, "fever", "39 degrees", "physical_examination"),
        span(1, "cough", "no coughing at all", "history"),
        span(2, "fever", "afebrile", "other"),
        span(0, "cough", "cough", "history", "compact"),
        span(9, "cough", "of another set", "history"),
    ]
)
NORMAL, NONE = {"normal": RECORDS[["record"]]}, pd.DataFrame({"step": []})
METRIC_ROWS = all_statistics(SPANS, RECORDS, NORMAL, SYMPTOMS, NONE, seed=7, provenance="test")
VALUES = METRIC_ROWS.set_index(["item", "metric"])["value"]


def test_table_3a_by_hand():
    expected = {
        ("cough", "spans_per_note"): 3 / 4,
        ("all", "spans_per_note"): 5 / 4,
        ("cough", "share_of_spans"): 0.6,
        ("cough", "words_per_span"): (3 + 1 + 4) / 3,
        ("cough", "chars_per_span"): (11 + 6 + 18) / 3,
        ("cough", "share_in_history"): 2 / 3,
        ("fever", "share_in_physical_examination"): 0.5,
        ("fever", "share_in_history"): 0,
        ("all", "share_of_notes_without_spans"): 0.25,
    }
    assert {key: VALUES[key] for key in expected} == pytest.approx(expected)
    assert np.isnan(VALUES["pain", "words_per_span"]) and VALUES["pain", "spans_per_note"] == 0


def test_table_3b_counts_notes_that_do_not_mention_the_symptom_too():
    expected = {
        ("cough=yes", "share_of_notes_mentioning"): 1,
        ("cough=yes", "spans_per_note"): 1.5,
        ("cough=no", "spans_per_note"): 0,
        ("fever=none", "share_of_notes_mentioning"): 1 / 3,
        ("fever=high", "spans_per_note"): 1,
    }
    assert {key: VALUES[key] for key in expected} == pytest.approx(expected)
    assert METRIC_ROWS.set_index(["item", "metric"]).loc[("fever=none", "spans_per_note"), "n"] == 3


def test_each_version_is_counted_over_the_records_that_have_it():
    notes = {"normal": RECORDS[["record"]], "compact": RECORDS[["record"]].head(2)}
    unscored = pd.DataFrame({"step": ["extract", "map", "compact"]})
    rows = all_statistics(SPANS, RECORDS, notes, SYMPTOMS, unscored, seed=7, provenance="test")
    METRICS.validate(rows)
    compact = rows[(rows["condition"] == "compact") & (rows["metric"] == "spans_per_note")].set_index("item")
    assert compact.loc["all", "value"] == 0.5 and set(compact["unscored"]) == {2}
    assert set(rows.loc[rows["condition"] == "normal", "unscored"]) == {1}


def test_precision_and_recall_count_an_empty_note_as_one():
    assert precision([8, 0, 2], [2, 0, 2]).tolist() == [0.75, 1, 0]
    assert recall([8, 0, 2, 0], [2, 0, 2, 0], [2, 0, 0, 4]).tolist() == [0.75, 1, 1, 0]


def test_manual_counts_that_do_not_fit_are_named():
    good = {f"{v}_{c}": [3] for v in ("normal", "compact") for c in ("extracted", "missing", "incorrect")}
    with pytest.raises(SourceError, match="compact_missing"):
        span_quality(pd.DataFrame(good).drop(columns="compact_missing"), seed=7, system="x", provenance="x")
    with pytest.raises(SourceError, match="normal note: counts do not fit"):
        span_quality(pd.DataFrame({**good, "normal_incorrect": [4]}), seed=7, system="x", provenance="x")
