"""Scores against known truth: of the answerer without a judge, and of the judge without an answerer."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.statistics.metric_rows import Row, mean_row, statistic_row


def answerer_rows(answers: pd.DataFrame, questions: pd.DataFrame, *, seed: int) -> list[Row]:
    """Accuracy of multiple-choice answers to one version of the notes, by the letter they name.

    Over all questions, and by origin and kind. If some questions are unanswerable, also precision and recall of
    choosing `UNKNOWN` for these. An answer without a letter counts as wrong.
    """
    rows = answers.merge(questions, on=["question", "patient"], suffixes=("", "_of_question"))
    right = (rows["letter"] == rows["answer"]).to_numpy(float)
    groups = {"all": np.ones(len(rows), dtype=bool)}
    groups |= {f"origin {name}": (rows["origin"] == name).to_numpy() for name in sorted(rows["origin"].unique())}
    groups |= {f"kind {name}": (rows["kind"] == name).to_numpy() for name in sorted(rows["kind"].unique())}
    groups |= {
        name: (rows["answerable"] == flag).to_numpy() & (rows["origin"] == "truth").to_numpy()
        for name, flag in (("answerable", True), ("unanswerable", False))
    }
    found = [
        mean_row("accuracy", right[chosen], seed=seed, item=name) for name, chosen in groups.items() if chosen.any()
    ]
    return found + _refusal_rows(rows[rows["origin"] == "truth"], seed)


def _refusal_rows(rows: pd.DataFrame, seed: int) -> list[Row]:
    unanswerable = ~rows["answerable"].to_numpy(bool)
    if not unanswerable.any():
        return []
    refused = (rows["letter"] == rows["unknown_letter"]).to_numpy(bool)
    return _detection("unanswerable", refused, unanswerable, seed)


def judge_rows(judgements: pd.DataFrame, planted: pd.DataFrame, *, seed: int) -> list[Row]:
    """Accuracy (overall and by variant), precision and recall of the judge on planted answers of one form.

    Each answer counts once: its accuracy is the share of takes with the correct verdict, its verdict the majority over
    takes.
    """
    keys = ["patient", "question", "form", "variant"]
    given = judgements[judgements["version"] == "planted"].groupby(keys)["verdict"].mean().reset_index()
    rows = given.merge(planted, on=keys)
    if rows.empty:
        return []
    rows["value"] = np.where(rows["right"], rows["verdict"], 1 - rows["verdict"])
    found = [mean_row("accuracy", rows["value"], seed=seed, item="planted")]
    for variant, group in rows.groupby("variant"):
        found.append(mean_row("accuracy", group["value"], seed=seed, item=f"planted: {variant}"))
    said, true = rows["verdict"].to_numpy() > 0.5, rows["right"].to_numpy(bool)
    return found + _detection("planted", said, true, seed)


def judge_on_answers_rows(
    judgements: pd.DataFrame, answers: pd.DataFrame, questions: pd.DataFrame, *, seed: int
) -> list[Row]:
    """Accuracy of the judge on the answerer's multiple-choice answers, given the letter each names."""
    named = answers[answers["letter"].notna()].merge(questions[["question", "answer"]], on="question")
    given = judgements.groupby(["question", "version", "form"])["verdict"].mean().reset_index()
    rows = given.merge(named[["question", "version", "form", "letter", "answer"]], on=["question", "version", "form"])
    if rows.empty:
        return []
    agree = np.where(rows["letter"] == rows["answer"], rows["verdict"], 1 - rows["verdict"])
    return [mean_row("accuracy", agree, seed=seed, item="answers")]


def _detection(item: str, said: npt.NDArray[np.bool_], true: npt.NDArray[np.bool_], seed: int) -> list[Row]:
    def precision(i: np.ndarray) -> float:
        return float(true[i][said[i]].mean()) if said[i].any() else np.nan

    def recall(i: np.ndarray) -> float:
        return float(said[i][true[i]].mean()) if true[i].any() else np.nan

    return [
        statistic_row(name, measure, len(said), seed=seed, n=int(base.sum()), item=item)
        for name, measure, base in (("precision", precision, said), ("recall", recall, true))
    ]
