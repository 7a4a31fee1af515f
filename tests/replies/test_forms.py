"""Ids, names, numbers, letters and marks as models write them are read as meant, or refused with a reason."""

import asyncio
import json
from collections.abc import Sequence

import pandas as pd
import pytest

from schemas.tables.note_qa import LETTERS
from tasks.llm.replies import Completion, Unusable, read_reply
from tasks.measures.doclens.citations import read_statements, without_citations
from tasks.measures.doclens.evaluators import InstructionEvaluator, Question
from tasks.measures.med_omit.replies import fact_id
from tasks.measures.note_qa.answering import judge_outputs, named_letter
from tests.replies.meant import FACTS, MEANT, Meant
from tests.support.scripted import ScriptedAsk

BY_NAME = {meant.kind.__name__: meant for meant in MEANT}
CHOICES = ["Dry cough", "Productive cough", "No cough", "Fever", "The notes do not tell"]


def read(meant: Meant, content: object) -> dict:
    completion = Completion(json.dumps(content), None, "stop", "m", None)
    found = read_reply(completion, meant.kind, meant.context)
    assert found is not None
    return found.model_dump()


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("F0", "F0"),
        ("f0", "F0"),
        ("0", "F0"),
        (" F1 ", "F1"),
        ("[F1]", "F1"),
        ("(F1)", "F1"),
        ("F1.", "F1"),
        ("F01", "F1"),
        ("F 1", "F1"),
        ("Fact 1", "F1"),
        ("fact F1", "F1"),
        ("id: F1", "F1"),
        ("f1: Smokes.", "F1"),
        ("1: smokes", "F1"),
        ("F1 - Smokes.", "F1"),
        ("Smokes", "F1"),
        ("has a cough for 3 days", "F0"),
        ("F3", None),
        ("3", None),
        ("G1", None),
        ("", None),
        ("F", None),
        ("all", None),
        ("F0, F1", None),
        ("F0-F2", None),
        ("3 days of cough", None),
        ("F1: No fever.", None),  # the text of another fact
        ("-1", "F1"),
        ("1.5", None),
    ],
)
def test_ids_of_facts(written: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(ValueError, match="is not the id of a fact"):
            fact_id(written, FACTS)
    else:
        assert fact_id(written, FACTS) == name


def test_an_unknown_id_is_refused_with_the_range_of_ids() -> None:
    with pytest.raises(ValueError, match="ids are F0 to F12"):
        fact_id("F13", {f"F{number}": f"fact {number}" for number in range(13)})


def _verdict(*pairs: tuple[object, object]) -> dict:
    return {"verdicts": [{"claim": claim, "entailed": entailed} for claim, entailed in pairs]}


def _clusters(*names: str) -> dict:
    return {"clusters": [{"diagnosis": name, "facts": ["f0"]} for name in names]}


def _grades(*pairs: tuple[str, str]) -> dict:
    return {"facts": [{"fact": fact, "category": category} for fact, category in pairs]}


def _groups(*groups: Sequence[str]) -> dict:
    return {"groups": [{"mechanism": "m", "facts": list(facts)} for facts in groups]}


def _bare(fact: str) -> dict:
    return {"fact": fact, "explanation": "", "extent": None}


def _choices(letter: str) -> dict:
    return {**BY_NAME["AnswerChoices"].content, "correct": letter}


def _rating(**changes: object) -> dict:
    return {**BY_NAME["Rating"].content, **changes}


READ = [
    ("ClaimVerdicts", _verdict(("1", 1), ("2", 0)), _verdict((1, 1), (2, 0))),
    ("ClaimVerdicts", _verdict((1, True), (2, False)), _verdict((1, 1), (2, 0))),
    ("ClaimVerdicts", _verdict((2, 0), (1, 1), (1, 1)), _verdict((2, 0), (1, 1), (1, 1))),
    ("ClaimVerdicts", _verdict((1, "1"), (2, 0.0)), _verdict((1, 1), (2, 0))),
    ("Omissions", {"omitted": ["f0", "2: No fever."]}, {"omitted": [_bare("F0"), _bare("F2")]}),
    ("Omissions", {"omitted": [0, "F2"]}, {"omitted": [_bare("F0"), _bare("F2")]}),
    (
        "Omissions",
        {"omitted": [{"fact": "f0", "explanation": "No cough.", "extent": "Part"}]},
        {"omitted": [{"fact": "F0", "explanation": "No cough.", "extent": "part"}]},
    ),
    ("Omissions", {"omitted": []}, {"omitted": []}),
    (
        "Importances",
        _grades(("F0", "Other"), ("1", "CRITICAL "), ("f2", "important")),
        _grades(("F0", "other"), ("F1", "critical"), ("F2", "important")),
    ),
    (
        "EvidenceClusters",
        _clusters("ASTHMA", "COPD"),
        {
            "clusters": [
                {"diagnosis": "asthma", "facts": [{"fact": "F0", "explanation": ""}]},
                {"diagnosis": "copd (first exacerbation)", "facts": [{"fact": "F0", "explanation": ""}]},
            ]
        },
    ),
    ("Mechanisms", _groups(["f0", "F1: Smokes."], ["2"]), _groups(["F0", "F1"], ["F2"])),
    ("EndOfHistory", {"last_line": "4"}, {"last_line": 4}),
    ("ConsistencyReply", {"consistent": "true"}, {"explanation": "", "consistent": True}),
    ("AnswerChoices", _choices("b"), _choices("B")),
    ("AnswerChoices", _choices("(C) Choice C"), _choices("C")),
    ("AnswerChoices", _choices("Option D."), _choices("D")),
    ("Rating", _rating(penalties=["[1B/fever]", "1a/cough: cough"]), _rating(penalties=["1B/fever", "1A/cough"])),
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
    ("Omissions", {"omitted": ["F9"]}, "'F9' is not the id of a fact; ids are F0, F1, F2"),
    ("Omissions", {"omitted": ["cough"]}, "is not the id of a fact"),
    ("Omissions", {"omitted": [{"fact": "F0", "explanation": "", "extent": "most"}]}, "'whole' or 'part'"),
    ("Importances", _grades(("F0", "other"), ("F1", "other")), "facts F2 are missing"),
    ("Importances", _grades(("F0", "other"), ("F1", "minor"), ("F2", "other")), "'critical', 'important' or 'other'"),
    (
        "Importances",
        _grades(("F0", "other"), ("F1", "other"), ("F2", "other"), ("F0", "critical")),
        "listed more than once",
    ),
    ("EvidenceClusters", _clusters("asthma", "gout"), "'gout' is not a diagnosis of the differential"),
    ("EvidenceClusters", _clusters("asthma"), "are missing"),
    ("EvidenceClusters", _clusters("asthma", "copd", "Asthma"), "more than once"),
    ("Mechanisms", _groups(["F0"], ["F1"]), "facts F2 are missing"),
    ("Mechanisms", _groups(["F0", "F1"], ["F1", "F2"]), "more than once"),
    ("Mechanisms", _groups(["F0", "F1", "F2", "F3"]), "'F3' is not the id of a fact"),
    ("EndOfHistory", {"last_line": 9}, "line 9 is not in the dialogue"),
    ("EndOfHistory", {"last_line": -1}, "line -1 is not in the dialogue"),
    ("Rating", _rating(penalties=["1C/asthma"]), "'1C/asthma' is not the code of a penalty"),
    ("Rating", _rating(realism_history=6), "less than or equal to 5"),
    ("Rating", _rating(realism_history=0), "greater than or equal to 1"),
    ("Rating", _rating(realism_history="4/5"), "valid integer"),
    ("Rating", _rating(realism_history=None), "valid integer"),
]


@pytest.mark.parametrize(("name", "content", "meant"), READ)
def test_replies_that_are_read_as_meant(name: str, content: dict, meant: dict) -> None:
    assert read(BY_NAME[name], content) == meant


@pytest.mark.parametrize(("name", "content", "reason"), REFUSED)
def test_replies_that_are_refused_with_their_reason(name: str, content: dict, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        read(BY_NAME[name], content)


@pytest.mark.parametrize(
    ("reply", "verdicts"),
    [
        ("1: 1\n2: 0", (True, False)),
        ("1. 1\n2. 0\n", (True, False)),
        ("Claim 1: 1\nClaim 2: 0", (True, False)),
        ("**Claim 1:** 1\n**Claim 2:** 0", (True, False)),
        ("1. entailment prediction: 1\n2. entailment prediction: 0", (True, False)),
        ("1. explanation: so.\n1. prediction: 1\n2. explanation: no.\n2. prediction: 0", (True, False)),
        ("- 1: 1\n- 2: 0.", (True, False)),
        ("1) 1\n2) 0", (True, False)),
        ("1: entailed: 1\n2: verdict is 0", (True, False)),
        ("1: 1", (True, None)),
        ("1: 2\n2: 0", (None, False)),
        ("1: yes\n2: no", (None, None)),
        ("0: 1\n1: 0", (None, None)),  # numbered from 0
        ("1: 1\n1: 0\n2: 1", (None, None)),
        ("1: 1\n2: 0\n3: 1", (None, None)),
        ("Both claims are entailed.", (None, None)),
    ],
)
def test_lines_with_verdicts(reply: str, verdicts: tuple[bool | None, ...]) -> None:
    evaluator = InstructionEvaluator(ScriptedAsk(lambda _: reply), "cot")
    (found,) = asyncio.run(evaluator([Question("1/x", "He coughs.", ("He has a cough.", "He has a fever."))]))
    assert found.judgements == verdicts
    assert (found.failure is None) == (None not in verdicts)


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        ("B.", "B"),
        ("(B)", "B"),
        ("**B**", "B"),
        ("B: Productive cough", "B"),
        ("B) Productive cough", "B"),
        ("B is correct.", "B"),
        ("B is the right answer", "B"),
        ("Option B", "B"),
        ("The correct answer is B.", "B"),
        ("The correct answer is (B): Productive cough", "B"),
        ("Answer: B", "B"),
        ("\\boxed{B}", "B"),
        ("$\\boxed{\\text{B}}$", "B"),
        ("The cough brings up phlegm, so the answer is B.", "B"),
        ("Choice A is wrong, since it is not dry. The correct choice is B: Productive cough.", "B"),
        ("Productive cough", "B"),
        ("The patient has a productive cough.", "B"),
        ("A is correct", "A"),
        ("A productive cough", "B"),
        ("F", None),
        ("", None),
        ("I cannot answer this question.", None),
        ("Either dry cough or fever", None),
        ("The answer is A. No, the answer is B.", None),
        ("Because the notes are unclear", None),
    ],
)
def test_letters_of_choices(answer: str, letter: str | None) -> None:
    assert named_letter(answer, CHOICES) == letter


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("yes", True),
        ("Yes.", True),
        ("**No**", False),
        ('"no"', False),
        ("No, it names another choice.", False),
        ("Verdict: yes", True),
        ("The answer is no", False),
        ("YES\n\nThe answer matches.", True),
        ("yes or no", None),
        ("Yes/No", None),
        ("maybe", None),
        ("The answers agree.", None),
        ("", None),
        ("1", None),
    ],
)
def test_verdicts_on_answers(reply: str, verdict: bool | None) -> None:
    question = {"question": "q", "wording": "Which cough?", "choices": json.dumps(CHOICES), "answer": LETTERS[1]}
    output = {"patient": "p", "question": "q", "version": "normal", "form": "free_text", "variant": "answer"}
    frames = pd.DataFrame([{**output, "output": "x"}]), pd.DataFrame([question])
    judged, unscored = asyncio.run(judge_outputs(*frames, 1, ScriptedAsk(lambda _: reply)))
    assert judged["verdict"].tolist() == ([] if verdict is None else [verdict])
    assert [row["reason"] for row in unscored] == (["neither yes nor no"] if verdict is None else [])


