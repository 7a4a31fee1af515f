"""Has patients' notes summarised for a purpose within a limit of words.

A summary above its limit is neither cut nor refused: a cut would remove what its writer put last. It is kept whole,
its length is recorded, and the share of such summaries is a metric of its own (`over_limit`).
"""

from collections.abc import Mapping, Sequence
from itertools import product

import pandas as pd

from schemas.errors import SourceError
from schemas.params.history import Summarise
from schemas.tables.columns import typed
from schemas.tables.visits import HISTORY_SUMMARIES
from tasks.llm.ask_all import ask_texts
from tasks.llm.calls import Ask, Call, unscored_row, unscored_table
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.measures.doclens.citations import number_sentences, without_citations
from tasks.measures.doclens.judging import cites
from tasks.statistics.bootstrap import sample_records
from tasks.texts.document import Document
from tasks.texts.reading import Row

WRITER = "writer"
"""Name of the writer among the systems."""
_WORD = 8
"""Characters of a word and its citation mark, generously."""
_FIELDS = ("patient", "purpose", "words", "text")


def sample_patients(notes: pd.DataFrame, params: Summarise, seed: int) -> list[int]:
    """A seeded sample of the patients of VISIT_NOTES with as many visits as ``params.visits`` allows."""
    visits = notes.groupby("patient")["visit"].size()
    return sample_records(pd.Series(visits.index[visits.between(*params.visits)]), params.patients, seed=seed)


def notes_by_patient(notes: pd.DataFrame) -> dict[int, tuple[str, ...]]:
    """The notes of VISIT_NOTES by patient, in order."""
    ordered = notes.sort_values(["patient", "visit"])
    return {int(patient): tuple(own) for patient, own in ordered.groupby("patient", sort=True)["text"]}


def names_of(summaries: pd.DataFrame) -> pd.Series:
    """The name of each of HISTORY_SUMMARIES among systems, by its own system, purpose and limit."""
    return summaries["system"] + ", " + summaries["purpose"] + ", " + summaries["words"].astype(str) + " words"


def not_citing(summaries: pd.DataFrame) -> pd.Series:
    """Whether each summary is of a system that never cites, other than the writer, who is asked to cite."""
    citing = {system for system, text in zip(summaries["system"], summaries["text"], strict=True) if cites(text)}
    return ~summaries["system"].isin({*citing, WRITER})


async def summarise(notes: pd.DataFrame, ask: Ask, params: Summarise) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Summaries of each patient's notes (VISIT_NOTES): (HISTORY_SUMMARIES, UNSCORED)."""
    calls: dict[tuple[int, str, int], Call] = {}
    for patient, own in notes_by_patient(notes).items():
        numbered = number_sentences(Document(str(patient), own, dialogue=False).units)
        for purpose, words in product(params.purposes, params.words):
            messages = render(__package__, "summary", notes=numbered, purpose=purpose, words=words)
            key, least = f"{patient}/summary/{purpose}/{words}", tokens_needed("x" * words * _WORD, times=2)
            calls[patient, purpose, words] = Call(key, messages, sample=patient, least_tokens=least)
    texts: dict[tuple[int, str, int], str]
    texts, unscored = await ask_texts(ask, calls, _step)
    rows = [_row(*key, WRITER, text, ask.label) for key, text in texts.items()]
    return typed(rows, HISTORY_SUMMARIES), unscored_table(unscored)


def _step(key: tuple[int, str, int]) -> str:
    return f"summary/{key[1]}/{key[2]}"


def _row(patient: int, purpose: str, words: int, system: str, text: str, provenance: str) -> dict[str, object]:
    named = {"patient": patient, "purpose": purpose, "words": words, "system": system, "text": text}
    return {**named, "length": len(without_citations(text).split()), "provenance": provenance}


def outside_summaries(
    outputs: Mapping[str, Sequence[Row]], patients: Sequence[int], params: Summarise
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Summaries of outside systems: (HISTORY_SUMMARIES, UNSCORED of those that a file lacks).

    ``outputs``: rows of each system's file. Summaries of other patients, purposes and limits are not used. Raises
    SourceError for a system named as the writer, and for a row that lacks a field, has no whole number where one is
    expected, or repeats another.
    """
    rows: list[dict[str, object]] = []
    lacking: list[dict[str, str | None]] = []
    for system, given in outputs.items():
        if system == WRITER:
            raise SourceError(f"{system}.jsonl: the writer's own summaries have this name; rename the file")
        texts: dict[tuple[int, str, int], str] = {}
        for row in given:
            if missing := [name for name in _FIELDS if row.values.get(name) in (None, "")]:
                raise SourceError(f"{row.place}: {', '.join(missing)} missing; a summary has {', '.join(_FIELDS)}")
            key = _whole(row, "patient"), str(row.values["purpose"]), _whole(row, "words")
            if key in texts:
                raise SourceError(f"{row.place}: a second summary of patient {key[0]}, {key[1]}, {key[2]} words")
            texts[key] = str(row.values["text"])
        for key in product(patients, params.purposes, params.words):
            if key in texts:
                rows.append(_row(*key, system, texts[key], f"outside: {system}"))
            else:
                lacking.append(unscored_row(key[0], f"{_step(key)} of {system}", "the file has no such summary"))
    return typed(rows, HISTORY_SUMMARIES), unscored_table(lacking)


def _whole(row: Row, name: str) -> int:
    found = str(row.values[name])
    if not found.isdecimal():
        raise SourceError(f"{row.place}: {name} is {found[:40]!r}; expected a whole number")
    return int(found)
