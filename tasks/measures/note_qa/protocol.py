"""Questions, answers and verdicts on a chunk of patients, by the project's own protocol or the paper's.

The paper's (``note_qa.protocol: paper``) generates and judges as printed in EHRNoteQA, Sections 3.2 and 4, Appendix A.
The requests show what the printed ones show, in our words. Differences from the project's own protocol:

- notes are enclosed in numbered labels and begin with admission and date; the patient's id is not shown;
- both steps of generation reply in a text layout, at temperature 1; choices are requested once, and only their number
  and the letter are checked;
- the judge is shown the output, the choices (for multiple choice) and the right answer, not the question, at
  temperature 0.
"""

import re

import pandas as pd

from schemas.params import Params
from schemas.params.measures import ANSWERER, NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.llm.ask_all import Unscored, ask_texts
from tasks.llm.calls import Ask, Asks, Call, unscored_table
from tasks.llm.prompts import render
from tasks.measures.note_qa.answering import answer_questions, judge_outputs
from tasks.measures.note_qa.questions import (
    STEP,
    AnswerChoices,
    AskedQuestion,
    generated_questions,
    generated_row,
    in_random_order,
    normal_notes,
    question_table,
)
from tasks.texts.document import Tables

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
    """One question per patient with its choices (Section 3.2, Appendix A.1 and A.2): QUESTIONS, and what failed."""
    groups = {f"{patient}/generated/1": own for patient, own in normal_notes(notes).items()}
    texts = {name: labelled_notes(own) for name, own in groups.items()}
    first = {name: _call(f"{name}/question", "paper_question", notes=text) for name, text in texts.items()}
    asked, failed = await ask_texts(ask, first, STEP, read_question, "no question in the printed layout")
    second = {
        name: _call(f"{name}/choices", "paper_choices", notes=texts[name], question=one.question)
        for name, one in asked.items()
    }
    choices, more = await ask_texts(ask, second, STEP, read_choices, "no choices in the printed layout")
    rows = [
        generated_row(name, groups[name], asked[name].question, in_random_order(one, name, seed), params, ask.label)
        for name, one in choices.items()
    ]
    return question_table(rows), [*failed, *more]


def _call(key: str, prompt: str, **fields: str) -> Call:
    return Call(key, render(__package__, prompt, **fields), temperature=GENERATION_TEMPERATURE)


async def write_questions(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Questions written by the annotator on a chunk of patients."""
    write = paper_questions if params.note_qa.protocol == "paper" else generated_questions
    questions, unscored = await write(frames["patients"], params.note_qa, ask("annotator"), seed=params.seed)
    return {"questions": questions, "unscored": unscored_table(unscored)}


async def answer(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Answers to the questions of a chunk of patients."""
    answers, unscored = await answer_questions(frames["questions"], frames["patients"], params.note_qa, ask("answerer"))
    return {"answers": answers, "unscored": unscored_table(unscored)}


async def judge(frames: Tables, ask: Asks, params: Params, answerer: str = ANSWERER) -> Tables:
    """Verdicts on the outputs of an answerer for the questions of a chunk of patients."""
    takes, protocol = params.note_qa.judge_takes, params.note_qa.protocol
    verdicts, unscored = await judge_outputs(
        frames["outputs"], frames["questions"], takes, ask("judge"), protocol, answerer
    )
    return {"verdicts": verdicts, "unscored": unscored_table(unscored)}


async def answer_and_judge(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Verdicts on answers to the questions of a chunk of patients, and on planted answers."""
    answered = await answer(frames, ask, params)
    outputs = pd.concat([answered["answers"], frames["planted"]], ignore_index=True)
    judged = await judge({"questions": frames["questions"], "outputs": outputs}, ask, params)
    return {**judged, "unscored": pd.concat([answered["unscored"], judged["unscored"]], ignore_index=True)}
