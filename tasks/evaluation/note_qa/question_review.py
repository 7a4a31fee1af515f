"""The form in which clinicians remove and revise questions, reading it back, and counts (EHRNoteQA, Section 3.3)."""

import hashlib
import json
from collections.abc import Mapping
from typing import Literal, get_args

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from schemas.tables.note_qa import LETTERS
from tasks.evaluation.forms.page import render_page
from tasks.evaluation.forms.returned import ReturnedFile, parse_files, require_none
from tasks.statistics.metric_rows import mean_row, metric_row, metric_table

FORMAT = "vignette-questions"
OUTSIDE_FORMAT = "vignette-questions-outside"
"""Format of files on the questions of stage note_qa_outside."""
Category = Literal["treatment", "assessment", "problem", "etiology", "sign or symptom", "vitals", "others"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""Contents of a question (Table 3, after Lehman et al. 2022)."""


class RevisedQuestion(BaseModel):
    """One question as revised by a clinician."""

    model_config = ConfigDict(extra="forbid", strict=True)
    record: str
    decision: Literal["keep", "remove"]
    wording: str = Field(min_length=1, max_length=4000)
    choices: list[str] = Field(min_length=len(LETTERS), max_length=len(LETTERS))
    answer: Literal["A", "B", "C", "D", "E"]
    category: Category | Literal[""] = ""


class QuestionReview(ReturnedFile):
    """A returned file."""

    questions: list[RevisedQuestion]


Reviews = dict[str, RevisedQuestion]
"""Revisions by question id."""


def form_id(questions: pd.DataFrame) -> str:
    """Hash of the questions' content: a file returned for other questions is refused."""
    content = questions.sort_values("question")[["question", "wording", "choices", "answer"]].to_json(orient="values")
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def render_question_form(questions: pd.DataFrame, notes: pd.DataFrame, reviewer: str, form_format: str = FORMAT) -> str:
    """HTML of the form for ``questions`` (QUESTIONS), each with its patient's normal notes (PATIENT_NOTES)."""
    normal = notes[notes["version"] == "normal"].sort_values("position")
    by_patient = dict(iter(normal.groupby("patient")))
    items = [
        {
            "record": row.question,
            "notes": [{"head": f"Charted {n.date}", "text": n.note} for n in by_patient[row.patient].itertuples()],
            "wording": row.wording,
            "choices": json.loads(row.choices),
            "answer": row.answer,
            "reason": row.reason if isinstance(row.reason, str) else "",
        }
        for row in questions.sort_values("question").itertuples()
    ]
    data = {"format": form_format, "form": form_id(questions), "rater": reviewer, "noun": "question", "items": items}
    values = {"letters": list(LETTERS), "categories": list(CATEGORIES)}
    return render_page("Revising questions", "questions.js", data | values)


def read_question_reviews(files: Mapping[str, str], questions: pd.DataFrame, form_format: str = FORMAT) -> Reviews:
    """Check returned files (name -> text) and join their revisions.

    Several clinicians may divide the questions among them; a question in two files must be revised alike in both.
    Raises SourceError that lists the problems of each file.
    """
    problems: list[str] = []
    reviews: Reviews = {}
    known = set(questions["question"])
    for name, review in parse_files(files, QuestionReview, "question", problems).items():
        if review.format != form_format:
            problems.append(f"{name}: format is {review.format!r}, expected {form_format!r}")
            continue
        problems += [f"{name}: {problem}" for problem in _check(review, questions, known, reviews)]
        reviews |= {revised.record: revised for revised in review.questions}
    require_none(problems, "question")
    return reviews


def _check(review: QuestionReview, questions: pd.DataFrame, known: set[str], before: Reviews) -> list[str]:
    if review.form != form_id(questions):
        return [f"was filled in for questions {review.form}, the current ones are {form_id(questions)}"]
    problems = []
    ids = [revised.record for revised in review.questions]
    problems += [f"question {i} is in the file twice" for i in sorted({i for i in ids if ids.count(i) > 1})]
    for revised in review.questions:
        if revised.record not in known:
            problems.append(f"unknown question {revised.record}")
        if len({" ".join(choice.split()).casefold() for choice in revised.choices} - {""}) < len(LETTERS):
            problems.append(f"question {revised.record}: choices are empty or the same")
        if revised.record in before and before[revised.record] != revised:
            problems.append(f"question {revised.record}: another file revises it differently")
    return problems


def revise(questions: pd.DataFrame, reviews: Reviews) -> pd.DataFrame:
    """Drop removed questions and apply revisions; questions without a review stay unchanged."""
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
    """Counts of questions reviewed and removed, and of wordings, right choices and distractors revised.

    EHRNoteQA removed 38 of 1,000 questions and revised 206 wordings, 338 right choices and 962 distractors. A right
    choice counts as revised if the text of the right choice changed, a distractor if its text is none of the former
    distractors. Removed questions are not counted as revised.
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


def review_counts(
    questions: pd.DataFrame, reviews: Reviews, *, seed: int, provenance: str, stage: str = "note_qa"
) -> pd.DataFrame:
    """`count_revisions` and the share of each category (Table 3) as METRICS rows.

    n is the number of questions on the form; for categories, the number of kept questions with a category.
    """
    rows = [
        metric_row(name, count, n=len(questions), item="all")
        for name, count in count_revisions(questions, reviews).items()
    ]
    given = [revised.category for revised in reviews.values() if revised.decision == "keep" and revised.category]
    rows += [
        mean_row("category_share", [one == category for one in given], seed=seed, item=category)
        for category in (CATEGORIES if given else ())
    ]
    origin = "/".join(sorted(questions["origin"].unique())) or "generated"
    shared = {"stage": stage, "system": "clinicians", "condition": origin, "seed": seed, "provenance": provenance}
    return metric_table(rows, **shared)
