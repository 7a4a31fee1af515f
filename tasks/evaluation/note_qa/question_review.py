"""Clinicians' revisions of questions, and their counts as EHRNoteQA gives them (Section 3.3)."""

import json
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import SourceError
from schemas.tables.note_qa import LETTERS
from tasks.evaluation.note_qa.question_form import FORMAT, form_id


class RevisedQuestion(BaseModel):
    """One question as a clinician left it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    record: str
    decision: Literal["keep", "remove"]
    wording: str = Field(min_length=1, max_length=4000)
    choices: list[str] = Field(min_length=len(LETTERS), max_length=len(LETTERS))
    answer: Literal["A", "B", "C", "D", "E"]


class QuestionReview(BaseModel):
    """A returned file."""

    model_config = ConfigDict(extra="forbid", strict=True)
    format: str
    form: str
    rater: str
    signature: str = ""
    complete: bool = True
    questions: list[RevisedQuestion]


Reviews = dict[str, RevisedQuestion]
"""Revisions by question id."""


def read_question_reviews(files: Mapping[str, str], questions: pd.DataFrame) -> Reviews:
    """Check returned files (name to text) and join them.

    Several clinicians may share the questions out; one question revised in two files must be the same in both.
    Raises SourceError naming the file and each problem.
    """
    problems: list[str] = []
    reviews: Reviews = {}
    known = set(questions["question"])
    for name, text in sorted(files.items()):
        try:
            review = QuestionReview.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            problems.append(f"{name}: not a file of the question form ({where}: {first['msg']})")
            continue
        problems += [f"{name}: {problem}" for problem in _check(review, questions, known, reviews)]
        reviews |= {revised.record: revised for revised in review.questions}
    if problems:
        more = f"; and {len(problems) - 8} more" if len(problems) > 8 else ""
        raise SourceError("returned question reviews: " + "; ".join(problems[:8]) + more)
    return reviews


def _check(review: QuestionReview, questions: pd.DataFrame, known: set[str], before: Reviews) -> list[str]:
    if review.format != FORMAT:
        return [f"format is {review.format!r}, expected {FORMAT!r}"]
    if review.form != form_id(questions):
        return [f"was filled in for questions {review.form}, the current ones are {form_id(questions)}"]
    problems = []
    ids = [revised.record for revised in review.questions]
    problems += [f"question {i} stands twice" for i in sorted({i for i in ids if ids.count(i) > 1})]
    for revised in review.questions:
        if revised.record not in known:
            problems.append(f"unknown question {revised.record}")
        if len({" ".join(choice.split()).casefold() for choice in revised.choices} - {""}) < len(LETTERS):
            problems.append(f"question {revised.record}: choices are empty or the same")
        if revised.record in before and before[revised.record] != revised:
            problems.append(f"question {revised.record}: another file revises it differently")
    return problems


def revise(questions: pd.DataFrame, reviews: Reviews) -> pd.DataFrame:
    """Questions without the removed ones, the others as revised; those that nobody reviewed stay as they are."""
    rows = []
    for row in questions.to_dict("records"):
        revised = reviews.get(row["question"])
        if revised is None:
            rows.append(row)
        elif revised.decision == "keep":
            rows.append(
                {**row, "wording": revised.wording, "choices": json.dumps(revised.choices), "answer": revised.answer}
            )
    return pd.DataFrame(rows, columns=questions.columns).astype(questions.dtypes.to_dict())


def count_revisions(questions: pd.DataFrame, reviews: Reviews) -> dict[str, int]:
    """Questions reviewed and removed; wordings, right choices and distractors revised (1,000: 38, 206, 338, 962).

    A right choice counts as revised when its text or which choice it is changed; a distractor when its text is none of
    the former distractors. Removed questions count as removed alone.
    """
    by_id = questions.set_index("question").to_dict("index")
    counts = dict.fromkeys(
        ["reviewed", "removed", "questions_revised", "right_choices_revised", "distractors_revised"], 0
    )
    for name, revised in reviews.items():
        before = by_id[name]
        old, right = json.loads(before["choices"]), LETTERS.index(before["answer"])
        new, now = revised.choices, LETTERS.index(revised.answer)
        counts["reviewed"] += 1
        if revised.decision == "remove":
            counts["removed"] += 1
            continue
        distractors = {choice.strip() for i, choice in enumerate(old) if i != right}
        counts["questions_revised"] += revised.wording.strip() != before["wording"].strip()
        counts["right_choices_revised"] += new[now].strip() != old[right].strip()
        counts["distractors_revised"] += sum(
            choice.strip() not in distractors for i, choice in enumerate(new) if i != now
        )
    return counts


def review_counts(questions: pd.DataFrame, reviews: Reviews, *, seed: int, provenance: str) -> pd.DataFrame:
    """`count_revisions` as METRICS rows; n is the number of questions that were up for review."""
    counts = count_revisions(questions, reviews)
    frame = pd.DataFrame({"metric": list(counts), "value": [float(value) for value in counts.values()]})
    frame = frame.assign(
        stage="note_qa", system="clinicians", condition="generated", item="all", low=np.nan, high=np.nan
    )
    frame = frame.assign(n=len(questions), unscored=0, seed=str(seed), provenance=provenance)
    columns = ["stage", "system", "condition", "item", "metric", "value", "low", "high", "n", "unscored"]
    return frame[[*columns, "seed", "provenance"]].astype({"n": "int64", "unscored": "int64"})
