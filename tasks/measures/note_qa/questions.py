"""Questions with five answer choices about a patient's notes, and the quality of the choices (EHRNoteQA, Section 3)."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.measures import NoteQa
from schemas.tables.columns import typed
from schemas.tables.note_qa import LETTERS, QUESTIONS
from tasks.measures.note_qa.patients import level
from tasks.statistics.metric_rows import Row, mean_row

_WORD = re.compile(r"[a-z0-9][a-z0-9.'-]*[a-z0-9]|[a-z0-9]")
_STOP_WORDS = frozenset(
    ["the", "and", "for", "was", "were", "with", "that", "this", "from", "not", "has", "had", "have", "but", "are"]
)


def question_row(
    name: str, patient: str, notes: pd.DataFrame, params: NoteQa, *, choices: Sequence[str], **columns: Any
) -> dict[str, Any]:
    """Row of QUESTIONS about a patient, whose ``notes`` (normal version) it counts and measures.

    ``columns``: origin, wording, answer and provenance; kind is the origin, reason none, and answerable true, unless
    they are given.
    """
    tokens = int(notes["tokens"].sum())
    size = {"notes": len(notes), "tokens": tokens, "level": level(tokens, params.level_tokens)}
    known = {"question": name, "patient": patient, "choices": json.dumps(list(choices)), **size}
    return {**known, "kind": columns["origin"], "answerable": True, "reason": None, **columns}


def question_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a QUESTIONS table, sorted by id."""
    return typed(rows, QUESTIONS).sort_values("question", ignore_index=True)


def unfit(choices: Sequence[str], right: str) -> str | None:
    """The reason why answer choices cannot be used, or None (Section 3.3 and Appendix A.2).

    Choices must be five different texts with a letter A-E for the right one, which must not be longer than 20
    characters and 1.5 times the longest of the others.
    """
    texts = [" ".join(choice.split()).casefold() for choice in choices]
    if len(texts) != len(LETTERS) or not all(texts):
        return "not five choices"
    if len(set(texts)) < len(texts):
        return "two choices are the same"
    if right.strip().upper() not in LETTERS:
        return "no letter for the right choice"
    own = len(texts[LETTERS.index(right.strip().upper())])
    much_longer = own > 1.5 * sorted(map(len, texts))[-2] and own > 20
    return "the right choice is far the longest" if much_longer else None


def right_is_longest(choices: Sequence[str], right: str) -> bool:
    """Whether the right choice is longer than every other; expected in a fifth of fair questions."""
    lengths = [len(choice) for choice in choices]
    own = lengths.pop(LETTERS.index(right))
    return own > max(lengths)


def length_ratio(choices: Sequence[str]) -> float:
    """Length of the shortest choice over the longest, in characters: 0-1, 1 when all have the same length."""
    lengths = [len(choice) for choice in choices]
    return min(lengths) / max(lengths)


def grounded_share(choice: str, notes: str) -> float:
    """Share (0-1) of a choice's content words that occur in the notes; 1 for a choice without content words."""
    words = {word for word in _WORD.findall(choice.lower()) if len(word) > 2 and word not in _STOP_WORDS}
    held = set(_WORD.findall(notes.lower()))
    return len(words & held) / len(words) if words else 1.0


def question_rows(questions: pd.DataFrame, notes: pd.DataFrame, seed: int) -> list[Row]:
    """Fairness of the choices by origin: right one longest, similar lengths, distractors grounded in the notes."""
    texts = notes[notes["version"] == "normal"].groupby("patient")["note"].agg("\n".join)
    rows: list[Row] = []
    for origin, group in questions.groupby("origin"):
        measures: dict[str, list[float]] = {"right_is_longest": [], "length_ratio": [], "distractors_in_notes": []}
        for question in group.itertuples():
            choices = json.loads(question.choices)
            distractors = [choice for letter, choice in zip(LETTERS, choices, strict=True) if letter != question.answer]
            grounded = [grounded_share(choice, texts[question.patient]) for choice in distractors]
            measures["right_is_longest"].append(right_is_longest(choices, question.answer))
            measures["length_ratio"].append(length_ratio(choices))
            measures["distractors_in_notes"].append(float(np.mean(grounded)))
        for metric, values in measures.items():
            values_of = np.array(values, dtype=float)
            keys = {"system": "questions", "item": "all", "condition": origin}
            rows.append(mean_row(metric, values_of, clusters=group["patient"], seed=seed, **keys))
    return rows
