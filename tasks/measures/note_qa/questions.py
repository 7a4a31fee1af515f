"""Questions with five answer choices about a patient's notes: their quality, those of a model, and those of EHRNoteQA.

A model generates them in two steps, question then choices (EHRNoteQA, Sections 3 and 3.2, Appendix A), by the
project's own protocol or the paper's, whose requests show what the printed ones show, in our words. The user's MIMIC-IV
discharge summaries and EHRNoteQA.jsonl are credentialed: they are read in place, without copies.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from pydantic import field_validator

from schemas.errors import SourceError
from schemas.params import Params
from schemas.params.measures import NoteQa
from schemas.tables.columns import typed
from schemas.tables.note_qa import LETTERS, PATIENT_NOTES, QUESTIONS
from tasks.llm.ask_all import Unscored, ask_all, ask_texts
from tasks.llm.calls import Ask, Asks, Call, Reply, unscored_row, unscored_table
from tasks.llm.prompts import render
from tasks.measures.note_qa.patients import estimated_tokens, level, notes_text, reduce_whitespace
from tasks.statistics.metric_rows import Row, mean_row, metric_row
from tasks.texts.document import Tables
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


def grounded_share(choice: str, notes: str) -> float:
    """Share (0-1) of a choice's content words that occur in the notes; 1 for a choice without content words."""
    words = {word for word in _WORD.findall(choice.lower()) if len(word) > 2 and word not in _STOP_WORDS}
    return len(words & _words_of(notes)) / len(words) if words else 1.0


@lru_cache(maxsize=4)
def _words_of(notes: str) -> frozenset[str]:
    """The words of notes, which are read once for all choices of a patient's questions."""
    return frozenset(_WORD.findall(notes.lower()))


def question_rows(questions: pd.DataFrame, notes: pd.DataFrame) -> list[Row]:
    """Fairness of the choices by origin.

    Whether the right one is longer than every other, expected in a fifth of fair questions; length of the shortest over
    the longest, in characters; distractors grounded in the notes; the number of right answers at each letter.
    """
    texts = notes[notes["version"] == "normal"].groupby("patient")["note"].agg("\n".join)
    rows: list[Row] = []
    for origin, group in questions.groupby("origin"):
        measures: dict[str, list[float]] = {"right_is_longest": [], "length_ratio": [], "distractors_in_notes": []}
        for question in group.itertuples():
            distractors = json.loads(question.choices)
            right = len(distractors.pop(LETTERS.index(question.answer)))
            grounded = [grounded_share(choice, texts[question.patient]) for choice in distractors]
            lengths = list(map(len, distractors))
            measures["right_is_longest"].append(right > max(lengths))
            measures["length_ratio"].append(min(right, *lengths) / max(right, *lengths))
            measures["distractors_in_notes"].append(float(np.mean(grounded)))
        keys = {"system": "questions", "condition": origin}
        for metric, values in measures.items():
            rows.append(mean_row(metric, values, clusters=group["patient"], item="all", **keys))
        for letter, count in group["answer"].value_counts().reindex(LETTERS, fill_value=0).items():
            rows.append(metric_row("right_choices", int(count), n=len(group), item=str(letter), **keys))
    return rows


STEP = "note_qa/generate"
_ORDER = 806
_ISO_DATE = r"\d{4}-\d{2}-\d{2}"
_LETTER = re.compile(r"\W*(?:(?:answer|choice|option)\W+)?([A-E])(?=\W*$|\s*[.:)\]*])", re.IGNORECASE)
"""The letter of ``B``, ``b.``, ``(B) Dry skin``, ``Option B``, but not of the text ``A rash``."""


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
    about = {"choices": choices.texts, "reason": choices.reason, "provenance": label}
    return question_row(name, str(notes["patient"].iloc[0]), notes, params, **known, **about)


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
        calls = {}
        for name, patient in patients.items():
            own = groups[patient]
            dated = bool(own["date"].str.fullmatch(_ISO_DATE).any())  # and not by numbers of visits
            about = {"asked": list(asked[patient]), "several": len(own) > 1, "dated": dated}
            messages = render(__package__, "question", notes=notes_text(own), **about)
            calls[name] = Call(f"{name}/question", messages, AskedQuestion, temperature=params.generation_temperature)
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


