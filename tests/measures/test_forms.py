"""Numbers, letters and marks as models write them are read as meant, or refused with a reason."""

import asyncio
import json
import time

import pandas as pd
import pytest

from schemas.tables.note_qa import LETTERS
from tasks.llm.replies import Completion, Unusable, read_reply
from tasks.measures.doclens.citations import Statement, read_statements, without_citations
from tasks.measures.doclens.evaluators import InstructionEvaluator, Question
from tasks.measures.note_qa.answering import judge_outputs
from tasks.text.final_answer import final_letter
from tests.llm.meant import MEANT, Meant
from tests.support.cases import each, from_table
from tests.support.memory import growth_below
from tests.support.scripted import ScriptedAsk

BY_NAME = {meant.kind.__name__: meant for meant in MEANT}
CHOICES = ["Dry cough", "Productive cough", "No cough", "Fever", "The notes do not tell"]


def read(meant: Meant, content: object) -> dict:
    completion = Completion(json.dumps(content), None, "stop", "m", None)
    found = read_reply(completion, meant.kind, meant.context)
    return found.model_dump()


def _verdict(*pairs: tuple[object, object]) -> dict:
    return {"verdicts": [{"claim": claim, "entailed": entailed} for claim, entailed in pairs]}


def _choices(letter: str) -> dict:
    return {**BY_NAME["AnswerChoices"].content, "correct": letter}


def _rating(**changes: object) -> dict:
    return {**BY_NAME["Rating"].content, **changes}


READ = [
    ("ClaimVerdicts", _verdict(("1", 1), ("2", 0)), _verdict((1, 1), (2, 0))),
    ("ClaimVerdicts", _verdict((1, True), (2, False)), _verdict((1, 1), (2, 0))),
    ("ClaimVerdicts", _verdict((2, 0), (1, 1), (1, 1)), _verdict((2, 0), (1, 1), (1, 1))),
    ("ClaimVerdicts", _verdict((1, "1"), (2, 0.0)), _verdict((1, 1), (2, 0))),
    ("ConsistencyReply", {"consistent": "true"}, {"explanation": "", "consistent": True}),
    ("AnswerChoices", _choices("b"), _choices("B")),
    ("AnswerChoices", _choices("(C) Choice C"), _choices("C")),
    ("AnswerChoices", _choices("Option D."), _choices("D")),
    ("AnswerChoices", _choices("A rash"), _choices("A rash")),  # no letter, so that choices are asked for again
    ("AnswerChoices", _choices("D-dimer rise"), _choices("D-dimer rise")),
    ("Rating", _rating(penalties=["[1B/fever]", "1a/cough: cough"]), _rating(penalties=["1B/fever", "1A/cough"])),
    ("Rating", _rating(penalties=["[1B/fever] fever: yes, high"]), _rating(penalties=["1B/fever"])),
    ("Rating", _rating(clinical_accuracy="3"), _rating(clinical_accuracy=3)),
]
REFUSED = [
    ("ClaimVerdicts", _verdict((1, 2), (2, 0)), "less than or equal to 1"),
    ("ClaimVerdicts", _verdict((1, -1), (2, 0)), "greater than or equal to 0"),
    ("ClaimVerdicts", _verdict((1, 0.5), (2, 0)), "fractional"),
    ("ClaimVerdicts", _verdict((1, "yes"), (2, 0)), "valid boolean|valid integer"),
    ("ClaimVerdicts", _verdict((1, None), (2, 0)), "valid integer"),
    ("ClaimVerdicts", _verdict((0, 1), (1, 0)), "claim 0 is not one of 1 to 2"),
    ("ClaimVerdicts", _verdict((1, 1), (3, 0)), "claim 3 is not one of 1 to 2"),
    ("ClaimVerdicts", _verdict((1, 1), (1, 0)), "claim 1 has two verdicts"),
    ("Subclaims", {"claims": []}, "no claims"),
    ("Subclaims", {"claims": [" ", ""]}, "no claims"),
    ("CitationVerdict", {"explanation": "", "supporting": [5], "entailed": 1}, "sentence 5 is not cited"),
    ("CitationVerdict", {"explanation": "", "supporting": [3], "entailed": 2}, "less than or equal to 1"),
    ("CitationVerdict", {"explanation": "", "supporting": "3", "entailed": 1}, "valid list|valid array"),
    ("Rating", _rating(penalties=["1C/asthma"]), "'1C/asthma' is not the code of a penalty"),
    ("Rating", _rating(realism_history=6), "less than or equal to 5"),
    ("Rating", _rating(realism_history=0), "greater than or equal to 1"),
    ("Rating", _rating(realism_history="4/5"), "valid integer"),
    ("Rating", _rating(realism_history=None), "valid integer"),
]


