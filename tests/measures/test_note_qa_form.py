"""Clinicians' revisions of questions are checked, applied and counted; the user's MIMIC-IV notes are read."""

import json
import re

import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.errors import SourceError
from schemas.tables.metrics import METRICS
from schemas.tables.note_qa import QUESTIONS
from tasks.measures.declared import Unit
from tasks.measures.note_qa.form import CATEGORIES, QuestionForm, count_revisions, review_counts, revise
from tasks.measures.note_qa.measure import MEASURE
from tasks.texts.document import SOURCE
from tests.support.qa import questions_by_hand
from tests.support.returned import file_of, kept

FORM = QuestionForm(questions_by_hand())


def _review(rater: str = "a", **changes) -> dict:
    return json.loads(file_of(FORM, rater, questions=kept(questions_by_hand()))) | changes


def _read(*files: dict):
    return FORM.reviews({f"{i}.json": json.dumps(f) for i, f in enumerate(files)})


def test_revisions_are_counted_as_the_paper_counts_them_and_applied():
    file = _review()
    first, second, third = file["questions"]
    first["decision"] = "remove"
    second["wording"] = "What does the last note say of cough?"
    second["choices"][0] = "Dry cough at night"  # A is right
    third["choices"][3] = "No cough this year"
    third["choices"][4] = "No fever this year"
    reviews = _read(file)
    questions = questions_by_hand()
    assert count_revisions(questions, reviews) == {
        "reviewed": 3,
        "removed": 1,
        "questions_revised": 1,
        "right_choices_revised": 1,
        "distractors_revised": 2,
    }
    revised = check(revise(questions, reviews), QUESTIONS, "revised")
    assert list(revised["question"]) == ["p1/generated/2", "p2/generated/1"]
    assert revised["wording"].iloc[0] == "What does the last note say of cough?"
    rows = check(review_counts(questions, reviews, seed=1, provenance="p"), METRICS, "counts")
    assert set(rows["n"]) == {len(questions)} and not rows["unscored"].any()


def test_taking_another_choice_for_the_right_one_revises_the_answer_and_one_distractor():
    file = _review()
    file["questions"][0]["answer"] = "B"
    counts = count_revisions(questions_by_hand(), _read(file))
    assert (counts["right_choices_revised"], counts["distractors_revised"]) == (1, 1)


def test_choices_of_a_removed_question_need_not_differ():
    file = _review()
    file["questions"][0].update(decision="remove", choices=["same"] * 5)
    assert count_revisions(questions_by_hand(), _read(file))["removed"] == 1


def test_questions_that_nobody_reviewed_stay():
    file = _review()
    file["questions"] = file["questions"][:1]
    assert len(revise(questions_by_hand(), _read(file))) == 3
    assert len(revise(questions_by_hand(), {})) == 3


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: f["questions"][0].update(record="p9"), "unknown question p9"),
        (lambda f: f["questions"].append(f["questions"][0]), "in the file twice"),
        (lambda f: f["questions"][0]["choices"].__setitem__(0, " "), "choices are empty or the same"),
        (
            lambda f: f["questions"][0].update(answer="F"),
            "form (question p1/generated/1, answer: Input should be",
        ),
    ],
)
def test_a_damaged_file_is_refused_by_name(damage, message):
    file = _review()
    damage(file)
    with pytest.raises(SourceError, match=re.escape(message)):
        _read(file)


def test_two_files_may_share_a_question_only_when_they_agree():
    other = _review("b")
    assert len(_read(_review(), other)) == 3
    other["questions"][1]["wording"] = "Another question?"
    with pytest.raises(SourceError, match="another file revises it differently"):
        _read(_review(), other)


def test_the_question_form_holds_the_notes_and_nothing_from_outside():
    notes = pd.DataFrame(
        [(p, "normal", 0, p, "2024-01-02", "<b>note</b>", 3) for p in ("p1", "p2")],
        columns=["patient", "version", "position", "note_id", "date", "note", "tokens"],
    )
    html = FORM.filled(notes, "a")
    assert "<b>note" not in html and "\\u003cb\\u003enote" in html
    assert not re.findall(r"(?:src|href)\s*=\s*[\"'](?:https?:)?//", html)


def test_categories_are_shares_of_the_kept_questions_that_have_one():
    file = _review()
    first, second, third = file["questions"]
    first["decision"], first["category"] = "remove", CATEGORIES[0]
    second["category"], third["category"] = CATEGORIES[0], CATEGORIES[1]
    rows = review_counts(questions_by_hand(), _read(file), seed=1, provenance="p")
    found = rows[rows["metric"] == "category_share"].set_index("item")
    assert found["value"].to_dict() == {one: 0.5 if one in CATEGORIES[:2] else 0 for one in CATEGORIES}
    assert set(found["n"]) == {2} and set(rows["condition"]) == {"generated"}
    third["category"] = second["category"] = ""
    rows = review_counts(questions_by_hand(), _read(file), seed=1, provenance="p")
    assert "category_share" not in set(rows["metric"])


ANSWERS = pd.DataFrame(
    [
        ("q1", "qa_free_text", SOURCE, "Yes.", 1.0),
        ("q1", "qa_free_text", "b", "No.", 0.5),
        ("q1", "qa_multiple_choice", "b", "", None),
    ],
    columns=["unit", "metric", "system", "text", "value"],
).assign(document="d")
ASKED = pd.DataFrame({"question": ["q1"], "wording": ["Cough?"], "choices": ['["no", "yes"]'], "answer": ["B"]})


def test_an_answer_accepted_by_most_takes_is_right() -> None:
    assert MEASURE.panel is not None
    b = {"document": "d", "system": "b", "text": "Cough?"}
    free, chosen = MEASURE.panel.units({"answers": ANSWERS, "questions": ASKED})
    assert free == Unit(**b, verdict=0, section="free text", note="answer: No.; right: yes (free text)")
    assert chosen == Unit(**b, verdict=None, section="multiple choice", note="no answer; right: yes (multiple choice)")
    refused = ANSWERS.assign(value=ANSWERS["value"].mask(ANSWERS["system"] == SOURCE, 0.0))
    note = next(iter(MEASURE.panel.units({"answers": refused, "questions": ASKED}))).note
    assert note.endswith("(free text, wrong from the source as well)")
