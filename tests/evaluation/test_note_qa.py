"""Note question answering: patients, questions with known truth, answers, judging, and statistics of the scores."""

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from flows.engine.tables import check
from flows.stages.note_qa import answer_and_judge
from schemas.tables.metrics import METRICS, SCORES, UNSCORED
from schemas.tables.note_qa import ANSWERS, JUDGEMENTS, LETTERS, PATIENT_NOTES, PLANTED, QUESTIONS
from tasks.evaluation.note_qa.answering import named_letter
from tasks.evaluation.note_qa.choice_quality import grounded_share, right_is_longest, unfit
from tasks.evaluation.note_qa.constant_traits import compatible, stated_traits
from tasks.evaluation.note_qa.generated import AnswerChoices, AskedQuestion, generated_questions
from tasks.evaluation.note_qa.judging import judge_outputs
from tasks.evaluation.note_qa.known_truth import truth_questions
from tasks.evaluation.note_qa.metrics import effect_rows, note_qa_metrics, note_qa_scores
from tasks.evaluation.note_qa.patients import simulated_patients
from tasks.evaluation.note_qa.planted import planted_answers
from tasks.evaluation.note_qa.rank_stability import mode_ranks, rank_changes, take_ranks
from tasks.evaluation.note_qa.statements import UNKNOWN
from tasks.evaluation.note_qa.take_score import mean_and_deviation, take_scores
from tasks.evaluation.note_qa.text_length import estimated_tokens, level, reduce_whitespace, token_counter
from tasks.llm.calls import Answer
from tests.support.direct import DirectAsk
from tests.support.qa import LABELS, PARAMS, lineage
from tests.support.recorded import assert_as_recorded


@pytest.fixture(scope="module")
def made():
    """Patients, questions and choices of the small lineage."""
    prompts, notes, compact, spans = lineage()
    patients = simulated_patients(prompts, notes, compact, PARAMS, seed=7)
    questions, wordings = truth_questions(prompts, patients, spans, PARAMS, LABELS, seed=7)
    return SimpleNamespace(prompts=prompts, patients=patients, questions=questions, wordings=wordings, spans=spans)


@pytest.fixture(scope="module")
def answered(made):
    """Answers and verdicts of the simulator on them."""
    planted = planted_answers(made.questions, made.wordings, PARAMS.planted_questions, free_text=True, seed=7)
    frames = {"questions": made.questions, "patients": made.patients, "planted": planted}
    done = asyncio.run(
        answer_and_judge(frames, lambda role: DirectAsk(f"vignette-{role}"), SimpleNamespace(note_qa=PARAMS))
    )  # type: ignore[arg-type]
    return SimpleNamespace(planted=planted, **done)


def test_white_space_goes_and_the_text_stays():
    assert reduce_whitespace("a  b \n\n\t c\r\n d ") == "a b\nc\nd"


def test_levels_are_those_of_the_paper():
    assert [level(n, [3500, 7500]) for n in (1, 3500, 3501, 7500, 7501)] == [1, 1, 2, 2, 3]


def test_token_estimate_grows_with_the_text_and_unknown_counters_are_refused():
    assert estimated_tokens("") == 0
    assert estimated_tokens("The patient denies cough.") == 5
    with pytest.raises(ValueError, match="tiktoken:<encoding>"):
        token_counter("words")


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("Works in a warehouse.", "Works long hours at a desk.", False),
        ("Works in a warehouse.", "Off work from the factory.", True),
        ("Non-smoker.", "Smokes ten cigarettes a day.", False),
        ("No known drug allergies.", "He is allergic to penicillin.", False),
        ("She denies fever.", "He denies fever.", False),
        ("She coughs.", "The patient coughs at work.", True),
        ("Lives alone.", "Lives with two children.", False),
    ],
)
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


