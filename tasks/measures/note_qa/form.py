"""Forms in which clinicians revise questions (EHRNoteQA, Section 3.3) and grade free answers (Section 4.3).

With the counts and labels of revisions: a label says whether the choice that the question writer marked is right.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from pydantic import Field

from schemas.tables.note_qa import LETTERS
from tasks.measures.note_qa.answering import SCORE
from tasks.people.forms import ChoiceForm, Form, Item, Question, Returned, ReturnedFile, Shown, holding, labelled
from tasks.statistics.agreement import Correlation, correlation_interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table

Category = Literal["treatment", "assessment", "problem", "etiology", "sign or symptom", "vitals", "others"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""Contents of a question (Table 3, after Lehman et al. 2022)."""
COUNTED = ("reviewed", "removed", "questions_revised", "right_choices_revised", "distractors_revised")


class RevisedQuestion(Item):
    """One question as revised by a clinician."""

    record: str
    decision: Literal["keep", "remove"]
    wording: str = Field(min_length=1, max_length=4000)
    choices: list[str] = Field(min_length=len(LETTERS), max_length=len(LETTERS))
    answer: Literal["A", "B", "C", "D", "E"]
    category: Category | Literal[""] = ""


Reviews = dict[str, RevisedQuestion]
"""Revisions by question id."""


@dataclass(frozen=True, eq=False)
class QuestionForm(Form):
    """The form of the QUESTIONS of stage note_qa. Several clinicians may divide them among themselves."""

    format, kind, noun = "vignette-questions", "question", "question"
    title, script, answer, listed = "Revising questions", "questions.js", RevisedQuestion, "questions"
    questions: pd.DataFrame

    @property
    def content(self) -> str:
        """The questions with their choices."""
        ordered = self.questions.sort_values("question")
        return str(ordered[["question", "wording", "choices", "answer"]].to_json(orient="values"))

    @cached_property
    def records(self) -> set[str]:
        """The questions' ids."""
        return set(self.questions["question"])

    def check(self, item: RevisedQuestion) -> list[str]:
        """Choices of a kept question must differ from each other."""
        distinct = {" ".join(choice.split()).casefold() for choice in item.choices} - {""}
        return ["choices are empty or the same"] if item.decision == "keep" and len(distinct) < len(LETTERS) else []

    def check_files(self, files: Mapping[str, ReturnedFile]) -> list[str]:
        """A question in two files must be revised alike in both."""
        problems, before = [], Reviews()
        for name, file in files.items():
            for item in file.items:
                if before.setdefault(item.record, item) != item:
                    problems.append(f"{name}: question {item.record}: another file revises it differently")
        return problems

    def reviews(self, files: Mapping[str, str]) -> Reviews:
        """The revisions in returned files (name -> text)."""
        return {item.record: item for file in self.read(files).values() for item in file.items}

    def filled(self, notes: pd.DataFrame, reviewer: str) -> str:
        """HTML of the form, each question with its patient's normal notes (PATIENT_NOTES)."""
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
            for row in self.questions.sort_values("question").itertuples()
        ]
        return self.page(reviewer, items, letters=list(LETTERS), categories=list(CATEGORIES))


@dataclass(frozen=True, eq=False)
class OutsideQuestionForm(QuestionForm):
    """The form of the questions of stage note_qa_outside."""

    format = "vignette-questions-outside"


def revise(questions: pd.DataFrame, reviews: Reviews) -> pd.DataFrame:
    """Drop removed questions and apply revisions; questions without a review stay unchanged."""
    rows = []
    for row in questions.to_dict("records"):
        one = reviews.get(row["question"])
        if one is not None:
            row |= {"wording": one.wording, "choices": json.dumps(one.choices), "answer": one.answer}
        if one is None or one.decision == "keep":
            rows.append(row)
    return pd.DataFrame(rows, columns=questions.columns).astype(questions.dtypes.to_dict())


def count_revisions(questions: pd.DataFrame, reviews: Reviews) -> dict[str, int]:
    """Counts of questions reviewed and removed, and of wordings, right choices and distractors revised.

    EHRNoteQA removed 38 of 1,000 questions and revised 206 wordings, 338 right choices and 962 distractors. A right
    choice counts as revised if the text of the right choice changed, a distractor if its text is none of the former
    distractors. Removed questions are not counted as revised.
    """
    by_id = questions.set_index("question").to_dict("index")
    kept = {name: revised for name, revised in reviews.items() if revised.decision == "keep"}
    counts = Counter(reviewed=len(reviews), removed=len(reviews) - len(kept))
    for name, revised in kept.items():
        right, *distractors = _right_first(json.loads(by_id[name]["choices"]), by_id[name]["answer"])
        now, *others = _right_first(revised.choices, revised.answer)
        counts["questions_revised"] += revised.wording.strip() != by_id[name]["wording"].strip()
        counts["right_choices_revised"] += now != right
        counts["distractors_revised"] += sum(choice not in distractors for choice in others)
    return {name: counts[name] for name in COUNTED}


