"""The form in which clinicians grade models' free answers to questions about notes (EHRNoteQA, Section 4.3)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.params import Params
from tasks.measures.note_qa.answering import SCORE
from tasks.people.choice_form import ChoiceForm, Question, Shown
from tasks.statistics.agreement import correlation_interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row

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
    own = verdicts[
        (verdicts["metric"] == SCORE) & (verdicts["condition"] == "free_text/normal") & (verdicts["text"] != "")
    ]
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
        texts = (
            ("Question", one["wording"]),
            ("Answer", row.text),
            *((("Notes", notes[one["patient"]]),) if notes else ()),
        )
        items.append(Shown(row.record, tuple((head, str(text)) for head, text in texts), (right,)))
    return GradingForm(HELP, items)


def current_grading(load: Callable[[str], pd.DataFrame], params: Params) -> GradingForm:
    """The form of the tables of stage note_qa_outside."""
    return grading_form(free_answers(load("note_qa_outside_judged"), seed=params.seed), load("questions"))


def grading_rows(answers: pd.DataFrame, chosen: pd.DataFrame, verdicts: pd.DataFrame, **shared: str) -> list[Row]:
    """Each system's share of right answers by each clinician, and its correlation with the judge's scores."""
    told = (
        chosen[["rater", "record", "answer"]]
        .merge(answers, on="record")
        .assign(right=lambda one: one["answer"].eq("yes").astype(float))
    )
    judged = verdicts[verdicts["metric"] == SCORE].groupby(["condition", "system"])["value"].mean().unstack(0)
    rows: list[Row] = []
    for rater, own in told.groupby("rater"):
        shares = own.groupby("system")["right"].mean()
        for system, part in own.groupby("system"):
            about = {"system": str(system), "condition": f"graded by {rater}", "item": "all", **shared}
            rows.append(mean_row("clinician_score", part["right"], clusters=part["question"], **about))
        for condition in judged if len(shares) > 2 else ():
            for kind in ("spearman", "kendall"):
                found = correlation_interval(judged[condition].reindex(shares.index), shares, kind)
                about = {"system": "all systems", "condition": f"graded by {rater}", "item": str(condition), **shared}
                rows.append(metric_row(f"{kind}_with_clinician", *found, n=len(shares), **about))
    return rows
