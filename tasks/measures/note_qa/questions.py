"""Questions with five answer choices about a patient's notes: their quality, those of a model, and those of EHRNoteQA.

A model generates them in two steps, question then choices (EHRNoteQA, Sections 3 and 3.2, Appendix A). The user's
MIMIC-IV discharge summaries and EHRNoteQA.jsonl are credentialed: they are read in place, without copies.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from pydantic import field_validator

from schemas.errors import SourceError
from schemas.params.measures import NoteQa
from schemas.tables.columns import typed
from schemas.tables.note_qa import LETTERS, PATIENT_NOTES, QUESTIONS
from tasks.llm.ask_all import Unscored, ask_all
from tasks.llm.calls import Ask, Call, Reply, unscored_row
from tasks.llm.prompts import render
from tasks.measures.note_qa.patients import are_dated, level, notes_text, reduce_whitespace, token_counter
from tasks.statistics.metric_rows import Row, mean_row, metric_row
from tasks.transport.untrusted import json_lines

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


def patient_of(question: str) -> str:
    """The patient, or document, of a question by its id, ``PATIENT/origin/NUMBER``."""
    return question.rsplit("/", 2)[0]


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
    return len(words & _words_of(notes)) / len(words) if words else 1.0


@lru_cache(maxsize=4)
def _words_of(notes: str) -> frozenset[str]:
    """The words of notes, which are read once for all choices of a patient's questions."""
    return frozenset(_WORD.findall(notes.lower()))


def question_rows(questions: pd.DataFrame, notes: pd.DataFrame) -> list[Row]:
    """Fairness of the choices by origin: right one longest, similar lengths, distractors grounded in the notes.

    ``right_choices`` is the number of right answers at each letter.
    """
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
        keys = {"system": "questions", "condition": origin}
        for metric, values in measures.items():
            rows.append(mean_row(metric, values, clusters=group["patient"], item="all", **keys))
        for letter, count in group["answer"].value_counts().reindex(LETTERS, fill_value=0).items():
            rows.append(metric_row("right_choices", int(count), n=len(group), item=str(letter), **keys))
    return rows


STEP = "note_qa/generate"
_ORDER = 806
_LETTER = re.compile(r"\W*(?:(?:answer|choice|option)\W+)?([A-E])(?:\W|$)", re.IGNORECASE)
"""The letter of ``B``, ``b.``, ``(B) Dry skin``, ``Option B``."""


class AskedQuestion(Reply):
    """A question about a patient's notes, its answer, and why it is the answer."""

    question: str
    answer: str
    reason: str


class AnswerChoices(Reply):
    """Five answer choices, why one of them is right, and its letter."""

    A: str
    B: str
    C: str
    D: str
    E: str
    reason: str
    correct: str

    @field_validator("correct")
    @classmethod
    def _is_a_letter(cls, given: str) -> str:
        found = _LETTER.match(given.strip())
        return found[1].upper() if found else given

    @property
    def texts(self) -> list[str]:
        """The choices, A to E."""
        return [getattr(self, letter) for letter in LETTERS]


def generated_row(
    name: str, notes: pd.DataFrame, wording: str, choices: AnswerChoices, params: NoteQa, label: str
) -> dict:
    """Row of QUESTIONS of a generated question; ``notes`` are the patient's."""
    known = {"origin": "generated", "wording": wording, "answer": choices.correct.strip().upper()}
    patient = str(notes["patient"].iloc[0])
    about = {"choices": choices.texts, "reason": choices.reason, "provenance": label}
    return question_row(name, patient, notes, params, **known, **about)