@pytest.mark.parametrize(
    ("output", "statements"),
    [
        ("Cough [1]. Fever [2].", [("Cough.", (1,)), ("Fever.", (2,))]),
        ("Cough. [1] Fever. [2]", [("Cough.", (1,)), ("Fever.", (2,))]),
        ("Cough [1][2].", [("Cough.", (1, 2))]),
        ("Cough [1] [2].", [("Cough.", (1, 2))]),
        ("Cough [1, 2].", [("Cough.", (1, 2))]),
        ("Cough. [1,2]", [("Cough.", (1, 2))]),
        ("Cough [1; 2].", [("Cough.", (1, 2))]),
        ("Cough [3-5].", [("Cough.", (3, 4, 5))]),
        ("Cough [3–5, 8].", [("Cough.", (3, 4, 5, 8))]),
        ("Denies fever. [4]", [("Denies fever.", (4,))]),
        ("Denies fever.", [("Denies fever.", ())]),
        ("Lungs clear", [("Lungs clear", ())]),
        ("**SUBJECTIVE**\nCough [1].", [("Cough.", (1,))]),
        ("## Physical Exam\nClear [1].", [("Clear.", (1,))]),
        ("Assessment/Plan:\nRest [1].", [("Rest.", (1,))]),
        ("Physical Examination\nClear [1].", [("Clear.", (1,))]),
        ("Plan\nRest [1].", [("Rest.", (1,))]),
        ("No citation [a].", [("No citation [a].", ())]),
    ],
)
def test_cited_statements(output: str, statements: list[tuple[str, tuple[int, ...]]]) -> None:
    assert [(one.text, one.citations) for one in read_statements(output)] == statements
    assert "[1" not in without_citations(output) and "[3" not in without_citations(output)


def test_a_statement_keeps_its_first_ten_citations() -> None:
    (statement,) = read_statements("Cough since Monday " + "".join(f"[{number}]" for number in range(12)) + ".")
    assert statement.citations == tuple(range(10))
