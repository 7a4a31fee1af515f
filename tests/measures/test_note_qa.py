"""Note question answering: patients, questions with known truth, answers, judging, scores, the paper's protocol."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from flows.runtime.tables import check
from schemas.params.measures import NoteQa
from schemas.tables.note_qa import LETTERS, PATIENT_NOTES, QUESTIONS
from schemas.tables.verdicts import LOST, verdict_table
from tasks.llm.calls import Call
from tasks.measures.note_qa.answering import answer, judge_call, judge_outputs
from tasks.measures.note_qa.metrics import effect_rows, mode_ranks, question_metrics
from tasks.measures.note_qa.patients import (
    compatible,
    estimated_tokens,
    level,
    simulated_patients,
    stated_traits,
)
from tasks.measures.note_qa.planted import further_answers
from tasks.measures.note_qa.questions import (
    AnswerChoices,
    AskedQuestion,
    generated_questions,
    grounded_share,
    in_random_order,
    paper_questions,
    question_rows,
    read_choices,
    read_question,
    unfit,
)
from tasks.measures.note_qa.truth_questions import UNKNOWN, truth_questions
from tests.golden.requests import CHOICES, LAYOUTS, PATIENT, printed_layout
from tests.support.cases import each, from_table
from tests.support.params import shipped
from tests.support.qa import LABELS, PARAMS, lineage
from tests.support.scripted import ScriptedAsk

ABOUT: dict[str, Any] = {"stage": "note_qa", "seed": 7, "provenance": "rules"}
SYNONYMS = [["dry", "severe"]]
PAPER = NoteQa(protocol="paper")


@pytest.fixture(scope="module")
def made():
    """Patients, questions and choices of the small lineage."""
    prompts, notes, compact, spans = lineage()
    patients = simulated_patients(prompts, notes, compact, PARAMS, seed=7)
    questions, wordings = truth_questions(prompts, patients, spans, PARAMS, LABELS, SYNONYMS, seed=7)
    return SimpleNamespace(prompts=prompts, patients=patients, questions=questions, wordings=wordings, spans=spans)


def test_levels_are_those_of_the_paper():
    assert [level(n, [3500, 7500]) for n in (1, 3500, 3501, 7500, 7501)] == [1, 1, 2, 2, 3]


def test_token_estimate_grows_with_the_text():
    assert estimated_tokens("") == 0
    assert estimated_tokens("The patient denies cough.") == 5


@from_table
def test_notes_that_contradict_each_other_are_not_of_one_patient(one: str, other: str, agree: bool):
    assert compatible(stated_traits(one), [stated_traits(other)]) is agree


def test_a_patient_s_notes_fit_together_and_their_ids_ascend_with_their_dates():
    prompts, notes, compact, _ = lineage(records=80)
    jobs = ["Works at a desk.", "Works in a warehouse."]
    notes = notes.assign(note=[f"{note} {jobs[record % 2]}" for record, note in enumerate(notes["note"])])
    patients = simulated_patients(prompts, notes, compact, PARAMS, seed=7)
    assert patients["patient"].nunique() == sum(PARAMS.patients_by_notes)
    for _, own in patients[patients["version"] == "normal"].sort_values("position").groupby("patient"):
        ids = own["note_id"].astype(int).tolist()
        assert len({number % 2 for number in ids}) == 1 and ids == sorted(ids)
        assert own["date"].is_monotonic_increasing


def test_the_right_choice_follows_from_the_record(made):
    check(made.questions, QUESTIONS, "questions")
    by_record = made.prompts.set_index("record")
    normal = made.patients[made.patients["version"] == "normal"]
    seen = 0
    for row in made.questions[made.questions["kind"] == "findings"].itertuples():
        named = np.array([date in row.wording for date in normal["date"]])
        own = normal[(normal["patient"] == row.patient) & named]
        prompt = by_record.loc[int(own["note_id"].iloc[0])]
        right = json.loads(row.choices)[LETTERS.index(row.answer)].lower()
        asked = [name for name in LABELS if f"{LABELS[name]}" in row.wording.lower().split("about")[1]]
        mentioned = json.loads(prompt["mention"])
        assert row.answerable == all(name in mentioned for name in asked)
        for name in asked if row.answerable else []:
            value = json.loads(prompt["values"])[name]
            wanted = (
                f"no {LABELS[name]}"
                if value in ("no", "none")
                else f"{value} fever"
                if name == "fever"
                else LABELS[name]
            )
            assert wanted in right
            seen += 1
    assert seen > 6


def test_questions_on_several_visits_name_their_dates_and_are_answered_from_their_records(made):
    by_record = made.prompts.set_index(made.prompts["record"].astype(str))
    normal = made.patients[made.patients["version"] == "normal"].sort_values("position")
    visits = {
        patient: list(zip(own["date"], own["note_id"], strict=True)) for patient, own in normal.groupby("patient")
    }
    of_two = 0
    for row in made.questions[
        made.questions["kind"].isin(["change", "visit"]) & made.questions["answerable"]
    ].itertuples():
        label = next(name for name, label in LABELS.items() if label in row.wording)
        values = [json.loads(by_record.loc[note, "values"])[label] for _, note in visits[row.patient]]
        dates = [date for date, _ in visits[row.patient]]
        right = json.loads(row.choices)[LETTERS.index(row.answer)]
        of_two += len(dates) == 2
        if row.kind == "visit":
            assert [date in right for date in dates] == [value not in ("no", "none") for value in values]
        else:
            first = next(at for at in range(len(dates) - 1) if f"visit of {dates[at]} to" in row.wording)
            assert row.wording.endswith(f"to the visit of {dates[first + 1]}?")
            assert ("at both visits" in right) == (values[first] == values[first + 1])
    assert of_two


def test_every_question_has_five_different_choices_and_offers_not_told(made):
    for row in made.questions.itertuples():
        choices = json.loads(row.choices)
        assert len(set(choices)) == 5
        assert (choices[LETTERS.index(row.answer)] == UNKNOWN) == (not row.answerable)
        assert UNKNOWN in choices
    assert set(made.questions["answerable"]) == {True, False}
    assert len(set(made.questions["answer"])) > 2  # the right letter varies


def test_without_unanswerable_questions_no_choice_says_not_told():
    prompts, notes, compact, spans = lineage()
    params = PARAMS.model_copy(update={"unanswerable_share": 0.0})
    patients = simulated_patients(prompts, notes, compact, params, seed=7)
    questions, _ = truth_questions(prompts, patients, spans, params, LABELS, SYNONYMS, seed=7)
    assert len(questions) and questions["answerable"].all()
    assert not questions["choices"].str.contains(UNKNOWN).any()


def test_a_symptom_that_a_span_touches_on_is_never_asked_as_unanswerable(made):
    touched = pd.DataFrame([(r, s) for r in made.prompts["record"] for s in LABELS], columns=["record", "symptom"])
    questions, _ = truth_questions(made.prompts, made.patients, touched, PARAMS, LABELS, SYNONYMS, seed=7)
    assert questions["answerable"].all()


def failing_first(text: str) -> ScriptedAsk:
    """Fails the first call, and gives a constant answer to the others."""
    said = iter([TimeoutError("timeout")])
    return ScriptedAsk(lambda _: next(said, text))


def test_a_failed_or_unparsable_verdict_is_counted_and_never_scored(made):
    outputs = made.questions.head(3)[["patient", "question"]].assign(version="normal", form="free_text")
    outputs = outputs.assign(output="x", letter=None)
    found, unscored = asyncio.run(judge_outputs(outputs, made.questions, 1, failing_first("Yes, it does")))
    assert found["value"].fillna(-1).tolist() == [-1, 1, 1] and [row["reason"] for row in unscored] == ["timeout"]
    table = question_metrics(made.questions, made.patients, found, **ABOUT).query("item == 'all'").set_index("metric")
    assert table.loc["score", ["value", "n", "unscored"]].tolist() == [1, 2, 1]
    assert table.loc["score_bounds", ["low", "high", "n"]].tolist() == [pytest.approx(2 / 3), 1, 3]
    found, unscored = asyncio.run(judge_outputs(outputs, made.questions, 1, failing_first("Perhaps")))
    assert found["value"].isna().all() and [row["reason"] for row in unscored] == [
        "timeout",
        *["neither yes nor no"] * 2,
    ]
    assert unscored[1]["detail"] == "Perhaps"


def test_a_question_without_an_answer_has_a_failed_verdict_by_letter_and_by_judge(made):
    outputs = made.questions.head(1)[["patient", "question"]].assign(version="normal", form="multiple_choice")
    ask = ScriptedAsk(lambda _: "yes")
    found, unscored = asyncio.run(judge_outputs(outputs.assign(output=None, letter=None), made.questions, 2, ask))
    assert ask.calls == [] and unscored == [] and found["value"].isna().all()
    assert list(zip(found["metric"], found["unit"], strict=True)) == [("accuracy", "letter"), ("score", LOST)]


def two_steps(call: Call) -> AskedQuestion | AnswerChoices:
    """A question, then unfit choices, then fit ones."""
    if call.reply is AskedQuestion:
        return AskedQuestion(question="What was charted?", answer="Cough", reason="it stands there")
    texts = dict(zip(LETTERS, ["Cough", "Rash" if call.sample else "Cough", "a", "b", "c"], strict=True))
    return AnswerChoices(**texts, correct="A", reason="r")


def test_unfit_choices_are_asked_for_again_and_the_question_is_kept_when_they_fit(made):
    ask = ScriptedAsk(two_steps)
    one = made.patients[made.patients["patient"] == "p001"]
    questions, unscored = asyncio.run(generated_questions(one, PARAMS, ask, seed=7))
    assert [call.sample for call in ask.calls[1:]] == [0, 1] and len(questions) == 1 and unscored == []
    (row,) = questions.itertuples()
    assert json.loads(row.choices)[LETTERS.index(row.answer)] == "Cough" and row.provenance == "scripted"


def test_choices_that_never_fit_drop_the_question_and_count_it(made):
    one = made.patients[made.patients["patient"] == "p001"]
    params = PARAMS.model_copy(update={"generation_attempts": 1})
    questions, unscored = asyncio.run(generated_questions(one, params, ScriptedAsk(two_steps), seed=7))
    assert questions.empty and [row["reason"] for row in unscored] == ["two choices are the same"]


def test_choices_are_shuffled_by_question_and_seed_and_the_letter_of_the_right_one_follows():
    texts = dict(zip(LETTERS, ["Cough", "Rash", "Chills", "Fever", "Nausea"], strict=True))
    written = AnswerChoices(**texts, correct="b", reason="r")
    shuffled = [in_random_order(written, f"p{i}/generated/1", 7) for i in range(500)]
    assert all(sorted(one.texts) == sorted(written.texts) for one in shuffled)
    assert all(one.texts[LETTERS.index(one.correct)] == "Rash" for one in shuffled)
    counts = pd.Series([one.correct for one in shuffled]).value_counts()
    assert set(counts.index) == set(LETTERS) and counts.between(60, 140).all()  # 100 +- 4.5 standard deviations
    assert in_random_order(written, "p1/generated/1", 7) == shuffled[1]
    assert [in_random_order(written, f"p{i}/generated/1", 8) for i in range(500)] != shuffled


def test_an_answer_without_a_final_line_is_unscored_by_its_letter_and_is_still_judged(made):
    own = PARAMS.model_copy(update={"versions": ["normal"], "free_text": False})
    params = shipped().model_copy(update={"note_qa": own})
    asked = made.questions.head(4)
    replies = iter(["I think B.", *(f"Answer: {letter}" for letter in asked.sort_values("question")["answer"][1:])])
    frames, ask = {"questions": asked, "patients": made.patients}, ScriptedAsk(lambda _: next(replies))
    answers, failed = asyncio.run(answer(frames, lambda _: ask, params)).values()
    assert len(answers) == 4 and answers["letter"].isna().sum() == 1
    assert [(row["step"], row["reason"], row["detail"]) for row in failed.to_dict("records")] == [
        ("note_qa/letter/multiple_choice/normal", "no last line with a letter", "I think B.")
    ]
    judged, _ = asyncio.run(judge_outputs(answers, asked, 1, ScriptedAsk(lambda _: "no")))
    table = question_metrics(asked, made.patients, judged, **ABOUT).query("system == 'answerer' and item == 'all'")
    rows = {row.metric: (row.value, row.n, row.unscored) for row in table.itertuples()}
    assert rows["accuracy"] == (1, 3, 1) and rows["score"] == (0, 4, 0)
    assert {"accuracy_bounds"} == {name for name in rows if name.endswith("bounds")}


@from_table
def test_unfit_choices_have_a_reason(choices: list[str], right: str, reason: str | None) -> None:
    assert unfit(choices, right) == reason


def test_lengths_and_grounding_of_choices() -> None:
    """The right choice is the longest of one question in two; the shortest has a quarter of its letters, or half."""
    choices = [json.dumps([right, "b", "c", "d", "no"]) for right in ("aaaa", "bb")]
    questions = pd.DataFrame({"patient": "p", "origin": "o", "choices": choices, "answer": "A"})
    notes = pd.DataFrame({"patient": ["p"], "version": "normal", "note": "x"})
    found = {row["metric"]: row["value"] for row in question_rows(questions, notes)}
    assert (found["right_is_longest"], found["length_ratio"]) == (0.5, (1 / 4 + 1 / 2) / 2)
    assert grounded_share("The dry cough was of 38.5", "Cough; temp 38.5.") == pytest.approx(2 / 3)
    assert grounded_share("was the", "x") == 1


def judged_cases(*rows: tuple[str, str | None, float | None, list[int]]) -> pd.DataFrame:
    """VERDICTS from rows of question, variant of a planted answer, truth, and the judge's takes."""
    return verdict_table(
        (
            {"document": f"p/truth/{name} {variant or ''}".strip(), "system": "planted" if variant else "answerer"}
            | {"condition": "c", "item": "all", "metric": "score", "unit": str(take), "text": ""}
            | {"kind": variant, "truth": truth, "value": value}
            for name, variant, truth, takes in rows
            for take, value in enumerate(takes)
        ),
        judge="j",
    )