async def _ask_choices(
    questions: Mapping[str, tuple[str, str]], params: NoteQa, ask: Ask
) -> tuple[dict[str, AnswerChoices], Unscored]:
    """Fit choices of questions (notes and wording by name), and the last problem of each question without any."""
    done: dict[str, AnswerChoices] = {}
    problems: dict[str, dict[str, str | None]] = {}
    for attempt in range(params.generation_attempts):
        sampled: dict[str, Any] = {"sample": attempt, "temperature": params.generation_temperature}
        calls = {}
        for name, (notes, wording) in questions.items():
            if name not in done:
                messages = render(__package__, "choices", notes=notes, question=wording)
                calls[name] = Call(f"{name}/choices", messages, AnswerChoices, **sampled)
        found, failed = await ask_all(ask, calls, AnswerChoices, STEP)
        problems |= {str(row["record"]): row for row in failed}
        for name, choices in found.items():
            if problem := unfit(choices.texts, choices.correct):
                problems[name] = unscored_row(name, STEP, problem, choices.model_dump_json())
            else:
                done[name] = choices
    return done, [row for name, row in problems.items() if name not in done]


GENERATION_TEMPERATURE = 1.0
_HEAD = r"^[ \t>*#•–-]*(?:\d\.[ \t]*)?(?:\*\*)?{name}(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*"
_NAMES = ("Question", "Answer", "Reason", "Answer Choices", "Correct Answer", *LETTERS)
_HEADS = re.compile(
    "|".join(f"(?:{_HEAD.format(name=f'(?P<h{i}>{name})')})" for i, name in enumerate(_NAMES)),
    re.MULTILINE | re.IGNORECASE,
)


def labelled_notes(notes: pd.DataFrame) -> str:
    """Notes of one patient (rows of PATIENT_NOTES) in numbered labels, oldest first (Appendix A.1, notes 1 and 2)."""
    blocks = [
        f"[note {number} start]\nAdmission ID: {row.note_id}\nChart date: {row.date}\n{row.note}\n[note {number} end]"
        for number, row in enumerate(notes.sort_values("position").itertuples(), 1)
    ]
    return "\n".join(blocks)


def fields_of(reply: str) -> dict[str, str]:
    """Texts of a reply by the headings of the printed layout; the first text of a heading counts.

    Bullets and bold type around headings are dropped. The reason, which comes last, may itself have headed lines.
    """
    heads = list(_HEADS.finditer(reply))
    names = [str(head[head.lastgroup or 0]).title() for head in heads]
    ends = [head.start() for head in heads[1:]] + [len(reply)]
    fields: dict[str, str] = {}
    for name, head, end in zip(names, heads, ends, strict=False):
        text = reply[head.end() :] if name == "Reason" else reply[head.end() : end]
        fields.setdefault(name, text.strip().strip("*").strip())
    return fields


def read_question(reply: str) -> AskedQuestion | None:
    """The question, answer and reason of a reply to step 1; None if one of the first two is missing."""
    fields = fields_of(reply)
    if not (fields.get("Question") and fields.get("Answer")):
        return None
    return AskedQuestion(question=fields["Question"], answer=fields["Answer"], reason=fields.get("Reason", ""))


def read_choices(reply: str) -> AnswerChoices | None:
    """The choices of a reply to step 2; None without five texts and the letter of the right one."""
    fields = fields_of(reply)
    if not all(fields.get(letter) for letter in LETTERS) or not fields.get("Correct Answer"):
        return None
    texts = {letter: fields[letter] for letter in LETTERS}
    choices = AnswerChoices(**texts, reason=fields.get("Reason", ""), correct=fields["Correct Answer"])
    return choices if choices.correct in LETTERS else None


