"""Notes are asked for, read from replies, compacted, and compared with the published prompts."""

import asyncio

import pandas as pd

from schemas.tables.metrics import UNSCORED
from schemas.tables.records import COMPACT_NOTES, FIRST_NOTES
from tasks.domains.rules import load_rules
from tasks.judges.simulated_notes import gold_tables, write_gold
from tasks.llm.calls import Call
from tasks.notes.prompting import build_prompts
from tasks.notes.writing import compact_notes, read_note, read_notes, sample_index, write_first_notes
from tests.support.cases import each
from tests.support.records import NETWORK, random_records, records_of
from tests.support.scripted import DirectAsk, Said, ScriptedAsk


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


def test_notes_whose_truth_is_known_are_those_that_the_simulator_writes():
    prompts = prompts_of(random_records(30, symptom_share=0.15))
    notes, _ = write(prompts, DirectAsk("vignette-writer"))
    known, compact = gold_tables(write_gold(prompts))
    columns = ["record", "attempt", "note"]
    pd.testing.assert_frame_equal(known[columns], notes[columns], check_dtype=False)
    assert len(compact) == len(known) and known["consistent"].all()


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


NOTE = "**History**\nCough for {} days.\n\n**Physical Examination**\nLungs clear."


def note(n: int) -> str:
    return NOTE.format(n)


def together(count: int, between: str) -> tuple[str, list[str]]:
    """A reply with so many notes, and the notes."""
    notes = [note(n) for n in range(count)]
    return between.join(notes), notes


UNDERLINED = "History\n-------\nCough.\n\nPhysical Examination\n====\nClear."
PLAIN = "History\nCough.\n\nPhysical Examination\nClear."
REPLIES = [
    # without fence, title and separator
    (f"```\n{note(3)}\n```", [note(3)]),
    (f"```markdown\n{note(3)}\n```\n", [note(3)]),
    (f"**Clinical Note**\n\n{note(3)}", [note(3)]),
    (f"# Note 1\n{note(3)}\n---\n", [note(3)]),
    (f"  {note(3)}\n\n", [note(3)]),
    # no whole note
    ("", []),
    ("I cannot write this note.", []),
    ("**History**\nCough.", []),
    ("**History**\n\n**Physical Examination**\nLungs clear.", []),
    ("**History**\nCough.\n\n**Physical Examination**\n", []),
    # several notes, of which a part without both sections is none
    *(together(n, between) for n in (1, 2, 3, 4) for between in ("\n---\n", "\n\n---\n\n", "\n\n", "\n***\n")),
    together(3, "\n\n**Note 2**\n\n"),
    (f"```markdown\n{note(0)}\n---\n{note(1)}\n```", [note(0), note(1)]),
    (f"```\n{note(0)}\n```\n---\n```\n{note(1)}\n```", [note(0), note(1)]),
    (f"```\n{note(0)}\n```\n\n```\n{note(1)}\n```", [note(0), note(1)]),
    (f"```\n{note(0)}\n```\n\n**Note 2**\n\n```text\n{note(1)}\n```", [note(0), note(1)]),
    (f"```\n```\n{note(3)}\n```\n```", [note(3)]),
    (f"{note(1)}\n---\n**History**\nBack pain.\n---\n{note(3)}", [note(1), note(3)]),
    # a heading underlined with dashes separates no notes
    *(("\n\n---\n\n".join([UNDERLINED] * n), [PLAIN] * n) for n in (2, 3)),
]


@each("reply, notes", REPLIES)
def test_the_whole_notes_of_a_reply_are_read(reply: str, notes: list[str]):
    assert read_notes(reply) == notes
    assert read_note(reply) == (notes[0] if len(notes) == 1 else None)


@each(
    "form",
    [
        "History: {}\nPE: {}",
        "### History\n{}\n### Physical Exam\n{}",
        "Hx: {}\nExam: {}",
        "**History of Present Illness (HPI):**\n{}\n\n**Physical Examination (PE):**\n{}",
        "**1. History**\n{}\n\n**2. Physical Examination**\n{}",
        "## 1. Present History\n{}\n\n## 2. Phys. Ex.\n{}",
        "- **History**: {}\n- **Physical Examination**: {}",
        "**History and Symptoms**\n{}\n\n**Physical Examination Findings**\n{}",
        "**History**\nTold:\n- Exam: {}\n- History: long\n\n**Physical Examination**\n- Physical: {}",  # lists
    ],
)
def test_headings_as_models_write_them(form: str):
    reply = form.format("cough", "lungs clear")
    assert read_notes(reply) == [reply]


def test_the_last_note_of_a_reply_that_was_cut_off_is_not_used():
    reply, notes = together(3, "\n---\n")
    assert read_notes(reply[:-5], cut_off=True) == notes[:2]
    assert read_notes(note(0)[:-5], cut_off=True) == []


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
