"""Has questions answered, as multiple choice and in free text (EHRNoteQA, Sections 4 and 4.1)."""

import json
import re
from collections.abc import Mapping, Sequence

import pandas as pd

from schemas.params.note_qa import NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.evaluation.note_qa.notes_text import NO_NOTES, texts_by_patient
from tasks.llm.calls import Ask, Call
from tasks.llm.prompts import render

_NAMED = r"(?i:(?:the\s+)?(?:correct\s+|right\s+|best\s+)?(?:answer|choice|option)(?:\s+is)?)"
_ALONE = r"(?![A-Za-z0-9'’]|\s[a-z])"
"""What follows a letter that is no word: ``A`` of ``A: dry skin``, not of ``A dry skin``."""
_LEADING = re.compile(
    rf"^\W*(?:{_NAMED}\W*)?(?:([A-E]){_ALONE}|([A-E])\s+is\s+(?:the\s+)?(?:correct|right|best|answer)\b)"
)
_BOXED = re.compile(r"\\boxed\{\s*(?:\\text\{)?\W*([A-E])\W")
_CONCLUDING = re.compile(
    r"\b(?i:(?:answer|(?:correct|right|best)\s+(?:choice|option))\s*(?:\bis\b|:)\W*(?:(?:choice|option)\s+)?)"
    rf"\b([A-E]){_ALONE}"
)
_COLUMNS = ["patient", "question", "version", "form", "output", "letter", "provenance"]


def named_letter(output: str, choices: Sequence[str]) -> str | None:
    """The letter that an answer names, or None.

    That is the only letter at its beginning, in a box, or called the answer; without any, the letter of the only choice
    whose text it repeats.
    """
    found = _LEADING.match(output.strip())
    leading = {found[1] or found[2]} if found else set()
    letters = leading | set(_BOXED.findall(output)) | set(_CONCLUDING.findall(output))
    if letters:
        return letters.pop() if len(letters) == 1 else None
    text = output.casefold()
    named = [letter for letter, choice in zip(LETTERS, choices, strict=True) if choice.casefold() in text]
    # A choice whose text is part of another named choice ("Rash" in "Dry rash") was not meant.
    texts = {letter: choices[LETTERS.index(letter)] for letter in named}
    longest = [a for a in named if not any(texts[a] in texts[b] for b in named if b != a)]
    return longest[0] if len(longest) == 1 else None


async def answer_questions(
    questions: pd.DataFrame, notes: pd.DataFrame, params: NoteQa, ask: Ask
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ask every question with each version of the notes, in each form: (ANSWERS, UNSCORED)."""
    forms = ["multiple_choice", *(["free_text"] if params.free_text else [])]
    return await answer_from(questions, texts_by_patient(notes), params.versions, forms, ask)


async def answer_from(
    questions: pd.DataFrame,
    texts: Mapping[tuple[str, str], str],
    versions: Sequence[str],
    forms: Sequence[str],
    ask: Ask,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ask every question with each text of its patient, in each form: (ANSWERS, UNSCORED).

    ``texts``: notes by patient and version, as `notes_text` gives them.
    """
    asked = [
        (row, version, form)
        for row in questions.sort_values("question").to_dict("records")
        for version in versions
        if (row["patient"], version) in texts
        for form in forms
    ]
    answers = await ask([_call(row, version, form, texts[row["patient"], version]) for row, version, form in asked])
    rows, unscored = [], []
    for (row, version, form), answer in zip(asked, answers, strict=True):
        if answer.text is None or not answer.text.strip():
            unscored.append(
                (row["question"], f"note_qa/answer/{form}/{version}", answer.failure or "empty", answer.raw)
            )
            continue
        letter = named_letter(answer.text, json.loads(row["choices"])) if form == "multiple_choice" else None
        rows.append((row["patient"], row["question"], version, form, answer.text, letter, ask.label))
    columns = ["record", "step", "reason", "detail"]
    frame = pd.DataFrame(rows, columns=_COLUMNS).astype(dict.fromkeys(_COLUMNS, "str"))
    return frame, pd.DataFrame(unscored, columns=columns).astype(dict.fromkeys(columns, "str"))


def _call(row: Mapping, version: str, form: str, notes: str) -> Call:
    key = f"{row['question']}/{form}/{version}"
    fields = {"notes": notes, "given": notes != NO_NOTES, "question": row["wording"]}
    if form == "free_text":
        return Call(key, render(__package__, "answer_free", **fields))
    choices = list(zip(LETTERS, json.loads(row["choices"]), strict=True))
    return Call(key, render(__package__, "answer_choice", **fields, choices=choices))
