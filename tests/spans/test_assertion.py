"""What spans assert: the request, the use of the reply, and the shares made of it."""

import asyncio

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.records import SPANS
from tasks.llm.calls import Call
from tasks.spans.assertion import (
    AssertionReply,
    add_record_values,
    assertion_statistics,
    state_assertions,
)
from tests.support.records import span_row
from tests.support.scripted import ScriptedAsk

NOTE, COMPACT = "Dry cough at night.\nNo fever, no pain.", "Cough, ø fever."
TEXTS = {"normal": {4: NOTE}, "compact": {4: COMPACT}}
LABELS = {"cough": "cough", "fever": "fever"}


def spans() -> pd.DataFrame:
    rows = [
        span_row(4, "compact", "cough", "Cough"),
        span_row(4, "normal", "cough", "Dry cough"),
        span_row(4, "normal", "fever", "No fever", start=20),
    ]
    return typed(rows, SPANS).assign(assertion=None).astype({"assertion": "str"})


def reply(*stated: tuple[int, str]) -> AssertionReply:
    return AssertionReply.model_validate({"assertions": [{"number": n, "assertion": a} for n, a in stated]})


def test_one_request_shows_both_versions_and_each_phrase_with_its_sentence() -> None:
    ask = ScriptedAsk(lambda _: reply((1, "present"), (2, "present"), (3, "absent")))
    found, failures = asyncio.run(state_assertions(spans(), TEXTS, LABELS, ask))
    (call,) = ask.calls
    said = call.messages[-1].content
    assert NOTE in said and COMPACT in said
    assert '3. [full] fever: "No fever" in "No fever, no pain."' in said
    assert found["assertion"].tolist() == ["present", "present", "absent"] and failures == []
    SPANS.validate(found)


def test_a_phrase_that_the_reply_passes_over_has_no_assertion_and_is_named() -> None:
    ask = ScriptedAsk(lambda _: reply((1, "present"), (3, "absent"), (9, "past")))
    found, failures = asyncio.run(state_assertions(spans(), TEXTS, LABELS, ask))
    assert found["assertion"].isna().tolist() == [False, True, False]
    (row,) = failures
    assert (row["record"], row["step"], row["detail"]) == ("4", "assertion", "cough: Dry cough")


def test_a_failed_call_leaves_the_spans_in_place() -> None:
    def fail(_: Call) -> Exception:
        return RuntimeError("HTTP 500")

    found, failures = asyncio.run(state_assertions(spans(), TEXTS, LABELS, ScriptedAsk(fail)))
    assert len(found) == 3 and found["assertion"].isna().all() and len(failures) == 1


def test_shares_and_agreement_with_the_record() -> None:
    records = pd.DataFrame({"record": [4], "cough": ["no"], "fever": ["none"]})
    said = add_record_values(spans(), records, ["cough", "fever"]).assign(assertion=["past", "present", "absent"])
    table = assertion_statistics(said, {"cough": "no", "fever": "none"}, seed=0, provenance="p")
    values = table.set_index(["condition", "metric"])["value"]
    assert values["normal", "share_present"] == values["normal", "share_absent"] == 0.5
    assert values["normal", "agrees"] == 0.5  # the fever is rightly denied; the cough that the record has not is not
    assert values["compact", "share_other"] == 1 and values["compact", "agrees"] == 0