def of_the_judge(cases: pd.DataFrame) -> pd.DataFrame:
    questions = pd.DataFrame(columns=list(QUESTIONS.columns))
    notes = pd.DataFrame(columns=list(PATIENT_NOTES.columns))
    rows = question_metrics(questions, notes, cases, **ABOUT)
    return rows[rows["system"] == "judge"].set_index(["metric", "item"])


def test_the_judge_is_right_where_its_verdict_agrees_with_the_letter() -> None:
    answers = [
        ("1", None, 1, [1, 0]),  # two takes on a right answer
        ("2", None, 0, [0]),  # a wrong answer, found wrong
        ("3", None, 0, [1]),  # a wrong answer, found right
        ("4", None, None, [1]),  # an answer without a letter
    ]
    row = of_the_judge(judged_cases(*answers)).loc["accuracy", "answers"]
    assert (row["value"], row["n"]) == (pytest.approx((0.5 + 1 + 0) / 3), 3)
    assert of_the_judge(judged_cases(answers[-1])).empty


PARTS = {
    "Headache and fever": {"Headache.", "Fever."},
    "No pain at first, then severe pain": {"No pain at first."},
    "At the visits of 2026-05-03 and 2026-05-10 and 2026-05-17": {"At the visits of 2026-05-03 and 2026-05-10."},
    "At the visits of 2026-05-03 and 2026-05-10": {"At the visit of 2026-05-03."},
    "For 12 days": set(),
}
"""Right answers, and what is a part of each."""


