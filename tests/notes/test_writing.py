"""Every record gets a note written for its prompt; records without a note are unscored."""

import asyncio

import pandas as pd

from schemas.tables.metrics import UNSCORED
from schemas.tables.records import FIRST_NOTES
from tasks.domains.rules import load_rules
from tasks.llm.calls import Call
from tasks.notes.prompting import build_prompts
from tasks.notes.writing import MAX_TRIES, sample_index, write_first_notes
from tests.notes.test_replies import note
from tests.support.records import NETWORK, random_records, records_of
from tests.support.scripted import Said, ScriptedAsk


def prompts_of(records: pd.DataFrame) -> pd.DataFrame:
    return build_prompts(records, NETWORK, load_rules(), 7)


def write(prompts: pd.DataFrame, ask: ScriptedAsk, max_tries: int = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    done = asyncio.run(write_first_notes(prompts, ask, max_tries=max_tries))
    FIRST_NOTES.validate(done[0])
    UNSCORED.validate(done[1])
    return done


def numbered(call: Call) -> str:
    """A note that contains the call's sample index; three notes for a shared call."""
    if "three clinical notes" in call.messages[-1].content:
        return "\n---\n".join(note(10 * call.sample + slot) for slot in range(3))
    return note(call.sample)


def test_every_record_gets_a_note_of_its_own_call():
    prompts = prompts_of(random_records(60, symptom_share=0.15))
    notes, unscored = write(prompts, ScriptedAsk(numbered))
    assert list(notes["record"]) == list(range(60)) and unscored.empty
    joined = prompts.merge(notes, on="record")
    for row in joined.to_dict("records"):
        shared = row["kind"] == "unrelated"
        sample = sample_index(row["call"])
        assert row["note"] == note(10 * sample + row["slot"] if shared else sample)


def test_the_system_message_precedes_each_prompt_and_no_two_requests_are_equal():
    ask = ScriptedAsk(numbered)
    write(prompts_of(records_of(*[{"cough": "yes"}] * 30, {}, {}, {})), ask)
    assert all([m.role for m in call.messages] == ["system", "user"] for call in ask.calls)
    assert len({(call.messages, call.sample) for call in ask.calls}) == len(ask.calls) == 31


def test_two_notes_for_three_serve_two_and_the_third_is_asked_for_by_itself():
    prompts = prompts_of(records_of({}, {}, {})).sort_values("slot")

    def script(call: Call) -> Said:
        shared = "three clinical notes" in call.messages[-1].content
        return f"{note(1)}\n---\n{note(2)}" if shared else note(99)

    ask = ScriptedAsk(script)
    notes, unscored = write(prompts, ask)
    assert notes.set_index("record").loc[prompts["record"], "note"].tolist() == [note(1), note(2), note(99)]
    assert unscored.empty and len(ask.calls) == 2
    assert ask.calls[1].messages[-1].content == prompts["single_prompt"].iloc[2]


def test_four_notes_for_three_serve_three():
    notes, _ = write(prompts_of(records_of({}, {}, {})), ScriptedAsk(lambda _: "\n---\n".join(map(note, range(4)))))
    assert sorted(notes["note"]) == [note(0), note(1), note(2)]


def test_whole_notes_of_a_shared_reply_that_was_cut_off_are_used():
    class CutOffError(Exception):
        raw = "\n---\n".join(map(note, range(3)))[:-8]

    def script(call: Call) -> Said:
        return CutOffError("cut off") if "three clinical notes" in call.messages[-1].content else note(99)

    prompts = prompts_of(records_of({}, {}, {})).sort_values("slot")
    notes, unscored = write(prompts, ScriptedAsk(script))
    assert notes.set_index("record").loc[prompts["record"], "note"].tolist() == [note(0), note(1), note(99)]
    assert unscored.empty


def test_a_reply_that_is_no_note_is_asked_for_again_with_the_next_sample():
    ask = ScriptedAsk(lambda call: note(1) if call.sample % 8 == 2 else "**History**\nonly")
    notes, unscored = write(prompts_of(records_of({"cough": "yes"})), ask)
    assert len(notes) == 1 and unscored.empty
    assert [call.sample for call in ask.calls] == [0, 1, 2]


def test_a_record_without_a_note_is_unscored_with_the_raw_reply():
    def script(call: Call) -> Said:
        return "no note" if call.key.startswith("0/") else TimeoutError("timed out")

    notes, unscored = write(prompts_of(records_of({"cough": "yes"}, {"pain": "yes"})), ScriptedAsk(script), max_tries=2)
    assert notes.empty and list(unscored["record"]) == ["0", "1"]
    assert unscored["detail"].tolist() == ["no note", "raw reply"] and "timed out" in unscored["reason"][1]


def test_the_largest_number_of_tries_leaves_a_shared_record_unscored_rather_than_failing():
    notes, unscored = write(prompts_of(records_of({})), ScriptedAsk(lambda _: "no note"), max_tries=MAX_TRIES)
    assert notes.empty and list(unscored["record"]) == ["0"]
