"""The cases of note question answering: right and wrong answers to questions about simulated patients.

Of a card there are also answers that name two choices, differ from the right one in a number, or give a part of it.
"""

import json
import re

import numpy as np
import pandas as pd

from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.note_qa import LETTERS
from schemas.tables.records import SPANS
from tasks.domains.in_use import data_of
from tasks.domains.rules import rules_of
from tasks.judges.cases import Asked, Cases, Given, Row, case_row
from tasks.judges.edits import change
from tasks.judges.simulated_notes import gold_tables, write_gold
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask
from tasks.measures.note_qa.answering import CASES as COLUMNS
from tasks.measures.note_qa.answering import judge_outputs, planted_answers
from tasks.measures.note_qa.patients import simulated_patients
from tasks.measures.note_qa.truth_questions import truth_questions

STREAM = 103
ASKED = 30
"""Questions of a card by default."""


Made = tuple[pd.DataFrame, pd.DataFrame]


def make_answers(given: Given) -> Made | None:
    """Answers (`COLUMNS`) to QUESTIONS about simulated patients, whose truth is the records'; none but for a card."""
    if given.prompts is None or not given.card:
        return None
    prompts, params, seed = given.prompts, given.params.note_qa, given.params.seed
    labels, synonyms = rules_of(given.params.domain).labels, data_of(given.params.domain, "near_synonyms") or ()
    patients = simulated_patients(prompts, *gold_tables(write_gold(prompts)), params, seed=seed)
    questions, wordings = truth_questions(prompts, patients, typed([], SPANS), params, labels, synonyms, seed=seed)
    planted = planted_answers(questions, wordings, given.scaled(ASKED), free_text=params.free_text, seed=seed)
    if params.free_text:
        planted = pd.concat([planted, further_answers(planted, questions, seed=seed)], ignore_index=True)
    return planted, questions


async def judge_answers(ask: Ask, made: Made, _: Params) -> tuple[list[Row], Unscored]:
    """Verdicts on whether the answers are right."""
    answers, questions = made
    judged, unscored = await judge_outputs(answers, questions, 1, ask)
    verdicts = judged["value"].astype(object).map({1.0: True, 0.0: False}).where(judged["value"].notna(), None)
    about, rows = questions.set_index("question").to_dict("index"), list[Row]()
    for number, (row, found) in enumerate(zip(answers.to_dict("records"), verdicts, strict=True)):
        question, kind = about[row["question"]], f"{row['form'].replace('_', ' ')}: {row['variant']}"
        right = dict(zip(LETTERS, json.loads(question["choices"]), strict=False))[question["answer"]]
        premise = f"{question['wording']}\nRight answer: {question['answer']}: {right}"
        claim, case = f"{question['wording']} {row['output']}", f"a{number:04d}"
        rows.append(case_row(case, "answers", kind, row["question"], premise, claim, row["right"], found))
    return rows, unscored


def further_answers(planted: pd.DataFrame, questions: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Wrong answers in free text: two choices, the right one with another number, and last those in part."""
    numbers, parts = (np.random.default_rng([seed, STREAM, stream]) for stream in (1, 2))
    rows, in_part = [], []
    asked = questions.set_index("question")
    for patient, question in planted[["patient", "question"]].drop_duplicates().itertuples(index=False):
        choices, at = json.loads(asked.loc[question, "choices"]), LETTERS.index(asked.loc[question, "answer"])
        right, wrong = choices[at], choices[(at + 1) % len(choices)]
        rows.append((patient, question, "free_text", "two answers", f"Either {right} or {wrong}.", False))
        other = change(right, "number", numbers)
        if other is not None and other not in choices:
            rows.append((patient, question, "free_text", "wrong in a number", f"{other}.", False))
        part = _part(right, bool(parts.integers(2)))
        if part is not None:
            in_part.append((patient, question, "free_text", "right in part", f"{part}.", False))
    return pd.DataFrame([*rows, *in_part], columns=COLUMNS)


_PAIR = re.compile(r"^(?!As )(?P<first>[^,\d]+) and (?P<second>[^,\d]+)$")
_COURSE = re.compile(r"^(?P<first>.+ at first), then .+$")
_VISITS = re.compile(r"^At the visits of (?P<all>\S+(?: and \S+)+)$")


def _part(right: str, second: bool) -> str | None:
    """One of two findings, the first state of two, or all visits but the last; None for an answer of one part."""
    if pair := _PAIR.match(right):
        part = pair["second" if second else "first"]
        return part[0].upper() + part[1:]
    if course := _COURSE.match(right):
        return course["first"]
    if visits := _VISITS.match(right):
        fewer = visits["all"].split(" and ")[:-1]
        return f"At the visit{'s' if len(fewer) > 1 else ''} of {' and '.join(fewer)}"
    return None


CASES = (
    Cases(
        "answers",
        make_answers,
        judge_answers,
        {"answers": Asked("Does the answer agree with the right one?", "right answers", "wrong answers")},
        place=5,
        letter="a",
        of_records=True,
    ),
)