def test_patients_have_one_to_three_dated_notes_and_one_set_of_conditions(made):
    notes = check(made.patients, PATIENT_NOTES, "patients")
    normal = notes[notes["version"] == "normal"]
    assert normal.groupby("patient").size().value_counts().to_dict() == {1: 3, 2: 3, 3: 3}
    assert normal["note_id"].is_unique  # no record is used for two patients
    conditions = made.prompts.set_index(made.prompts["record"].astype(str))["conditions"]
    assert (normal.assign(c=normal["note_id"].map(conditions)).groupby("patient")["c"].nunique() == 1).all()
    for _, own in normal.groupby("patient"):
        assert list(own.sort_values("position")["date"]) == sorted(own["date"])


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


def test_a_wrong_descriptor_is_not_in_the_note_unless_it_describes_another_symptom(made):
    by_record = made.prompts.set_index(made.prompts["record"].astype(str))
    normal = made.patients[made.patients["version"] == "normal"]
    rows = made.questions[(made.questions["kind"] == "descriptor") & made.questions["answerable"]]
    assert len(rows)
    for row in rows.itertuples():
        named = np.array([date in row.wording for date in normal["date"]])
        visit = normal[(normal["patient"] == row.patient) & named].iloc[0]
        of_others = set(json.loads(by_record.loc[visit["note_id"], "descriptors"]).values())
        for letter, choice in zip(LETTERS, json.loads(row.choices), strict=True):
            descriptor = choice.removeprefix("As ")
            if letter != row.answer and descriptor in visit["note"]:
                assert descriptor in of_others


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
    questions, _ = truth_questions(prompts, patients, spans, params, LABELS, seed=7)
    assert len(questions) and questions["answerable"].all()
    assert not questions["choices"].str.contains(UNKNOWN).any()


def test_a_symptom_that_a_span_touches_on_is_never_asked_as_unanswerable(made):
    touched = pd.DataFrame([(r, s) for r in made.prompts["record"] for s in LABELS], columns=["record", "symptom"])
    questions, _ = truth_questions(made.prompts, made.patients, touched, PARAMS, LABELS, seed=7)
    assert questions["answerable"].all()


def test_the_same_seed_makes_the_same_questions(made):
    again, _ = truth_questions(made.prompts, made.patients, made.spans, PARAMS, LABELS, seed=7)
    pd.testing.assert_frame_equal(again, made.questions)


@pytest.mark.parametrize(
    ("output", "letter"),
    [
        ("B: No cough", "B"),
        ("(C)", "C"),
        ("The correct answer is D.", "D"),
        ("Answer: E", "E"),
        ("A patient without cough", None),
        ("cough and no fever", "A"),
        ("It is either cough and no fever, or no cough and no fever.", None),
        ("I do not know", None),
    ],
)
def test_the_letter_that_an_answer_names(output, letter):
    choices = ["Cough and no fever", "No cough", "Neither", "No cough and no fever", "The notes do not tell"]
    assert named_letter(output, choices) == letter


def test_the_embedded_answerer_reads_the_notes_and_guesses_without_them(made, answered):
    answers = check(answered.answers, ANSWERS, "answers").merge(made.questions[["question", "answer"]], on="question")
    chosen = answers[answers["form"] == "multiple_choice"]
    right = (chosen["letter"] == chosen["answer"]).groupby(chosen["version"]).mean()
    assert right["normal"] >= 0.9 and right["compact"] >= 0.9
    assert right["none"] <= 0.5


def test_the_judge_is_measured_by_planted_answers_apart_from_the_answerer(answered):
    check(answered.planted, PLANTED, "planted")
    verdicts = check(answered.judgements, JUDGEMENTS, "judgements").query("version == 'planted'")
    merged = verdicts.merge(answered.planted, on=["patient", "question", "form", "variant"])
    assert (merged["verdict"] == merged["right"]).mean() >= 0.95
    assert set(merged["right"]) == {True, False}


def test_the_metric_table_has_answerer_judge_and_choices(made, answered):
    args = (made.questions, made.patients, answered.answers, answered.planted, answered.judgements, answered.unscored)
    table = check(note_qa_metrics(*args, seed=7, provenance="rules"), METRICS, "metrics")
    assert {"answerer", "judge", "questions", "all systems"} == set(table["system"])
    scores = check(note_qa_scores(answered.judgements, made.questions, made.patients), SCORES, "scores")
    assert len(scores) == len(answered.answers)