def test_a_card_has_answers_that_are_right_in_part_name_two_choices_or_another_number() -> None:
    found, wrong = dict[str, set[str]](), "Nothing of this"
    for seed in range(8):
        asked = [(name, json.dumps([wrong, right]), "B") for name, right in enumerate(PARTS)]
        questions = pd.DataFrame(asked, columns=["question", "choices", "answer"])
        further = further_answers(questions.assign(patient="p"), questions, seed=seed)
        assert set(further["right"]) == {False} and set(further["form"]) == {"free_text"}
        for name, right in enumerate(PARTS):
            own = further[further["question"] == name].set_index("variant")["output"]
            assert own["two answers"] == f"Either {right} or {wrong}."
            assert ("wrong in a number" in own) == right.startswith("For"), "a date is none"
            assert own.get("wrong in a number") != f"{right}."
            found.setdefault(right, set()).update(own[own.index == "right in part"])
    assert found == PARTS


def test_the_judge_of_planted_answers_by_hand() -> None:
    takes = {"1": [1], "2": [0, 0, 1], "3": [1, 1, 0], "4": [0], "5": [0, 1]}
    cases = [(name, *(("right", 1) if name in "12" else ("wrong", 0)), given) for name, given in takes.items()]
    found = of_the_judge(judged_cases(*cases, ("1", None, 1, [0])))[["value", "n"]].T
    assert list(found["accuracy", "planted"]) == [pytest.approx((1 + 1 / 3 + 1 / 3 + 1 + 0.5) / 5), 5]
    assert list(found["accuracy", "planted: right"]) == [pytest.approx((1 + 1 / 3) / 2), 2]
    assert list(found["sensitivity", "planted"]) == [0.5, 2], "of 1 and 2, 1 is found right by most takes"
    assert list(found["specificity", "planted"]) == [pytest.approx(2 / 3), 3], (
        "3 is found right by most takes, 5 by half"
    )


