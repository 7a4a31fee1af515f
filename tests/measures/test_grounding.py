"""Claims of outputs judged against their source: verdicts, failures, scores by section and in an evaluation."""

import asyncio
import json
from typing import Any

import pandas as pd
import pytest

from flows.repository.params import load_params
from schemas.params.measures import DocLens, Evaluate
from schemas.tables.verdicts import VERDICTS as VERDICTS_TABLE
from tasks.llm.calls import Call
from tasks.measures.doclens.evaluators import Question
from tasks.measures.doclens.judging import Plan
from tasks.measures.evaluation import evaluate_chunk, evaluation_tables, plan_of
from tasks.measures.grounding.grounding import METRICS, ground, judge_by_source
from tasks.measures.measure import figures, scores
from tasks.texts.document import Document, documents_table
from tasks.texts.reading import DataSet
from tests.support.imports import ROOT
from tests.support.scripted import DirectAsk, ScriptedAsk, as_reply

SOURCE = "The patient has had a cough for 5 days. No fever. Takes metformin for diabetes."
CLAIMS = ("The patient has a cough.", "The patient has had a cough for 3 days.", "The patient's brother has asthma.")
VERDICTS = ("supported", "contradicted", "absent")


def verdicts(*given: str) -> str:
    listed = [{"claim": n, "explanation": "said.", "verdict": one} for n, one in enumerate(given, 1)]
    return json.dumps({"verdicts": listed})


def scripted(*, claims: list[str], reply: str | None) -> ScriptedAsk:
    """A judge that lists the same claims of every text and has one reply to every question about a source."""

    def answer(call: Call) -> Any:
        if "list subclaims" in call.messages[-1].content:
            return as_reply(call, json.dumps({"claims": claims}))
        return ValueError("refused") if reply is None else as_reply(call, reply)

    return ScriptedAsk(answer)


def grounded(
    ask: Any, document: Document, plan: Plan | None = None, **params: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    made = asyncio.run(judge_by_source(ask, [document], plan or Plan(), DocLens(**params)))
    return VERDICTS_TABLE.validate(made["verdicts"]), made["unscored"]


def test_the_rules_tell_a_contradiction_from_an_addition_in_calls_of_two_claims() -> None:
    ask = DirectAsk()
    (found,) = asyncio.run(ground(ask, [Question("1", SOURCE, CLAIMS)], 2))
    assert [word for *_, word in found.units] == [*VERDICTS] and found.failure is None
    assert all(reason for _, reason, _ in found.units) and [call.key for call in ask.calls] == ["1", "1/1"]
    assert [sum(claim in call.messages[-1].content for claim in CLAIMS) for call in ask.calls] == [2, 1]


@pytest.mark.parametrize(("style", "condition"), [("json_cot", "source"), ("clinician", "source, clinician")])
def test_an_output_is_scored_without_a_reference(style: str, condition: str) -> None:
    document = Document("d", (SOURCE,), outputs={"a": " ".join(CLAIMS), "b": "The patient has a cough."})
    ask = scripted(claims=list(CLAIMS), reply=verdicts(*VERDICTS))
    table, unscored = grounded(ask, document, style=style)
    assert set(table["condition"]) == {condition}
    assert table["verdict"].tolist() == [*VERDICTS, *VERDICTS] and unscored.empty
    found = scores(table, METRICS).set_index(["system", "metric"])["value"]
    assert found["a", "claims_supported"] == found["a", "claims_contradicted"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("reply", "known", "said"),
    [
        (verdicts("supported", "supported"), ["supported", "supported", None], "1 of 3 claims without a verdict"),
        (None, [None, None, None], "refused"),
    ],
)  # fmt: skip
def test_a_failed_verdict_is_null_listed_and_no_score(reply: str | None, known: list[str | None], said: str) -> None:
    table, unscored = grounded(
        scripted(claims=list(CLAIMS), reply=reply), Document("d", (SOURCE,), outputs={"a": "text."})
    )
    assert table["verdict"].astype(object).where(table["verdict"].notna(), None).tolist() == known
    (row,) = unscored.to_dict("records")
    assert said in row["reason"] and row["step"] == "claims of a" and row["record"] == "d"
    rows = figures(table, METRICS, stage="grounding", seed=0, provenance="judge").set_index("metric")
    assert rows.loc["claims_supported_pooled", "n"] == 3 - known.count(None)


def test_sections_are_judged_apart_and_a_lost_one_has_no_verdict() -> None:
    text = "HISTORY: Cough.\nEXAM: Clear lungs."
    document = Document("d", (SOURCE,), sections=("HISTORY", "EXAM"), outputs={"a": text}, lost={"a": ("EXAM",)})
    ask = scripted(claims=["One claim."], reply=verdicts("supported"))
    table, _ = grounded(ask, document, Plan(sections="given"))
    by = table.set_index("item")["verdict"]
    assert by["HISTORY"] == "supported" and pd.isna(by["EXAM"]) and table["unit"].tolist() == ["0", "lost"]


def test_an_evaluation_counts_a_document_without_any_verdict_once() -> None:
    documents = [Document(name, (SOURCE,), outputs={"a": "text."}) for name in ("x", "y")]

    def answer(call: Call) -> Any:
        if "list subclaims" in call.messages[-1].content:
            return as_reply(call, json.dumps({"claims": list(CLAIMS)}))
        return ValueError("refused") if call.key.startswith("y") else as_reply(call, verdicts(*VERDICTS))

    params = load_params(ROOT / "params.yaml")
    plan = plan_of(Evaluate(data="x", metrics=["grounding"]), DataSet(documents, "own", ()))
    ask = ScriptedAsk(answer)
    made = asyncio.run(evaluate_chunk(plan, {"documents": documents_table(documents)}, lambda _: ask, params))
    metrics, found = evaluation_tables(documents, plan, made, params, provenance="judge")
    rows = metrics[metrics["stage"] == "grounding"].set_index("metric")
    assert rows.loc["claims_contradicted", ["n", "unscored"]].tolist() == [1, 1]
    assert rows.loc["claims_contradicted", "value"] == pytest.approx(1 / 3)
    assert found["document"].tolist() == ["x", "x"] and made["unscored"]["method"].tolist() == ["grounding"]
