"""Questions written by a model in two steps (EHRNoteQA, Section 3.2 and Appendix A): question, then choices."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from schemas.params.note_qa import NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.evaluation.note_qa.choice_quality import unfit
from tasks.evaluation.note_qa.known_truth import question_frame
from tasks.evaluation.note_qa.notes_text import notes_text
from tasks.evaluation.note_qa.text_length import level
from tasks.llm.calls import Answer, Ask, Call, Reply
from tasks.llm.prompts import render


class AskedQuestion(Reply):
    """A question about a patient's notes, its answer, and why it is the answer."""

    question: str
    answer: str
    reason: str


class AnswerChoices(Reply):
    """Five answer choices, the letter of the right one, and why it is right."""

    A: str
    B: str
    C: str
    D: str
    E: str
    correct: str
    reason: str

    @property
    def texts(self) -> list[str]:
        """The choices, A to E."""
        return [getattr(self, letter) for letter in LETTERS]


@dataclass
class _Draft:
    patient: str
    number: int
    notes: str
    asked: list[str]
    question: AskedQuestion | None = None
    choices: AnswerChoices | None = None
    problem: tuple[str, str | None] = ("", None)

    def key(self, step: str) -> str:
        return f"{self.patient}/generated/{self.number}/{step}"


async def generated_questions(notes: pd.DataFrame, params: NoteQa, ask: Ask) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ask for ``params.generated_questions`` a patient; returns QUESTIONS and the unscored rows (UNSCORED).

    Choices that are not five different texts with one right letter, or whose right one is the longest by far, are asked
    for again, up to ``params.generation_attempts`` times in all; then the question is dropped and counted.
    """
    normal = notes[notes["version"] == "normal"].sort_values(["patient", "position"])
    groups = {str(patient): own for patient, own in normal.groupby("patient")}
    asked: dict[str, list[str]] = {patient: [] for patient in groups}
    done, failed = [], []
    for number in range(1, params.generated_questions + 1):
        drafts = [_Draft(patient, number, notes_text(own), list(asked[patient])) for patient, own in groups.items()]
        await _ask_questions(drafts, ask)
        await _ask_choices([draft for draft in drafts if draft.question], params.generation_attempts, ask)
        done += [draft for draft in drafts if draft.choices]
        failed += [draft for draft in drafts if not draft.choices]
        for draft in drafts:
            asked[draft.patient] += [draft.question.question] if draft.question else []
    rows = [_row(draft, groups[draft.patient], params, ask.label) for draft in done]
    columns = ["record", "step", "reason", "detail"]
    unscored = [(draft.key(""), "note_qa/generate", *draft.problem) for draft in failed]
    return question_frame(rows), pd.DataFrame(unscored, columns=columns).astype(dict.fromkeys(columns, "str"))


async def _ask_questions(drafts: Sequence[_Draft], ask: Ask) -> None:
    calls = [
        Call(d.key("question"), render(__package__, "question", notes=d.notes, asked=d.asked), reply=AskedQuestion)
        for d in drafts
    ]
    for draft, answer in zip(drafts, await ask(calls), strict=True):
        if isinstance(answer.value, AskedQuestion) and answer.value.question not in draft.asked:
            draft.question = answer.value
        else:
            draft.problem = (answer.failure or "the same question again", answer.raw or answer.text)


async def _ask_choices(drafts: list[_Draft], attempts: int, ask: Ask) -> None:
    for attempt in range(attempts):
        calls = [_choices_call(draft, attempt) for draft in drafts]
        for draft, answer in zip(drafts, await ask(calls), strict=True):
            _take_choices(draft, answer)
        drafts = [draft for draft in drafts if not draft.choices]


def _choices_call(draft: _Draft, attempt: int) -> Call:
    assert draft.question
    fields = {"notes": draft.notes, "question": draft.question.question, "answer": draft.question.answer}
    return Call(draft.key("choices"), render(__package__, "choices", **fields), reply=AnswerChoices, sample=attempt)


def _take_choices(draft: _Draft, answer: Answer) -> None:
    if not isinstance(answer.value, AnswerChoices):
        draft.problem = (answer.failure or "no choices", answer.raw)
    elif problem := unfit(answer.value.texts, answer.value.correct):
        draft.problem = (problem, answer.text)
    else:
        draft.choices = answer.value


def _row(draft: _Draft, notes: pd.DataFrame, params: NoteQa, label: str) -> dict:
    assert draft.question and draft.choices
    tokens = int(notes["tokens"].sum())
    return {
        "question": f"{draft.patient}/generated/{draft.number}",
        "patient": draft.patient,
        "origin": "generated",
        "kind": "generated",
        "answerable": True,
        "notes": len(notes),
        "tokens": tokens,
        "level": level(tokens, params.level_tokens),
        "wording": draft.question.question,
        "choices": json.dumps(draft.choices.texts),
        "answer": draft.choices.correct.strip().upper(),
        "reason": draft.choices.reason,
        "provenance": label,
    }