def test_rank_changes_use_the_smallest_rank_of_a_tie_and_the_modal_rank_as_reference():
    scores = pd.DataFrame({1: [90, 80, 80], 2: [90, 80, 70], 3: [80, 90, 70]}, index=["a", "b", "c"])
    modes, changes = mode_ranks(scores)  # of ranks 1, 1, 2; 2, 2, 1; 2, 3, 3
    assert modes.tolist() == [1, 2, 3] and changes == 3


def test_the_effect_of_a_further_note_is_the_slope():
    scored = pd.DataFrame(
        {
            "score": [0.9, 0.8, 0.7] * 4,
            "notes": [1, 2, 3] * 4,
            "tokens": [10, 20, 30] * 4,
            "patient": range(12),
        }
    )
    rows = {(row["item"], row["metric"]): row["value"] for row in effect_rows(scored)}
    assert rows["notes", "score_change_a_note"] == pytest.approx(-0.1)
    assert rows["tokens", "spearman_with_score"] == pytest.approx(-1)


def test_two_steps_at_temperature_1_give_a_question_with_choices():
    ask = ScriptedAsk(printed_layout)
    questions, unscored = asyncio.run(paper_questions(PATIENT, PAPER, ask, seed=7))
    (row,) = check(questions, QUESTIONS, "questions").itertuples()
    assert (row.wording, row.notes) == ("What cough did the patient have?", 2) and unscored == []
    assert json.loads(row.choices)[LETTERS.index(row.answer)] == "A dry cough"
    first, second = ask.calls
    assert {call.temperature for call in ask.calls} == {1.0}
    assert "[note 2 start]\nAdmission ID: 42\nChart date: 2022-06-12" in first.messages[-1].content
    assert "A dry cough." not in second.messages[-1].content  # the answer of the first step is not shown