def _right_first(choices: Sequence[str], answer: str) -> list[str]:
    """The choices without blanks around them, the right one first."""
    stripped = [choice.strip() for choice in choices]
    return [stripped.pop(LETTERS.index(answer)), *stripped]


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
        mean_row("category_share", [one == category for one in given], item=category)
        for category in (CATEGORIES if given else ())
    ]
    origin = "/".join(sorted(questions["origin"].unique())) or "generated"
    shared = {"stage": stage, "system": "clinicians", "condition": origin, "seed": seed, "provenance": provenance}
    return metric_table(rows, **shared)


def question_labels(questions: pd.DataFrame, reviews: Reviews, judge: str) -> pd.DataFrame:
    """VERDICTS of "the marked choice is right", which the model that wrote the QUESTIONS says of each, labelled.

    Label: the question was kept and the text of its right choice was not changed.
    """
    rows = questions.to_dict("records")
    made = ((row["patient"], row["question"], judge, True) for row in rows)
    people = []
    for row in (one for one in rows if one["question"] in reviews):
        review, right = reviews[row["question"]], _right_first(json.loads(row["choices"]), row["answer"])[0]
        holds = review.decision == "keep" and _right_first(review.choices, review.answer)[0] == right
        people.append((row["patient"], row["question"], "clinicians", holds))
    return labelled(holding("questions", made), holding("questions", people))


STREAM, QUESTIONS = 89, 100
HELP = ("Say of each answer whether it is right by the notes.", "The answers to a question are by different models.")


@dataclass(frozen=True, eq=False)
class GradingForm(ChoiceForm):
    """The form of drawn questions with every model's answer, in a drawn order; the models are not named."""

    format, kind, noun, title = "vignette-grades", "grading", "answer", "Grading answers"

    @property
    def content(self) -> str:
        """The questions and answers, without the notes."""
        return str([(one.record, one.sheets[:2]) for one in self.items])


def free_answers(verdicts: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """The free answers of every system to up to `QUESTIONS` drawn questions: record, question, system, text."""
    free = verdicts["metric"].eq(SCORE) & verdicts["condition"].eq("free_text/normal")
    own = verdicts[free & verdicts["text"].ne("")]
    answers = own.drop_duplicates(["document", "system"])[["document", "system", "text"]]
    rng = np.random.default_rng([seed, STREAM])
    chosen = rng.permutation(np.sort(answers["document"].unique()))[:QUESTIONS]
    answers = answers[answers["document"].isin(chosen)].sort_values(["document", "system"], ignore_index=True)
    answers = answers.iloc[rng.permutation(len(answers))].sort_values("document", kind="stable", ignore_index=True)
    number = answers.groupby("document").cumcount().add(1).astype(str)
    return answers.assign(record=answers["document"] + "/" + number).rename(columns={"document": "question"})


def grading_form(answers: pd.DataFrame, questions: pd.DataFrame, notes: Mapping[str, str] | None = None) -> GradingForm:
    """The form of `free_answers` to QUESTIONS; ``notes`` by patient are shown where it is filled in."""
    asked, right = questions.set_index("question"), Question("right", "Is the answer right?", ("yes", "no"))
    items = []
    for row in answers.itertuples():
        one = asked.loc[row.question]
        texts = {"Question": one["wording"], "Answer": row.text}
        texts |= {"Notes": notes[one["patient"]]} if notes else {}
        items.append(Shown(row.record, tuple((head, str(text)) for head, text in texts.items()), (right,)))
    return GradingForm(HELP, items)


def grading_rows(answers: pd.DataFrame, chosen: pd.DataFrame, verdicts: pd.DataFrame, **shared: Any) -> list[Row]:
    """Each system's share of right answers by each clinician, and its correlation with the judge's scores."""
    told = chosen[["rater", "record", "answer"]].merge(answers, on="record")
    told["right"] = told["answer"].eq("yes").astype(float)
    judged = verdicts[verdicts["metric"] == SCORE].groupby(["condition", "system"])["value"].mean().unstack(0)
    rows: list[Row] = []
    for rater, own in told.groupby("rater"):
        shares = own.groupby("system")["right"].mean()
        for system, part in own.groupby("system"):
            about: dict[str, Any] = {"system": str(system), "condition": f"graded by {rater}", "item": "all", **shared}
            rows.append(mean_row("clinician_score", part["right"], clusters=part["question"], **about))
        kinds: tuple[Correlation, ...] = ("spearman", "kendall")
        for condition, kind in product(judged if len(shares) > 2 else (), kinds):
            found = correlation_interval(judged[condition].reindex(shares.index), shares, kind)
            about = {"system": "all systems", "condition": f"graded by {rater}", "item": str(condition), **shared}
            rows.append(metric_row(f"{kind}_with_clinician", *found, n=len(shares), **about))
    return rows


RETURNED = (
    Returned(
        QuestionForm.format, "note_qa", "questions_returned", lambda load, _: QuestionForm(load("generated_questions"))
    ),
    Returned(
        OutsideQuestionForm.format,
        "note_qa_outside",
        "outside_questions_returned",
        lambda load, _: OutsideQuestionForm(load("written_questions")),
        outside=True,
    ),
    Returned(
        GradingForm.format,
        "note_qa_outside",
        "grades_returned",
        lambda load, params: grading_form(
            free_answers(load("note_qa_outside_judged"), seed=params.seed), load("questions")
        ),
        outside=True,
    ),
)
