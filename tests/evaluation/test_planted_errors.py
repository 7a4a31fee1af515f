"""Planted errors measure the consistency check that the pipeline runs."""

import asyncio

import pandas as pd

from tasks.evaluation.annotator.consistency_checks import check_cases
from tasks.llm.calls import Call
from tasks.notes.consistency import ConsistencyReply, consistency_call, filter_notes
from tests.support.scripted import ScriptedAsk

COLUMNS = ["record", "check", "kind", "instructions", "note", "compact"]


def cases(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame([(at, *row) for at, row in enumerate(rows)], columns=COLUMNS)


def test_planted_errors_send_the_same_request_as_the_filter() -> None:
    asked = ScriptedAsk(lambda call: ConsistencyReply(consistent=True))
    prompts = pd.DataFrame(
        {"record": [0], "kind": "symptoms", "instructions": ["Mention cough."], "prompt": "p", "slot": 0}
    )
    notes = pd.DataFrame({"record": [0], "attempt": [0], "note": ["He coughs."], "provenance": ["p"]})
    asyncio.run(filter_notes(prompts, notes, asked, asked, max_attempts=1, max_tries=1))
    planted = cases(("consistency", "none", "Mention cough.", "He coughs.", None))
    asyncio.run(check_cases(planted, asked, consistency_call))
    of_filter, of_planted = asked.calls
    assert of_planted.messages == of_filter.messages
    assert of_planted.reply is of_filter.reply


def test_verdicts_and_failures_are_kept_apart() -> None:
    def said(call: Call) -> ConsistencyReply | Exception:
        if "Mention pain" in call.messages[-1].content:
            return ValueError("no answer")
        return ConsistencyReply(consistent="He coughs" in call.messages[-1].content, explanation="no cough")

    planted = cases(
        ("consistency", "none", "Mention cough.", "He coughs.", None),
        ("consistency", "symptom_dropped", "Mention cough.", "All well.", None),
        ("consistency", "symptom_dropped", "Mention pain.", "All well.", None),
    )
    verdicts, unscored = asyncio.run(check_cases(planted, ScriptedAsk(said), consistency_call))
    assert verdicts["flagged"].astype("object").tolist()[:2] == [False, True]
    assert verdicts["flagged"].isna().tolist() == [False, False, True]
    assert verdicts["explanation"].tolist()[1] == "no cough"
    assert [(row["record"], row["step"], row["reason"]) for row in unscored] == [("2", "consistency", "no answer")]
