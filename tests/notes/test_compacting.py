"""The compact version is requested in the conversation that wrote the note."""

import asyncio

import pandas as pd

from schemas.tables.records import COMPACT_NOTES
from tasks.notes.writing import compact_notes
from tests.notes.test_replies import note
from tests.notes.test_writing import prompts_of
from tests.support.records import records_of
from tests.support.scripted import ScriptedAsk

PROMPTS = prompts_of(records_of({"cough": "yes"}, {}, {}, {}))
NOTES = pd.DataFrame({"record": range(4), "attempt": [1, 0, 0, 0], "note": [note(r) for r in range(4)]})
COMPACT = "**Hx**\nCough x3d.\n\n**PE**\nLungs CTA."


def run(script, max_tries: int = 2):
    ask = ScriptedAsk(script)
    compact, unscored = asyncio.run(compact_notes(PROMPTS, NOTES, ask, max_tries=max_tries))
    COMPACT_NOTES.validate(compact)
    return compact, unscored, ask


def test_the_conversation_holds_the_prompt_and_the_note_of_this_record_alone():
    compact, unscored, ask = run(lambda call: COMPACT)
    assert compact["compact"].tolist() == [COMPACT] * 4 and unscored.empty
    for record, call in enumerate(ask.calls):
        system, prompt, written, request = call.messages
        assert [m.role for m in call.messages] == ["system", "user", "assistant", "user"]
        assert prompt.content == PROMPTS["single_prompt"][record] and written.content == note(record)
        assert "three" not in prompt.content and request.content.startswith("Task: write the compact version")
        assert system.content.startswith("You are a general practitioner")


def test_a_reply_without_sections_is_asked_for_again_and_then_unscored():
    compact, unscored, ask = run(lambda call: "Pt w/ cough." if call.key.startswith("2/") else COMPACT)
    assert compact["record"].tolist() == [0, 1, 3] and len(ask.calls) == 5
    assert unscored[["record", "step", "detail"]].to_numpy().tolist() == [["2", "compact", "Pt w/ cough."]]


def test_requests_of_two_records_differ_even_for_equal_notes():
    _, _, ask = run(lambda call: COMPACT)
    assert len({call.sample for call in ask.calls}) == 4