async def paper_questions(notes: pd.DataFrame, params: NoteQa, ask: Ask, *, seed: int) -> tuple[pd.DataFrame, Unscored]:
    """One question per patient with its choices, by the paper's protocol: QUESTIONS, and what failed.

    Notes are enclosed in numbered labels and begin with admission and date; the patient's id is not shown. Both steps
    reply in a text layout, at temperature 1; choices are requested once, and only their number and the letter are
    checked (Section 3.2, Appendix A.1 and A.2).
    """
    groups = {f"{patient}/generated/1": own for patient, own in normal_notes(notes).items()}
    texts = {name: labelled_notes(own) for name, own in groups.items()}

    def call(key: str, prompt: str, **fields: str) -> Call:
        return Call(key, render(__package__, prompt, **fields), temperature=GENERATION_TEMPERATURE)

    first = {name: call(f"{name}/question", "paper_question", notes=text) for name, text in texts.items()}
    asked, failed = await ask_texts(ask, first, STEP, read_question, "no question in the printed layout")
    second = {
        name: call(f"{name}/choices", "paper_choices", notes=texts[name], question=one.question)
        for name, one in asked.items()
    }
    choices, more = await ask_texts(ask, second, STEP, read_choices, "no choices in the printed layout")
    rows = [
        generated_row(name, groups[name], asked[name].question, in_random_order(one, name, seed), params, ask.label)
        for name, one in choices.items()
    ]
    return question_table(rows), [*failed, *more]


async def write_questions(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Questions written by the annotator on a chunk of patients."""
    write = paper_questions if params.note_qa.protocol == "paper" else generated_questions
    questions, unscored = await write(frames["patients"], params.note_qa, ask("annotator"), seed=params.seed)
    return {"questions": questions, "unscored": unscored_table(unscored)}


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
    chunks = list(_chunks(file, subjects))
    notes = pd.concat(chunks, ignore_index=True) if chunks else pd.DataFrame(columns=["patient"])
    notes = notes.sort_values(["patient", "date", "note_id"], ignore_index=True)
    notes["position"] = notes.groupby("patient").cumcount()
    if subjects is None:
        notes = notes[notes.groupby("patient")["position"].transform("size") <= len(params.patients_by_notes)]
    return typed(notes, PATIENT_NOTES).reset_index(drop=True)


def _chunks(file: Path, subjects: set[str] | None) -> Iterator[pd.DataFrame]:
    """The columns of PATIENT_NOTES but for the position, in parts."""
    header = pd.read_csv(file, nrows=0).columns
    if missing := [name for name in _COLUMNS if name not in header]:
        raise SourceError(f"{file}: columns {missing} are missing; expected MIMIC-IV-Note's discharge table")
    for chunk in pd.read_csv(file, usecols=_COLUMNS, dtype=str, chunksize=20_000):
        chosen = chunk if subjects is None else chunk[chunk["subject_id"].isin(subjects)]
        texts = chosen["text"].fillna("").map(reduce_whitespace)
        about = {"version": "normal", "date": chosen["charttime"].fillna("").str[:10], "note": texts}
        named = chosen[["subject_id", "hadm_id"]].fillna({"hadm_id": ""})
        named = named.rename(columns={"subject_id": "patient", "hadm_id": "note_id"})
        yield named.assign(**about, tokens=texts.map(estimated_tokens))


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
    """EHRNoteQA's questions (QUESTIONS) on these patients. Raises SourceError naming a malformed line."""
    groups = {str(patient): own for patient, own in notes.groupby("patient")}
    known = [(name, groups[patient], patient, read) for name, patient, read in _questions(file) if patient in groups]
    return question_table([question_row(name, patient, own, params, **read) for name, own, patient, read in known])


def read_subjects(file: Path) -> set[str]:
    """Ids of the patients in EHRNoteQA's questions. Raises SourceError as `read_questions` does."""
    return {patient for _, patient, _ in _questions(file)}


def _questions(file: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, patient and further columns of each question."""
    for number, read in json_lines(file):
        where = f"{file}: line {number}"
        try:
            choices = [str(read[f"choice_{letter}"]) for letter in LETTERS]
            answer = str(read["answer"]).strip().upper()[:1]
            patient, wording = str(read["patient_id"]), str(read["question"])
        except (KeyError, TypeError) as error:
            raise SourceError(f"{where}: not a question of EHRNoteQA ({error!r})") from error
        if answer not in LETTERS:
            raise SourceError(f"{where}: answer is {read['answer']!r}, expected a letter A to E")
        known = {"origin": "outside", "kind": str(read.get("category", "outside")), "provenance": "EHRNoteQA"}
        asked = {"wording": wording, "choices": choices, "answer": answer}
        yield f"{patient}/ehrnoteqa/{number:04d}", patient, known | asked