def test_a_reply_in_another_layout_is_unscored_and_costs_no_second_step():
    ask = ScriptedAsk(lambda _: "What a lovely note.")
    questions, unscored = asyncio.run(paper_questions(PATIENT, PAPER, ask, seed=7))
    assert questions.empty and len(ask.calls) == 1
    assert [row["reason"] for row in unscored] == ["no question in the printed layout"]


@each(
    "reply",
    [
        LAYOUTS["choices"],
        LAYOUTS["choices"].replace("- Correct Answer: A", "**Correct Answer:** A: A dry cough"),
        LAYOUTS["choices"].replace("\n", "\n  - "),
        LAYOUTS["choices"].replace("\n", "\n• ").replace("- Question", "1. Question"),
        LAYOUTS["choices"] + "\nB: is of another visit.\nC: is denied.",
    ],
)
def test_choices_are_read_with_bullets_bold_type_and_reasons_by_letter(reply):
    choices = read_choices(reply)
    assert choices is not None and (choices.texts, choices.correct) == (CHOICES, "A")


def test_four_choices_or_no_letter_are_no_choices():
    assert read_choices(LAYOUTS["choices"].replace("E: A sore throat\n", "")) is None
    assert read_choices(LAYOUTS["choices"].replace("Answer: A", "Answer: the first")) is None
    assert read_question("- Question: Why?") is None


@each("form, shown", [("multiple_choice", True), ("free_text", False)])
def test_the_judge_sees_output_and_right_answer_but_no_question_and_choices_only_for_multiple_choice(form, shown):
    output = {"question": "q", "form": form, "version": "normal", "variant": "answer", "output": "It was dry."}
    question = {"wording": "What cough?", "choices": '["Dry", "Wet", "None", "Croup", "Fever"]', "answer": "A"}
    call = judge_call(output, question, 3, "paper")
    text = call.messages[-1].content
    assert (call.temperature, call.sample) == (0.0, 3)
    assert "It was dry." in text and "What cough?" not in text and ("Croup" in text) is shown


def test_the_protocol_needs_a_model_and_one_question_a_patient():
    paper, hosted = {"protocol": "paper"}, {"base_url": "http://127.0.0.1:8000/v1", "temperature": None}
    with pytest.raises(ValidationError, match="knows its own prompts only, serves \\['annotator', 'judge'\\]"):
        shipped(note_qa=paper)
    with pytest.raises(ValidationError, match="judge has temperature 0, and roles"):
        shipped(note_qa=paper, roles={"annotator": hosted, "judge": hosted})
    sampled = hosted | {"temperature": 0.7}  # replaced by 0 in each request
    assert shipped(note_qa=paper, roles={"annotator": hosted, "judge": sampled}).note_qa.protocol == "paper"
    with pytest.raises(ValidationError, match="one question a patient"):
        NoteQa(protocol="paper", generated_questions=2)
