"""Notes are parsed from the reply formats of real models, and doubtful replies are rejected."""

import pytest

from tasks.notes.writing import read_note, read_notes

NOTE = "**History**\nCough for {} days.\n\n**Physical Examination**\nLungs clear."


def note(n: int) -> str:
    return NOTE.format(n)


@pytest.mark.parametrize(
    "reply",
    [
        note(3),
        f"```\n{note(3)}\n```",
        f"```markdown\n{note(3)}\n```\n",
        f"**Clinical Note**\n\n{note(3)}",
        f"# Note 1\n{note(3)}\n---\n",
        f"  {note(3)}\n\n",
    ],
)
def test_a_note_is_read_without_fence_title_and_separator(reply: str):
    assert read_note(reply) == note(3)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot write this note.",
        "**History**\nCough.",
        "**History**\n\n**Physical Examination**\nLungs clear.",
        "**History**\nCough.\n\n**Physical Examination**\n",
        f"{note(1)}\n---\n{note(2)}",
        f"{note(1)}\n\n{note(2)}",
    ],
)
def test_a_reply_without_a_whole_single_note_is_none(reply: str):
    assert read_note(reply) is None


@pytest.mark.parametrize(
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
    ],
)
def test_headings_as_models_write_them(form: str):
    reply = form.format("cough", "lungs clear")
    assert read_note(reply) == reply


def test_a_list_in_a_section_opens_no_other():
    text = "**History**\nTold:\n- Exam: passed it\n- History: long\n\n**Physical Examination**\n- Physical: well"
    assert read_notes(text) == [text]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_heading_underlined_with_dashes_does_not_separate_notes(count: int):
    notes = [f"History\n-------\nCough {n}.\n\nPhysical Examination\n====\nClear." for n in range(count)]
    plain = [note.replace("-------\n", "").replace("====\n", "") for note in notes]
    assert read_notes("\n\n---\n\n".join(notes)) == plain


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("between", ["\n---\n", "\n\n---\n\n", "\n\n", "\n\n**Note 2**\n\n", "\n***\n"])
def test_notes_are_separated(count: int, between: str):
    assert read_notes(between.join(note(n) for n in range(count))) == [note(n) for n in range(count)]


def test_the_last_note_of_a_reply_that_was_cut_off_is_not_used():
    reply = "\n---\n".join(note(n) for n in range(3))
    assert read_notes(reply[:-5], cut_off=True) == [note(0), note(1)]
    assert read_notes(note(0)[:-5], cut_off=True) == []


def test_several_notes_are_read_from_a_code_fence():
    assert read_notes(f"```markdown\n{note(0)}\n---\n{note(1)}\n```") == [note(0), note(1)]


def test_a_part_without_both_sections_is_left_out():
    reply = f"{note(1)}\n---\n**History**\nBack pain.\n---\n{note(3)}"
    assert read_notes(reply) == [note(1), note(3)]