def normal_notes(notes: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The notes of PATIENT_NOTES in the normal version by patient, in order."""
    normal = notes[notes["version"] == "normal"].sort_values(["patient", "position"])
    return {str(patient): own for patient, own in normal.groupby("patient")}


def in_random_order(choices: AnswerChoices, name: str, seed: int) -> AnswerChoices:
    """The choices of the question called ``name``, shuffled by name and ``seed``: a model may prefer some letters."""
    order = np.random.default_rng([seed, _ORDER, crc32(name.encode())]).permutation(len(LETTERS))
    texts = dict(zip(LETTERS, [choices.texts[i] for i in order], strict=True))
    right = LETTERS[order.tolist().index(LETTERS.index(choices.correct.strip().upper()))]
    return choices.model_copy(update={**texts, "correct": right})


async def generated_questions(
    notes: pd.DataFrame, params: NoteQa, ask: Ask, *, seed: int
) -> tuple[pd.DataFrame, Unscored]:
    """Generate ``params.generated_questions`` questions per patient: QUESTIONS, and those that failed.

    Unfit choices (`unfit`) are requested again, up to ``params.generation_attempts`` times in all; after that the
    question is dropped and counted as unscored. A question that was asked before is dropped, too.
    """
    groups = normal_notes(notes)
    asked: dict[str, list[str]] = {patient: [] for patient in groups}
    rows, unscored = [], list[dict[str, str | None]]()
    for number in range(1, params.generated_questions + 1):
        patients = {f"{patient}/generated/{number}": patient for patient in groups}
        calls = {
            name: _question_call(name, groups[patient], asked[patient], params) for name, patient in patients.items()
        }
        found, failed = await ask_all(ask, calls, AskedQuestion, STEP)
        again = [name for name, one in found.items() if one.question in asked[patients[name]]]
        failed += [unscored_row(name, STEP, "the same question again", found.pop(name).question) for name in again]
        texts = {name: (notes_text(groups[patients[name]]), one.question) for name, one in found.items()}
        choices, unfit_ones = await _ask_choices(texts, params, ask)
        for name, chosen in choices.items():
            chosen = in_random_order(chosen, name, seed)
            rows.append(generated_row(name, groups[patients[name]], found[name].question, chosen, params, ask.label))
        for name, one in found.items():
            asked[patients[name]].append(one.question)
        unscored += [*failed, *unfit_ones]
    return question_table(rows), unscored


def _question_call(name: str, notes: pd.DataFrame, asked: list[str], params: NoteQa) -> Call:
    fields = {"notes": notes_text(notes), "asked": list(asked), "several": len(notes) > 1, "dated": are_dated(notes)}
    messages = render(__package__, "question", **fields)
    return Call(f"{name}/question", messages, AskedQuestion, temperature=params.generation_temperature)


async def _ask_choices(
    questions: Mapping[str, tuple[str, str]], params: NoteQa, ask: Ask
) -> tuple[dict[str, AnswerChoices], Unscored]:
    """Fit choices of questions (notes and wording by name), and the last problem of each question without any."""
    done: dict[str, AnswerChoices] = {}
    problems: dict[str, dict[str, str | None]] = {}
    for attempt in range(params.generation_attempts):
        calls = {
            name: Call(
                f"{name}/choices",
                render(__package__, "choices", notes=notes, question=wording),
                AnswerChoices,
                sample=attempt,
                temperature=params.generation_temperature,
            )
            for name, (notes, wording) in questions.items()
            if name not in done
        }
        found, failed = await ask_all(ask, calls, AnswerChoices, STEP)
        problems |= {str(row["record"]): row for row in failed}
        for name, choices in found.items():
            if problem := unfit(choices.texts, choices.correct):
                problems[name] = unscored_row(name, STEP, problem, choices.model_dump_json())
            else:
                done[name] = choices
    return done, [row for name, row in problems.items() if name not in done]


_SAMPLE = 804
DISCHARGE = ("discharge.csv.gz", "discharge.csv")
QUESTIONS_FILE = "EHRNoteQA.jsonl"
SAMPLED = {(1, 1): 275, (1, 2): 275, (2, 1): 150, (2, 2): 150, (2, 3): 150}
"""Patients drawn for each (level, number of notes): EHRNoteQA, Table 2."""
_COLUMNS = ["subject_id", "hadm_id", "charttime", "text"]


def discharge_file(folder: Path | None) -> Path | None:
    """The discharge table in ``folder``, or None."""
    return next((folder / name for name in DISCHARGE if (folder / name).is_file()), None) if folder else None


def read_patients(file: Path, params: NoteQa, subjects: set[str] | None = None) -> pd.DataFrame:
    """Notes (PATIENT_NOTES, version normal) of the given subjects, or else of all patients with up to three notes.

    The table is read in chunks, since it is larger than the memory of many machines. Raises SourceError for missing
    columns.
    """
    count = token_counter(params.tokenizer)
    chunks = [_reduced(chunk, count) for chunk in _chunks(file, subjects)]
    notes = pd.concat(chunks, ignore_index=True) if chunks else pd.DataFrame(columns=["patient"])
    notes = notes.sort_values(["patient", "date", "note_id"], ignore_index=True)
    notes["position"] = notes.groupby("patient").cumcount()
    if subjects is None:
        notes = notes[notes.groupby("patient")["position"].transform("size") <= len(params.patients_by_notes)]
    return typed(notes, PATIENT_NOTES).reset_index(drop=True)


def _chunks(file: Path, subjects: set[str] | None) -> Iterator[pd.DataFrame]:
    header = pd.read_csv(file, nrows=0).columns
    if missing := [name for name in _COLUMNS if name not in header]:
        raise SourceError(f"{file}: columns {missing} are missing; expected MIMIC-IV-Note's discharge table")
    for chunk in pd.read_csv(file, usecols=_COLUMNS, dtype=str, chunksize=20_000):
        yield chunk if subjects is None else chunk[chunk["subject_id"].isin(subjects)]


def _reduced(chunk: pd.DataFrame, count: Callable[[str], int]) -> pd.DataFrame:
    texts = [reduce_whitespace(text) for text in chunk["text"].fillna("")]
    return pd.DataFrame(
        {
            "patient": chunk["subject_id"].to_numpy(),
            "version": "normal",
            "note_id": chunk["hadm_id"].fillna("").to_numpy(),
            "date": chunk["charttime"].fillna("").str[:10].to_numpy(),
            "note": texts,
            "tokens": [count(text) for text in texts],
        }
    )


def sample_patients(notes: pd.DataFrame, params: NoteQa, *, seed: int) -> pd.DataFrame:
    """Notes of patients drawn at random by level and number of notes, up to the numbers in `SAMPLED` (Table 2)."""
    rng = np.random.default_rng([seed, _SAMPLE])
    totals = notes.groupby("patient").agg(tokens=("tokens", "sum"), notes=("position", "size")).sort_index()
    totals["level"] = [level(tokens, params.level_tokens) for tokens in totals["tokens"]]
    chosen: list[str] = []
    for (rank, size), wanted in SAMPLED.items():
        fits = totals.index[(totals["level"] == rank) & (totals["notes"] == size)]
        chosen += list(fits[np.sort(rng.permutation(len(fits))[:wanted])])
    return notes[notes["patient"].isin(chosen)].reset_index(drop=True)


def read_questions(file: Path, notes: pd.DataFrame, params: NoteQa) -> pd.DataFrame:
    """EHRNoteQA's questions (QUESTIONS) about the patients in ``notes``.

    Raises SourceError that names the line of a malformed question.
    """
    groups = {str(patient): own for patient, own in notes.groupby("patient")}
    return question_table(
        [
            question_row(name, patient, groups[patient], params, **read)
            for name, patient, read in _questions(file)
            if patient in groups
        ]
    )


def read_subjects(file: Path) -> set[str]:
    """Ids of the patients in EHRNoteQA's questions. Raises SourceError as `read_questions` does."""
    return {patient for _, patient, _ in _questions(file)}


def _questions(file: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, patient and further columns of each question."""
    for number, read in json_lines(file):
        yield _question(f"{file}: line {number}", read, number)


def _question(where: str, read: Any, number: int) -> tuple[str, str, dict[str, Any]]:
    try:
        choices = [str(read[f"choice_{letter}"]) for letter in LETTERS]
        answer = str(read["answer"]).strip().upper()[:1]
        patient, wording = str(read["patient_id"]), str(read["question"])
    except (KeyError, TypeError) as error:
        raise SourceError(f"{where}: not a question of EHRNoteQA ({error!r})") from error
    if answer not in LETTERS:
        raise SourceError(f"{where}: answer is {read['answer']!r}, expected a letter A to E")
    known = {"origin": "outside", "kind": str(read.get("category", "outside")), "provenance": "EHRNoteQA"}
    name = f"{patient}/ehrnoteqa/{number:04d}"
    return name, patient, {**known, "wording": wording, "choices": choices, "answer": answer}
