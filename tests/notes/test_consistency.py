"""Flagged notes are rewritten, every attempt is kept, and a failed check neither flags nor passes a note."""

import asyncio

import pandas as pd

from schemas.tables.records import ATTEMPTS, NOTES
from tasks.llm.calls import Call
from tasks.notes.consistency import ConsistencyReply, filter_notes, filtering_metrics, spans_rows
from tests.notes.test_writing import note, prompts_of
from tests.support.records import records_of
from tests.support.scripted import Said, ScriptedAsk

PROMPTS = prompts_of(records_of({"cough": "yes"}, {"COPD": "yes"}, {}, {"fever": "high"}))
FIRST = pd.DataFrame({"record": range(4), "attempt": 0, "note": [note(r) for r in range(4)], "provenance": "scripted"})


def run(check, write=lambda call: note(100 + call.sample), max_attempts: int = 3):
    asked = ScriptedAsk(check), ScriptedAsk(write)
    done = asyncio.run(filter_notes(PROMPTS, FIRST, *asked, max_attempts=max_attempts, max_tries=2))
    ATTEMPTS.validate(done[0])
    NOTES.validate(done[1])
    return (*done, *asked)


def flags(*wrong: str):
    def script(call: Call) -> Said:
        held = any(text in call.messages[-1].content for text in wrong)
        return ConsistencyReply(consistent=not held, explanation="wrong" if held else "")

    return script


def test_a_flagged_note_is_replaced_and_both_attempts_are_kept():
    attempts, notes, unscored, _, writer = run(flags("for 1 days", "for 3 days"))
    assert attempts[["record", "attempt"]].to_numpy().tolist() == [[0, 0], [1, 0], [1, 1], [2, 0], [3, 0], [3, 1]]
    assert notes["attempt"].tolist() == [0, 1, 0, 1] and notes["consistent"].all() and unscored.empty
    assert attempts["explanation"].tolist() == ["", "wrong", "", "", "wrong", ""]
    assert [call.messages[-1].content for call in writer.calls] == PROMPTS["prompt"][[1, 3]].tolist()
    assert len({call.sample for call in writer.calls}) == 2


def test_a_note_that_stays_flagged_is_kept_as_inconsistent():
    attempts, notes, _, annotator, writer = run(flags("days"), max_attempts=2)
    assert len(attempts) == 8 and notes["attempt"].tolist() == [1] * 4 and not notes["consistent"].any()
    assert (len(annotator.calls), len(writer.calls)) == (8, 4), "no note is written that would not be checked"


def test_a_note_from_a_prompt_for_three_is_rewritten_from_that_prompt():
    """SimSUM regenerates with the same prompt as before; the record keeps its place among the three notes."""
    assert PROMPTS["kind"][2] == "unrelated"
    three = "\n---\n".join(note(100 + slot) for slot in range(3))
    _, notes, unscored, _, writer = run(flags("for 2 days"), lambda call: three)
    assert [call.messages[-1].content for call in writer.calls] == [PROMPTS["prompt"][2]]
    assert notes["note"][2] == note(100 + PROMPTS["slot"][2]) and unscored.empty
    *_, unscored, _, _ = run(flags("for 2 days"), lambda call: "History: dry cough.")
    said = "the reply has 0 notes with a history and a physical examination; expected 3, of which number 1 is wanted"
    assert unscored["reason"].tolist() == [said]


def test_a_check_without_verdict_is_unscored_and_counts_in_no_share():
    def check(call: Call) -> Said:
        return ValueError("invalid reply") if call.key.startswith("0/") else flags("for 1 days")(call)

    attempts, notes, unscored, _, _ = run(check)
    assert unscored["record"].tolist() == ["0"] and unscored["reason"].tolist() == ["invalid reply"]
    assert attempts["consistent"].isna().tolist() == [True, False, False, False, False]
    assert not notes["consistent"][0] and notes["note"][0] == note(0)
    kinds = dict(zip(PROMPTS["record"], PROMPTS["kind"], strict=True))
    rows = filtering_metrics(attempts, kinds, seed=7, annotator="scripted").set_index(["item", "condition", "metric"])
    flagged = rows.loc[("all", "check", "flagged_first")]
    assert (flagged["value"], flagged["n"], flagged["unscored"]) == (1 / 3, 3, 1)
    assert rows.loc[("all", "check", "kept_regenerated"), "value"] == 0.25


