"""Planted errors measure the consistency check that the pipeline runs: the cases, the requests, and the verdicts."""

import asyncio
from collections import Counter

import pandas as pd

from tasks.judges.consistency_checks import COMPACT_KINDS, NOTE_KINDS, check_cases, plant_inconsistent
from tasks.llm.calls import Call
from tasks.notes.consistency import ConsistencyReply, filter_notes
from tests.simulator.test_writer import symptom_prompt
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
    asyncio.run(check_cases(planted, asked))
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
    verdicts, unscored = asyncio.run(check_cases(planted, ScriptedAsk(said)))
    assert verdicts["value"].tolist()[:2] == [0, 1] and verdicts["truth"].tolist() == [0, 1, 1]
    assert verdicts["value"].isna().tolist() == [False, False, True]
    assert verdicts["reason"].tolist()[1] == "no cough"
    assert [(row["record"], row["step"], row["reason"]) for row in unscored] == [("2", "consistency", "no answer")]


LINES = ("cough: yes, dry", "fever: high", "dyspnea: no")
PROMPTS = pd.DataFrame(
    {
        "record": [1, 0],
        "single_prompt": [
            symptom_prompt(*LINES, avoid=("respiratory pain", "nasal symptoms")),
            symptom_prompt("cough: yes, phlegm", "respiratory pain: no", avoid=("fever", "dyspnea")),
        ],
        "instructions": ["of 1", "of 0"],
    }
)


def test_each_kind_of_error_has_as_many_cases_as_asked_and_as_many_notes_are_clean() -> None:
    cases = plant_inconsistent(PROMPTS, each=2, rounds=60, seed=1)
    counts = Counter(zip(cases["check"], cases["kind"], strict=True))
    for kind in ("symptom_dropped", "contradicted", "descriptor_lost", "forbidden_mentioned"):
        assert counts["consistency", kind] == 2
    assert all(counts["compact", kind] == 2 for kind in COMPACT_KINDS)
    assert counts["consistency", "none"] == 2 * len(NOTE_KINDS)
    assert counts["compact", "none"] == 2 * len(COMPACT_KINDS)
    assert cases["record"].tolist() == list(range(len(cases)))
    assert cases["compact"].notna().tolist() == (cases["check"] == "compact").tolist()
    assert set(cases["instructions"]) == {"of 0", "of 1"} and cases["instructions"].iloc[0] == "of 0"
    few = plant_inconsistent(PROMPTS, each=2, rounds=1, seed=1)
    assert 0 < len(few) < len(cases)
