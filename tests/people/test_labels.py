"""Returned forms of all kinds, from the files to the calibrated judge."""

import pandas as pd
import pytest

from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import PERSON, VERDICTS
from tasks.judges.human_labels import form_rows
from tasks.measures.note_qa.form import QuestionForm, question_labels
from tasks.people import forms
from tasks.people.rating_agreement import rating_labels
from tasks.people.rating_form import RatingForm
from tasks.people.span_form import span_labels
from tests.support.qa import questions_by_hand
from tests.support.returned import file_of, kept, rated
from tests.support.review import REVIEW, drawn
from tests.support.span_review import FORM, SPAN_TABLE, SYMPTOMS, checked, returned


def shares(labelled: int = 6) -> pd.DataFrame:
    """Ten claims, six of them judged yes, of which people label the first: one as yes."""
    units = [(str(at // 2), f"F{at}") for at in range(10)]
    made = ((*one, "judge m", at >= 4) for at, one in enumerate(units))
    people = ((*one, "a", at == 5) for at, one in enumerate(units[:labelled]))
    return forms.labelled(forms.holding("claims", made), forms.holding("claims", people))


def ratings() -> pd.DataFrame:
    """Three notes; the model gives one penalty, and one of two people another one, which is a tie."""
    form = RatingForm(drawn(), REVIEW.raters)
    penalised = file_of(form, "rater_1", notes=rated(penalties={4: {"1A": ["cough"]}}))
    people = form.verdicts({"a.json": penalised, "b.json": file_of(form, "rater_2", notes=rated())})
    model = people[people["judge"] == "rater_2"].assign(judge="model", kind="model")
    given = (model["document"] == "9") & (model["unit"] == "1B/pain")
    model = model.assign(value=model["value"].mask(given, 0.0))
    return rating_labels(pd.concat([people, model]), "judge m")


def questions() -> pd.DataFrame:
    """The right choice of the first question is corrected, the others are kept."""
    asked = questions_by_hand()
    form = QuestionForm(asked)
    revised = kept(asked)
    revised[0]["answer"] = next(letter for letter in "ABCDE" if letter != revised[0]["answer"])
    return question_labels(asked, form.reviews({"a.json": file_of(form, questions=revised)}), "annotator m")


def spans() -> pd.DataFrame:
    """Two checked records and forty unchecked ones, whose notes mention a cough by the verdicts."""
    wrong, lacks = checked("8/normal", incorrect=[0]), checked("3/compact", missing=[("fever", 11, 15)])
    counts = FORM.counts({"a.json": returned(checked("3/normal"), lacks, wrong, checked("8/compact"))})
    others = pd.concat([SPAN_TABLE.iloc[:1].assign(record=record) for record in range(100, 140)])
    records = pd.Series([3, 8, *range(100, 140)])
    return span_labels(records, pd.concat([SPAN_TABLE, others]), counts, SYMPTOMS, "annotator m")


@pytest.mark.parametrize(
    ("kind", "table", "items", "labelled", "holding"),
    [
        ("claims", shares, 10, 6, 1 / 6),
        ("ratings", ratings, 36, 36, 35 / 36),  # a tie counts against the note
        ("questions", questions, 3, 3, 2 / 3),
        ("spans", spans, 168, 8, 4 / 8),  # two of each version of note 3, and no other
    ],
)
def test_a_returned_form_calibrates_the_verdicts(kind, table, items, labelled, holding) -> None:
    labels = VERDICTS.validate(table())
    rows = METRICS.validate(form_rows(labels, kind, seed=1))
    value, n = (rows.set_index(["item", "metric"])[column] for column in ("value", "n"))
    of_model = labels[labels["kind"] != PERSON]
    assert labels.loc[labels["kind"] == PERSON, "value"].notna().all() and len(of_model) < len(labels)
    assert (len(of_model), value["all", "labelled_items"], n["all", "labelled_items"]) == (items, labelled, items)
    assert value["all", "labelled_share"] == pytest.approx(holding)
    assert pd.isna(value["all", "powered_share"]), "labels of fewer than five notes speak for themselves only"
    assert set(rows["condition"]) == {f"human labels, {kind}"}


def test_labels_move_the_estimate_from_the_verdicts_to_the_truth() -> None:
    labels = shares()
    labels = labels.assign(document=labels["document"] + labels["unit"])  # as if each claim were of another note
    found = form_rows(labels, "claims", seed=1).set_index(["item", "metric"])["value"]
    assert found["all", "judged_share"] == pytest.approx(0.6)
    assert found["all", "powered_share"] < 0.5  # of the six labelled claims the judge held 2 for true, people 1
    rates = (found["all", name] for name in ("sensitivity", "specificity", "precision", "labelled_share"))
    assert tuple(rates) == pytest.approx((1, 4 / 5, 1 / 2, 1 / 6))


def test_a_form_without_returned_files_counts_no_label_and_estimates_nothing() -> None:
    rows = form_rows(shares(labelled=0), "claims", seed=1)
    assert rows[["metric", "value", "n"]].to_numpy().tolist() == [["labelled_items", 0, 10]]
