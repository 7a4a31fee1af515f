"""Judges are compared on the same planted claims and requests, with their cost."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.commands.cli import run
from schemas.params.llm import Price
from schemas.tables.metrics import METRICS
from tasks.domains.rules import rules_of
from tasks.judges.judges_compared import (
    claim_pairs,
    compared_rows,
    compared_text,
    judge_rows,
    judges_text,
    known_truth,
    paired_verdicts,
    span_agreement,
    usage_row,
)
from tasks.judges.span_agreement import Counts
from tasks.llm.costs import CountedAsk
from tasks.measures.doclens.evaluators import ClaimVerdicts, InstructionEvaluator, Question
from tests.support.imports import ROOT
from tests.support.scripted import ScriptedAsk

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
    {"facts": [{"fact": fact, "explanation": "", "included": one} for fact, one in (("F0", "partly"), ("F1", "yes"))]},
)
ASSERTED = line(
    "state what phrases assert",
    f"<note>\n{NOTE}\n</note>\n<compact>\nNo cough.\n</compact>\n<phrases>\n"
    '1. [full] cough: "a dry cough" in "The patient has had a dry cough for a week."\n'
    '2. [compact] cough: "No cough" in "No cough."\n</phrases>',
    {"assertions": [{"number": n, "assertion": one} for n, one in ((1, "present"), (2, "possible"), (3, "past"))]},
)
ANSWER = line(
    "judge an answer",
    "<question>\nWhat cough?\n</question>\n<right>\ndry\n</right>\n<output>\nA dry cough.\n</output>",
    "Yes.",
)


def verdicts(*lines: dict[str, Any]) -> list[tuple[str, str, bool, bool]]:
    table = paired_verdicts(lines, rules_of("respiratory").symptom_labels)
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
    assert verdicts(ASSERTED) == [
        ("symptom present in a span", "cough: No cough", False, False),
        ("symptom present in a span", "cough: a dry cough", True, True),
    ]
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
        "assertion_cases": pd.DataFrame({"symptom": ["c"], "text": ["No cough"], "note": ["n"], "truth": ["absent"]}),
        "questions": pd.DataFrame({"question": ["q1"], "wording": ["What?"]}),
        "planted": pd.DataFrame({"question": ["q1"], "output": ["This."], "right": [True]}),
    }
    known = {(row.measure, row.key): row.truth for row in known_truth(tables, {"c": "cough"}).itertuples()}
    assert known == {
        ("consistency", "a"): False,
        ("consistency", "b"): True,
        ("compact version", "d"): True,
        ("omissions", "pipe"): True,
        ("answers", "What?\nThis."): True,
        ("symptom present in a span", "cough: No cough\nn"): False,
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


def cases(judge: str, judged: list[bool | None]) -> pd.DataFrame:
    kinds = ["own sentence"] * 2 + ["number changed"] * 2 + ["another person"] * 2
    return pd.DataFrame(
        {
            "document": [str(at) for at in range(6)],
            "kind": kinds,
            "truth": [True] * 2 + [False] * 4,
            "judged": pd.array(judged, dtype="boolean"),
            "provenance": judge,
        }
    )


@pytest.fixture
def table() -> pd.DataFrame:
    planted = pd.concat(
        [cases("good", [True, True, False, False, False, True]), cases("lax", [True, True, True, True, True, None])]
    )
    counted = CountedAsk(ScriptedAsk(lambda call: ValueError("unused")))
    counted.calls, counted.prompt_tokens, counted.completion_tokens = 3, 2000, 1000
    usage = pd.DataFrame([usage_row("good", 6, counted), usage_row("lax", 6)])
    price = Price(prompt=1.0, completion=2.0)
    return METRICS.validate(judge_rows(planted, usage, {"good": price, "lax": None}, seed=1))


def test_sensitivity_is_the_share_of_errors_found_by_kind(table: pd.DataFrame) -> None:
    found = table.set_index(["system", "item", "metric"])
    assert found.loc[("good", "number changed", "sensitivity"), "value"] == 1
    assert found.loc[("good", "another person", "sensitivity"), "value"] == 0.5
    assert found.loc[("good", "all", "precision_at_half"), "value"] == 1
    assert found.loc[("lax", "all", "sensitivity"), "value"] == 0
    assert found.loc[("lax", "another person", "sensitivity"), "unscored"] == 1
    assert found.loc[("lax", "all", "specificity"), "value"] == 1


def test_cost_is_of_1000_claims_and_nothing_for_a_judge_without_calls(table: pd.DataFrame) -> None:
    found = table.set_index(["system", "metric"])["value"]
    assert found["good", "calls_per_1000_claims"] == pytest.approx(500)
    assert found["good", "dollars_per_1000_claims"] == pytest.approx((2000 * 1 + 1000 * 2) / 1e6 / 6 * 1000)
    assert found["lax", "dollars_per_1000_claims"] == 0


def test_calls_are_counted_where_the_judge_makes_them() -> None:
    reply = ClaimVerdicts.model_validate({"verdicts": [{"claim": 1, "entailed": 1}, {"claim": 2, "entailed": 0}]})
    counted = CountedAsk(ScriptedAsk(lambda call: reply))
    judge = InstructionEvaluator(counted, "json")
    questions = [
        Question("a", "The patient coughs.", ("There is a cough.", "There is fever.")),
        Question("b", "", ("x",)),
    ]
    assert asyncio.run(judge(questions))[0].judgements == (True, False)
    assert counted.calls == 1 and counted.prompt_tokens > 20


def test_the_text_lists_judges_of_several_lineages_side_by_side(table: pd.DataFrame) -> None:
    text = judges_text({"a": table, "b": table})
    assert "a: good" in text and "b: lax" in text and "number changed" in text


def test_the_command_prints_the_judges_of_the_workspace(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert run(["judges"]) == 1
    assert "judges.csv: no such file; run the stage that makes it (vignette repro)" in capsys.readouterr().err
    Path("reports/tables").mkdir(parents=True)
    table.to_csv("reports/tables/judges.csv", index=False)
    assert run(["judges"]) == 0
    assert {"good", "lax"} <= set(capsys.readouterr().out.split())
