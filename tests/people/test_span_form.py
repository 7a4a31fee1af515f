"""The manual evaluation of spans: form, returned files, precision and recall."""

import pandas as pd
import pytest

from schemas.errors import SourceError
from schemas.tables.metrics import METRICS
from schemas.tables.people import SPAN_REVIEW_NOTES
from tasks.people.span_form import SpanForm, assertion_rows, counts_by_note, symptom_rows
from tasks.spans.statistics import span_quality
from tests.support.span_review import FORM, SPAN_TABLE, SYMPTOMS, checked, drawn, returned


def read(**files: str) -> pd.DataFrame:
    return FORM.counts({f"{name}.json": text for name, text in files.items()})


def test_a_form_has_both_versions_of_each_note_and_changes_with_its_phrases() -> None:
    notes = SPAN_REVIEW_NOTES.validate(drawn())
    assert notes["version"].tolist() == ["normal", "compact"] * 2
    assert FORM.filled({}, "clinician").count('"record": "') == 4
    assert FORM.id != SpanForm(notes, SPAN_TABLE.iloc[1:], SYMPTOMS).id


def test_precision_and_recall_of_each_note_are_averaged_as_published() -> None:
    counts = counts_by_note(read(a=returned()))
    rows = METRICS.validate(span_quality(counts, seed=1, system="annotator", provenance="p", stage="span_review"))
    found = rows.set_index(["condition", "metric"])["value"]
    assert found["normal", "precision"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["normal", "recall"] == 1
    assert found["compact", "recall"] == pytest.approx((1 / 2 + 0) / 2)
    assert found["compact", "precision"] == 1  # a note without a phrase counts as 1


def test_a_note_with_one_version_checked_is_not_counted() -> None:
    half = returned(checked("3/normal"))
    assert counts_by_note(read(a=half)) is None
    assert counts_by_note(read()) is None
    assert symptom_rows(read(), provenance="p").empty


def test_two_readers_of_a_note_are_averaged() -> None:
    kind = returned(checked("3/normal"), checked("3/compact"), signature="b")
    counts = counts_by_note(read(a=returned(signature="a"), b=kind))
    assert counts.loc[3, "normal_incorrect"] == 0.5 and counts.loc[3, "compact_missing"] == 0.5
    assert counts.loc[8, "compact_missing"] == 1
    rows = symptom_rows(read(a=returned()), provenance="p").set_index(["condition", "item", "metric"])["value"]
    assert rows["normal", "cough", "incorrect_phrases"] == 1
    assert rows["compact", "fever", "missing_phrases"] == 2


def test_corrected_assertions_are_a_share_of_the_phrases_that_are_right() -> None:
    note = checked("3/normal", incorrect=[2], corrected=[{"span": 1, "assertion": "absent"}])
    asserted = FORM.assertions({"a.json": returned(note)})
    assert asserted["right"].tolist() == [True, False]  # the dog's cough is no phrase
    (row,) = METRICS.validate(assertion_rows(asserted, provenance="p")).to_dict("records")
    assert (row["condition"], row["value"], row["metric"]) == ("assertion, normal", 0.5, "right")
    assert assertion_rows(FORM.assertions({}), provenance="p").empty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a file of the span form"),
        (returned(form="0" * 12), "is of form vignette-spans 000000000000, expected"),
        (returned(checked("4/normal")), "unknown text 4/normal"),
        (returned(checked("3/normal", incorrect=[3])), "expected different numbers below 3"),
        (
            returned(checked("8/normal", missing=[("cough", 5, 99)])),
            "missing phrase cough 5-99 is not a part of the note",
        ),
        (returned(checked("8/normal", missing=[("fever", 0, 14)])), "phrase fever 0-14 is twice"),
        (
            returned(checked("8/normal", corrected=[{"span": 1, "assertion": "past"}])),
            "expected different phrases with an assertion",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read(a=text)