@each("name, content, meant", READ)
def test_replies_that_are_read_as_meant(name: str, content: dict, meant: dict) -> None:
    assert read(BY_NAME[name], content) == meant


@each("name, content, reason", REFUSED)
def test_replies_that_are_refused_with_their_reason(name: str, content: dict, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        read(BY_NAME[name], content)


@from_table
def test_lines_with_verdicts(reply: str, verdicts: list[bool | None]) -> None:
    evaluator = InstructionEvaluator(ScriptedAsk(lambda _: reply), "plain")
    (found,) = asyncio.run(evaluator([Question("1/x", "He coughs.", ("He has a cough.", "He has a fever."))]))
    assert list(found.judgements) == verdicts
    assert (found.failure is None) == (None not in verdicts)


@from_table
def test_prediction_on_one_claim(reply: str, verdict: bool | None, reason: str | None) -> None:
    evaluator = InstructionEvaluator(ScriptedAsk(lambda _: reply), "cot")
    (found,) = asyncio.run(evaluator([Question("1/x", "He coughs.", ("He has a cough.",))]))
    ((judged, given, _),) = found.units
    assert (judged, given) == (verdict, reason)
    assert (found.failure is None) == (verdict is not None)


@each("filler", ["\n", "-\n", "2\n", "is\n", "claim ", "1: ", "explanation\n", "- "])
def test_replies_in_text_are_read_in_linear_time(filler: str) -> None:
    began = time.monotonic()
    reply = filler * (60_000 // len(filler)) + "x"
    for style in ("plain", "cot"):
        evaluator = InstructionEvaluator(ScriptedAsk(lambda _: reply), style)
        (found,) = asyncio.run(evaluator([Question("1/x", "He coughs.", ("He has a cough.",))]))
        assert found.judgements == (None,)
    assert time.monotonic() - began < 3


@from_table
def test_letters_of_choices(answer: str, letter: str | None) -> None:
    assert final_letter(answer) == letter


@from_table
def test_verdicts_on_answers(reply: str, verdict: bool | None) -> None:
    question = {"question": "q", "wording": "Which cough?", "choices": json.dumps(CHOICES), "answer": LETTERS[1]}
    question["origin"] = "generated"
    output = {"patient": "p", "question": "q", "version": "normal", "form": "free_text", "letter": None}
    frames = pd.DataFrame([{**output, "output": "x"}]), pd.DataFrame([question])
    judged, unscored = asyncio.run(judge_outputs(*frames, 1, ScriptedAsk(lambda _: reply)))
    assert [None if pd.isna(value) else bool(value) for value in judged["value"]] == [verdict]
    assert [row["reason"] for row in unscored] == (["neither yes nor no"] if verdict is None else [])


@from_table
def test_cited_statements(output: str, statements: list[list[object]]) -> None:
    assert [[one.text, [*one.citations]] for one in read_statements(output)] == statements
    assert "[1" not in without_citations(output) and "[3" not in without_citations(output)


def test_a_statement_keeps_its_first_ten_citations() -> None:
    (statement,) = read_statements("Cough since Monday " + "".join(f"[{number}]" for number in range(12)) + ".")
    assert statement.citations == tuple(range(10))


@each("mark", ["[1-8005551234]", "[0-999999999999]", f"[{'9' * 6000}]", f"[1-{'9' * 6000}]"])
def test_no_range_of_a_citation_fills_the_memory(mark: str) -> None:
    text = f"Call the clinic {mark}."
    with growth_below(50_000_000):
        assert read_statements(text, 2) == read_statements(text) == [Statement(text, ())]
        assert without_citations(text, 2) == without_citations(text) == text