def test_questions_answers_and_scores_are_those_of_earlier_versions(made, answered):
    notes = ["patient", "version", "position", "note_id", "date", "tokens"]
    assert_as_recorded("patients", made.patients[notes].head(12))
    shown = ["question", "kind", "answerable", "notes", "tokens", "level", "wording", "choices", "answer"]
    assert_as_recorded("questions", made.questions[shown].head(12))
    assert_as_recorded("planted_answers", answered.planted.head(12))
    args = (made.questions, made.patients, answered.answers, answered.planted, answered.judgements, answered.unscored)
    table = note_qa_metrics(*args, seed=7, provenance="rules")
    keys = ["system", "condition", "item", "metric"]
    assert_as_recorded("note_qa", table[[*keys, "value", "low", "high", "n", "unscored"]])


class FailingAsk:
    """Fails the first call of each batch and gives a constant answer to the others."""

    label = "failing"

    def __init__(self, text: str) -> None:
        self.text = text

    async def __call__(self, calls):
        return [
            Answer(c.key, failure="timeout") if i == 0 else Answer(c.key, text=self.text) for i, c in enumerate(calls)
        ]


def test_a_failed_or_unparsable_verdict_is_counted_and_never_scored(made):
    outputs = made.questions.head(3)[["patient", "question"]].assign(
        version="normal", form="free_text", variant="answer"
    )
    outputs["output"] = "x"
    kept, unscored = asyncio.run(judge_outputs(outputs, made.questions, 1, FailingAsk("Yes, it does")))
    check(unscored, UNSCORED, "unscored")
    assert len(kept) == 2 and kept["verdict"].all() and list(unscored["reason"]) == ["timeout"]
    kept, unscored = asyncio.run(judge_outputs(outputs, made.questions, 1, FailingAsk("Perhaps")))
    assert len(kept) == 0 and list(unscored["reason"]) == ["timeout", "neither yes nor no", "neither yes nor no"]


def test_the_reply_that_is_no_verdict_is_kept_as_detail(made):
    outputs = made.questions.head(2)[["patient", "question"]].assign(
        version="normal", form="free_text", variant="answer", output="x"
    )
    _, unscored = asyncio.run(judge_outputs(outputs, made.questions, 1, FailingAsk("Perhaps")))
    assert unscored["detail"].iloc[1] == "Perhaps"


def test_ranks_of_two_versions_that_change_places_are_counted(made, answered):
    versions = answered.judgements.query("variant == 'answer' and version in ['normal', 'compact']")
    turned = versions.assign(verdict=(versions["version"] == "normal") == (versions["take"] == 0))
    args = (made.questions, made.patients, answered.answers, answered.planted, turned, answered.unscored)
    found = note_qa_metrics(*args, seed=7, provenance="rules").query("metric == 'rank_changes'")
    assert len(found) == turned["form"].nunique()
    assert (found["value"] == turned["take"].nunique()).all()


class TwoStepAsk:
    """Writes a question, then unfit choices, then fit ones."""

    label = "two-step"

    def __init__(self) -> None:
        self.samples: list[int] = []

    async def __call__(self, calls):
        answers = []
        for call in calls:
            if call.reply is AskedQuestion:
                value = AskedQuestion(question="What was charted?", answer="Cough", reason="it stands there")
            else:
                self.samples.append(call.sample)
                texts = dict(
                    zip(LETTERS, ["Cough", "Cough" if call.sample == 0 else "Rash", "a", "b", "c"], strict=True)
                )
                value = AnswerChoices(**texts, correct="A", reason="r")
            answers.append(Answer(call.key, text="{}", value=value))
        return answers


