"""Spans are annotated by steps, and searched for."""

import asyncio
import json
import re

import pandas as pd
import pytest

from schemas.tables.metrics import UNSCORED
from schemas.tables.records import SPANS
from tasks.domains.rules import load_rules
from tasks.llm.calls import Call
from tasks.spans.annotation import CorrectReply, ExtractReply, MapReply, annotate_spans
from tests.support.records import records_of
from tests.support.scripted import Said, ScriptedAsk

NOTE = "**History**\nNo cough. Some fever, and pain on breathing. No cough.\n\n**Physical Examination**\nAfebrile."
COMPACT = "**Hx**\nø cough. Low fever, pain w/ resp.\n\n**PE**\nAfebr."
RECORDS = records_of({"fever": "low", "pain": "yes"})
NOTES = pd.DataFrame({"record": [0], "note": [NOTE]})
COMPACTS = pd.DataFrame({"record": [0], "compact": [COMPACT]})


def task(call: Call) -> str:
    found = re.findall(r"^Task: (.*)$", call.messages[-1].content, re.MULTILINE)
    return found[0].split()[0]


def phrases(*pairs: tuple[str, str]) -> ExtractReply:
    return ExtractReply.model_validate({"spans": [{"symptom": s, "text": t} for s, t in pairs]})


def pairs(matches: dict[str, str]) -> MapReply:
    return MapReply.model_validate({"pairs": [{"phrase": p, "match": m} for p, m in matches.items()]})


def corrections(given: dict[str, str]) -> CorrectReply:
    return CorrectReply.model_validate({"corrections": [{"phrase": p, "correction": c} for p, c in given.items()]})


def annotate(replies: dict[str, Said], **options: int) -> tuple[pd.DataFrame, pd.DataFrame, ScriptedAsk]:
    ask = ScriptedAsk(lambda call: replies[task(call)])
    chosen = {"max_corrections": 1} | options
    spans, unscored = asyncio.run(annotate_spans(RECORDS, NOTES, COMPACTS, load_rules(), ask, **chosen))
    SPANS.validate(spans)
    UNSCORED.validate(unscored)
    return spans, unscored, ask


def rows(spans: pd.DataFrame, *columns: str) -> list[list[object]]:
    return spans[list(columns)].to_numpy().tolist()


def test_spans_of_both_versions_with_section_and_kind():
    mapped = {"No cough": "ø cough", "Some fever, and pain on breathing": "Low fever, pain w/ resp", "Afebrile": ""}
    spans, unscored, ask = annotate(
        {
            "extract": phrases(
                ("cough", "No cough"),
                ("fever", "Afebrile."),
                ("respiratory pain", "some fever and pain on breathing"),
                ("Fever", "Some ... on breathing"),
                ("cough", "No cough"),
            ),
            "map": pairs(mapped | {"Afebrile.": "Afebr."}),
            "check": pairs(mapped | {"Afebrile.": ""}),
        }
    )
    assert unscored.empty
    assert rows(spans, "version", "symptom", "text", "section", "matched") == [
        ["compact", "cough", "ø cough", "history", "exact"],
        ["compact", "fever", "Low fever, pain w/ resp", "history", "exact"],
        ["compact", "pain", "Low fever, pain w/ resp", "history", "exact"],
        ["normal", "cough", "No cough", "history", "exact"],
        ["normal", "fever", "Some fever, and pain on breathing", "history", "elided"],
        ["normal", "pain", "Some fever, and pain on breathing", "history", "normalised"],
        ["normal", "cough", "No cough", "history", "exact"],
        ["normal", "fever", "Afebrile.", "physical_examination", "exact"],
    ]
    texts = {"normal": NOTE, "compact": COMPACT}
    for row in spans.to_dict("records"):
        assert texts[row["version"]][row["start"] : row["end"]] == row["text"]
    assert [task(call) for call in ask.calls] == ["extract", "map", "check"]


def test_the_second_question_is_put_in_the_conversation_of_the_first_and_only_takes_away():
    spans, _, ask = annotate(
        {
            "extract": phrases(("cough", "No cough"), ("fever", "Afebrile")),
            "map": pairs({"No cough": "ø cough", "Afebrile": "Afebr"}),
            "check": pairs({"No cough": "Low fever", "Afebrile": ""}),
        }
    )
    assert rows(spans[spans["version"] == "compact"], "text") == [["ø cough"]]
    first, second = ask.calls[1:]
    assert second.messages[:2] == first.messages and second.messages[2].role == "assistant"
    assert json.loads(second.messages[2].content)["pairs"][0] == {"phrase": "No cough", "match": "ø cough"}


def test_a_phrase_that_is_not_verbatim_is_corrected():
    spans, unscored, ask = annotate(
        {
            "extract": phrases(("fever", "slight fever"), ("fever", "Afebrile")),
            "correct": corrections({"slight fever": "Some fever"}),
            "map": pairs({"Some fever": "", "Afebrile": ""}),
            "check": pairs({"Some fever": "", "Afebrile": ""}),
        }
    )
    assert rows(spans, "text", "matched") == [["Some fever", "corrected"], ["Afebrile", "exact"]] and unscored.empty
    assert (
        '"slight fever"' in ask.calls[1].messages[-1].content and '"Afebrile"' not in ask.calls[1].messages[-1].content
    )


@pytest.mark.parametrize(
    ("correct", "reason"),
    [
        (corrections({"slight fever": "mild fever"}), "stands nowhere"),
        (corrections({}), "stands nowhere"),
        (corrections({"slight fever": ""}), "stands nowhere"),
        (TimeoutError("timed out"), "correction failed: timed out"),
    ],
)
def test_a_phrase_that_cannot_be_corrected_is_unscored(correct: Said, reason: str):
    spans, unscored, _ = annotate({"extract": phrases(("fever", "slight fever")), "correct": correct})
    assert spans.empty and reason in unscored["reason"][0] and unscored["detail"][0].startswith("fever: ")


def test_without_corrections_no_question_is_put():
    _, unscored, ask = annotate({"extract": phrases(("fever", "slight fever"))}, max_corrections=0)
    assert len(unscored) == 1 and len(ask.calls) == 1


def test_an_unknown_symptom_is_unscored_and_the_rest_of_the_reply_is_used():
    nothing = pairs({"Afebrile": ""})
    spans, unscored, _ = annotate(
        {"extract": phrases(("nausea", "No cough"), ("fever", "Afebrile")), "map": nothing, "check": nothing}
    )
    assert len(spans) == 1 and unscored["reason"].tolist() == ["unknown symptom"]


@pytest.mark.parametrize("step", ["extract", "map", "check"])
def test_a_failed_question_is_unscored_and_gives_no_spans(step: str):
    confirmed = pairs({"Afebrile": "Afebr"})
    replies = {"extract": phrases(("fever", "Afebrile")), "map": confirmed, "check": confirmed}
    spans, unscored, _ = annotate({**replies, step: ValueError("invalid reply")})
    assert len(spans) == (0 if step == "extract" else 1) and not (spans["version"] == "compact").any()
    assert unscored["reason"].tolist() == ["invalid reply"] and unscored["detail"].tolist() == ["raw reply"]


def test_a_phrase_that_the_reply_passes_over_is_unscored():
    spans, unscored, _ = annotate(
        {"extract": phrases(("fever", "Afebrile")), "map": pairs({"Other": "x"}), "check": pairs({})}
    )
    assert len(spans) == 1 and unscored["reason"].tolist() == ["the reply passes the phrase over"]