def test_a_replacement_without_verdict_is_kept_as_not_flagged_and_no_first_note_is_unscored():
    def check(call: Call) -> Said:
        return ValueError("invalid reply") if call.key.endswith("/1") else flags("for 1 days")(call)

    attempts, notes, unscored, _, _ = run(check)
    assert notes["attempt"].tolist() == [0, 1, 0, 0] and notes["consistent"].tolist() == [True, False, True, True]
    assert unscored[["record", "step"]].to_numpy().tolist() == [["1", "consistency/1"]]
    kinds = dict(zip(PROMPTS["record"], PROMPTS["kind"], strict=True))
    rows = filtering_metrics(attempts, kinds, seed=7, annotator="scripted").set_index(["item", "condition", "metric"])
    flagged = rows.loc[("all", "check", "flagged_first")]
    assert (flagged["value"], flagged["n"], flagged["unscored"]) == (0.25, 4, 0)
    kept = {name: rows.loc[("all", "check", f"kept_{name}"), "value"] for name in ("first", "regenerated", "flagged")}
    assert kept == {"first": 0.75, "regenerated": 0.25, "flagged": 0}


def test_a_writer_that_fails_leaves_the_note_that_is_there():
    _, notes, unscored, _, _ = run(flags("for 1 days"), lambda call: TimeoutError("timed out"))
    assert notes["note"].tolist() == FIRST["note"].tolist() and not notes["consistent"][1]
    assert unscored[["record", "step"]].to_numpy().tolist() == [["1", "regenerate"]]


def test_a_note_kept_although_flagged_is_no_first_note_that_was_kept():
    """With one attempt, a flagged note is not replaced; its length is that of a flagged note."""
    attempts, *_ = run(flags("for 1 days"), max_attempts=1)
    kinds = dict(zip(PROMPTS["record"], PROMPTS["kind"], strict=True))
    rows = filtering_metrics(attempts, kinds, seed=7, annotator="scripted").set_index(["item", "condition", "metric"])
    lengths = [rows.loc[("all", group, "words_per_note"), "n"] for group in ("first", "flagged", "regenerated")]
    assert lengths == [3, 1, 0]
    spans = pd.DataFrame({"record": [0, 0, 1], "version": "normal"})
    rows = spans_rows(attempts, spans, (), seed=7, provenance="scripted").set_index("condition")
    assert (rows.loc["kept_first", "value"], rows.loc["kept_first", "n"]) == (2 / 3, 3)


def test_spans_of_regenerated_notes_are_compared_with_those_of_first_notes():
    attempts, _, _, _, _ = run(flags("for 1 days"))
    spans = pd.DataFrame({"record": [0, 0, 1, 1, 1, 1], "version": "normal"})
    rows = spans_rows(attempts, spans, (), seed=7, provenance="scripted").set_index("condition")
    assert rows.loc["kept_first", "value"] == 2 / 3 and rows.loc["kept_regenerated", "value"] == 4
    difference = rows.loc["kept_regenerated - kept_first"]
    assert difference["value"] == 4 - 2 / 3 and pd.isna(difference["low"]), "one regenerated note has no interval"


def test_a_note_whose_spans_are_not_all_known_is_unscored_and_not_a_note_without_spans():
    attempts, _, _, _, _ = run(flags("for 1 days"))
    spans = pd.DataFrame({"record": [0, 0, 1, 1, 1, 1], "version": "normal"})
    rows = spans_rows(attempts, spans, {2}, seed=7, provenance="scripted").set_index("condition")
    found = rows.loc[["kept_first", "kept_regenerated", "kept_regenerated - kept_first"], ["value", "n", "unscored"]]
    assert found.to_numpy().tolist() == [[1, 2, 1], [4, 1, 0], [3, 3, 1]]
