"""The rules and another model are compared on the same requests, and both with planted truth."""

import json
from typing import Any

import pandas as pd
import pytest

from schemas.tables.metrics import METRICS
from tasks.evaluation.annotator.quality import Counts
from tasks.evaluation.simulator_quality.judges_compared import claim_pairs, compared_rows, compared_text, known_truth
from tasks.evaluation.simulator_quality.paired_verdicts import paired_verdicts, span_agreement

NOTE = "**History**\nThe patient has had a dry cough for a week. She denies fever.\n\n**Physical Examination**\nT 37."


def line(task: str, prompt: str, reply: Any) -> dict[str, Any]:
    """An exported reply."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    request = {"model": "m", "messages": [{"role": "user", "content": f"Task: {task}\n\n{prompt}"}]}
    return {"task": task, "request": request, "reply": {"choices": [{"message": {"content": text}}]}}


CLAIMS = line(
    "judge claims in json with reasons",
    f"<text>\n{NOTE}\n</text>\n<claims>\n1. The patient has a dry cough.\n2. The patient has fever.\n</claims>",
    {"verdicts": [{"claim": n, "explanation": "", "entailed": 1} for n in (1, 2)]},
)
SPANS = line(
    "extract symptom spans",
    f"<note>\n{NOTE}\n</note>",
    {"spans": [{"symptom": "cough", "text": "dry cough for a week"}, {"symptom": "dyspnea", "text": "not in it"}]},
)
OMITTED = line(
    "find omitted facts",
    f"<facts>\nF0: Has a dry cough.\nF1: Smokes a pipe.\n</facts>\n<summary>\n{NOTE}\n</summary>",
    {"omitted": [{"fact": "F0", "explanation": "", "extent": "whole"}]},
)
ANSWER = line(
    "judge an answer",
    "<question>\nWhat cough?\n</question>\n<right>\ndry\n</right>\n<output>\nA dry cough.\n</output>",
    "Yes.",
)


def verdicts(*lines: dict[str, Any]) -> list[tuple[str, str, bool, bool]]:
    table = paired_verdicts(lines)
    return [(row.measure, row.key.split("\n")[0], row.model, row.rules) for row in table.itertuples()]


def test_both_verdicts_on_each_claim() -> None:
    dry, fever = "The patient has a dry cough.", "The patient has fever."
    assert verdicts(CLAIMS) == [("claims", dry, True, True), ("claims", fever, True, False)]


def test_both_verdicts_on_facts_answers_and_symptoms() -> None:
    assert verdicts(OMITTED) == [
        ("omissions", "Has a dry cough.", True, False),
        ("omissions", "Smokes a pipe.", False, True),
    ]
    assert verdicts(ANSWER) == [("answers", "What cough?", True, True)]
    found = {key: (model, rules) for _, key, model, rules in verdicts(SPANS)}
    assert found["cough"] == (True, True) and found["fever"] == (False, True) and found["dyspnea"] == (True, False)


def test_a_reply_without_a_verdict_is_no_disagreement() -> None:
    broken = {**ANSWER, "reply": {"choices": [{"message": {"content": "It depends."}}]}}
    silent = {**CLAIMS, "reply": {"choices": [{"message": {"content": None}}]}}
    other = line("write a clinical note", "...", "A note.")
    assert verdicts(broken, silent, other) == []


def test_spans_agree_on_the_phrases_that_the_note_contains() -> None:
    [counts] = span_agreement([SPANS, CLAIMS])
    assert (counts.hits, counts.reference) == (1, 1)
    assert counts.predicted == 2


def test_the_order_of_replies_does_not_matter() -> None:
    other = line("extract symptom spans", "<note>\nA fever of 39.\n</note>", {"spans": []})
    assert span_agreement([SPANS, other]) == span_agreement([other, SPANS])


def test_truth_is_known_for_planted_errors_and_ambiguous_facts_are_dropped() -> None:
    tables = {
        "planted_cases": pd.DataFrame(
            {
                "check": ["consistency", "consistency", "compact"],
                "kind": ["none", "contradicted", "detail_lost"],
                "note": ["a", "b", "c"],
                "compact": ["", "", "d"],
            }
        ),
        "planted_claims": pd.DataFrame(
            {"step": "omissions", "text": ["pipe", "cough", "cough"], "truth": [True, True, False]}
        ),
        "questions": pd.DataFrame({"question": ["q1"], "wording": ["What?"]}),
        "planted": pd.DataFrame({"question": ["q1"], "output": ["This."], "right": [True]}),
    }
    known = {(row.measure, row.key): row.truth for row in known_truth(tables).itertuples()}
    assert known == {
        ("consistency", "a"): False,
        ("consistency", "b"): True,
        ("compact version", "d"): True,
        ("omissions", "pipe"): True,
        ("answers", "What?\nThis."): True,
    }


@pytest.fixture
def rows() -> pd.DataFrame:
    claims = [("1", "x", True, True, True), ("1", "y", False, True, False), ("2", "x", False, None, False)]
    planted = pd.DataFrame(
        [
            ("entailment", "kind", document, text, truth, judged, judge)
            for document, text, truth, rules, model in claims
            for judge, judged in (("rules, shipped", rules), ("strong", model))
        ],
        columns=["step", "kind", "document", "text", "truth", "judged", "provenance"],
    )
    pairs = pd.DataFrame(
        [("consistency", key, model, rules) for key, model, rules in [("a", False, False), ("b", True, False)]],
        columns=["measure", "key", "model", "rules"],
    )
    truth = pd.DataFrame({"measure": ["consistency"], "key": ["b"], "truth": [True]})
    spans = [Counts(1, 2, 1), Counts(0, 0, 1)]
    found = compared_rows(pairs, truth, claim_pairs(planted, "rules, shipped"), spans, model="strong", seed=1)
    return METRICS.validate(found)


def test_agreement_and_shares_of_right_verdicts(rows: pd.DataFrame) -> None:
    values = rows.set_index(["system", "condition", "metric"])[["value", "n"]]
    assert values.loc[("rules, strong", "consistency", "agreement")].tolist() == [0.5, 2]
    assert values.loc[("rules, strong", "planted claims", "agreement")].tolist() == [0.5, 2]
    assert values.loc[("rules", "consistency", "right")].tolist() == [0, 1]
    assert values.loc[("strong", "consistency", "right")].tolist() == [1, 1]
    assert values.loc[("rules", "planted claims", "right")].tolist() == [0.5, 2]
    assert values.loc[("strong", "planted claims", "right")].tolist() == [1, 2]
    assert values.loc[("rules, strong", "spans", "span_f1")].tolist() == [0.5, 2]


def test_the_table_is_readable_in_a_terminal(rows: pd.DataFrame) -> None:
    header, *lines = compared_text(rows).splitlines()
    assert header.split() == ["n", "agreement", "kappa", "right:", "rules", "right:", "strong", "span_f1"]
    assert any(line.startswith("planted claims") for line in lines)


def test_half_of_a_phrase_is_the_same_span_and_less_is_not() -> None:
    def hits(text: str) -> int:
        spans = {"spans": [{"symptom": "cough", "text": text}]}
        return span_agreement([line("extract symptom spans", f"<note>\n{NOTE}\n</note>", spans)])[0].hits

    rules = "The patient has had a dry cough for a week"
    assert [hits(rules[start:]) for start in (0, 18, 24, 32)] == [1, 1, 1, 0]
