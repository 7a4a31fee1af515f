"""``note_qa.protocol: paper``: contents and temperatures of EHRNoteQA's requests, and how replies are read."""

import asyncio

import pytest
from pydantic import ValidationError

from flows.engine.params import load_params
from flows.engine.tables import check
from schemas.params import Params
from schemas.params.note_qa import NoteQa
from schemas.tables.note_qa import QUESTIONS
from tasks.evaluation.note_qa.paper_protocol import paper_judge_call, paper_questions, read_choices, read_question
from tests.golden.requests import CHOICES, LAYOUTS, PATIENT, printed_layout
from tests.support.imports import ROOT
from tests.support.scripted import ScriptedAsk

PAPER = NoteQa(protocol="paper")


def test_two_steps_at_temperature_1_give_a_question_with_choices():
    ask = ScriptedAsk(printed_layout)
    questions, unscored = asyncio.run(paper_questions(PATIENT, PAPER, ask))
    (row,) = check(questions, QUESTIONS, "questions").itertuples()
    assert (row.wording, row.answer, row.notes) == ("What cough did the patient have?", "A", 2) and unscored.empty
    first, second = ask.calls
    assert {call.temperature for call in ask.calls} == {1.0}
    assert "[note 2 start]\nAdmission ID: 42\nChart date: 2022-06-12" in first.messages[-1].content
    assert "A dry cough." not in second.messages[-1].content  # the answer of the first step is not shown


def test_a_reply_in_another_layout_is_unscored_and_costs_no_second_step():
    ask = ScriptedAsk(lambda _: "What a lovely note.")
    questions, unscored = asyncio.run(paper_questions(PATIENT, PAPER, ask))
    assert questions.empty and len(ask.calls) == 1
    assert unscored["reason"].tolist() == ["no question in the printed layout"]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(("form", "shown"), [("multiple_choice", True), ("free_text", False)])
def test_the_judge_sees_output_and_right_answer_but_no_question_and_choices_only_for_multiple_choice(form, shown):
    output = {"question": "q", "form": form, "version": "normal", "variant": "answer", "output": "It was dry."}
    question = {"wording": "What cough?", "choices": '["Dry", "Wet", "None", "Croup", "Fever"]', "answer": "A"}
    call = paper_judge_call(output, question, 3)
    text = call.messages[-1].content
    assert (call.temperature, call.sample) == (0.0, 3)
    assert "It was dry." in text and "What cough?" not in text and ("Croup" in text) is shown


def test_the_protocol_needs_a_model_and_one_question_a_patient():
    settings = load_params(ROOT / "params.yaml").model_dump()
    settings["note_qa"]["protocol"] = "paper"
    with pytest.raises(ValidationError, match="knows its own prompts only, serves \\['annotator', 'judge'\\]"):
        Params.model_validate(settings)
    for role in ("annotator", "judge"):
        settings["roles"][role] |= {"base_url": "http://127.0.0.1:8000/v1", "temperature": None}
    with pytest.raises(ValidationError, match="judge has temperature 0, and roles"):
        Params.model_validate(settings)
    settings["roles"]["judge"]["temperature"] = 0.7  # replaced by 0 in each request
    assert Params.model_validate(settings).note_qa.protocol == "paper"
    with pytest.raises(ValidationError, match="one question a patient"):
        NoteQa(protocol="paper", generated_questions=2)