def test_unfit_choices_are_asked_for_again_and_the_question_is_kept_when_they_fit(made):
    ask = TwoStepAsk()
    one = made.patients[made.patients["patient"] == "p001"]
    questions, unscored = asyncio.run(generated_questions(one, PARAMS, ask))
    assert ask.samples == [0, 1] and len(questions) == 1 and unscored.empty
    assert json.loads(questions["choices"].iloc[0])[0] == "Cough" and questions["provenance"].iloc[0] == "two-step"


def test_choices_that_never_fit_drop_the_question_and_count_it(made):
    one = made.patients[made.patients["patient"] == "p001"]
    params = PARAMS.model_copy(update={"generation_attempts": 1})
    questions, unscored = asyncio.run(generated_questions(one, params, TwoStepAsk()))
    assert questions.empty and list(unscored["reason"]) == ["two choices are the same"]


def test_embedded_rules_write_fit_questions_on_most_patients(made):
    questions, unscored = asyncio.run(generated_questions(made.patients, PARAMS, DirectAsk("vignette-annotator")))
    check(questions, QUESTIONS, "generated")
    assert len(questions) + len(unscored) == made.patients["patient"].nunique()
    assert len(questions) >= 6


def test_unfit_choices_are_refused_with_a_reason():
    assert unfit(["a", "b", "c", "d", "e"], "A") is None
    assert unfit(["a", "b", "c", "d", ""], "A") == "not five choices"
    assert unfit(["a", "A ", "c", "d", "e"], "A") == "two choices are the same"
    assert unfit(["a", "b", "c", "d", "e"], "F") == "no letter for the right choice"
    assert unfit(["x" * 40, "b" * 20, "c", "d", "e"], "A") == "the right choice is far the longest"
    assert right_is_longest(["aa", "b", "c", "d", "e"], "A") and not right_is_longest(["aa", "bb", "c", "d", "e"], "A")
    assert grounded_share("dry cough and fever", "The cough is dry.") == pytest.approx(2 / 3)


def test_take_scores_mean_and_sample_deviation():
    verdicts = pd.DataFrame({"take": [0, 0, 1, 1], "verdict": [True, False, True, True]})
    assert list(take_scores(verdicts)) == [0.5, 1.0]
    assert mean_and_deviation([50, 100]) == (75.0, pytest.approx(35.35533906))
    assert np.isnan(mean_and_deviation([50])[1])


def test_rank_changes_use_the_smallest_rank_of_a_tie_and_the_modal_rank_as_reference():
    ranks = take_ranks(pd.DataFrame({1: [90, 80, 80], 2: [90, 80, 70], 3: [80, 90, 70]}, index=["a", "b", "c"]))
    assert ranks.to_numpy().tolist() == [[1, 1, 2], [2, 2, 1], [2, 3, 3]]
    assert mode_ranks(ranks).tolist() == [1, 2, 3]
    assert rank_changes(ranks, mode_ranks(ranks)) == 3


def test_the_effect_of_a_further_note_is_the_slope():
    scored = pd.DataFrame(
        {"score": [0.9, 0.8, 0.7] * 4, "notes": [1, 2, 3] * 4, "tokens": [10, 20, 30] * 4, "level": 1}
    )
    rows = {(row["item"], row["metric"]): row["value"] for row in effect_rows(scored, seed=1)}
    assert rows["notes", "score_change_a_note"] == pytest.approx(-0.1)
    assert rows["tokens", "spearman_with_score"] == pytest.approx(-1)
    assert rows["notes 2", "score"] == pytest.approx(0.8)


def test_two_numbers_of_notes_have_a_slope_and_one_number_none():
    def metrics(notes: list[int], tokens: list[int]) -> set[str]:
        scored = pd.DataFrame({"score": [1.0, 0.5, 1.0, 0.5], "notes": notes, "tokens": tokens, "level": 1})
        return {str(row["metric"]) for row in effect_rows(scored, seed=1)}

    assert metrics([1, 2, 1, 2], [9, 9, 9, 9]) == {"score", "score_change_a_note"}
    assert metrics([1, 1, 1, 1], [9, 8, 9, 8]) == {"score", "spearman_with_score"}
