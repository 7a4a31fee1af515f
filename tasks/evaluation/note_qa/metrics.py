"""The metric table of the note_qa stage."""

import json

import numpy as np
import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.evaluation.note_qa import choice_quality
from tasks.evaluation.note_qa.note_effects import effect_rows
from tasks.evaluation.note_qa.rank_stability import mode_ranks, rank_changes, take_ranks
from tasks.evaluation.note_qa.statements import NOT_TOLD
from tasks.evaluation.note_qa.take_score import mean_and_deviation, take_scores
from tasks.evaluation.note_qa.truth_score import answerer_rows, judge_on_answers_rows, judge_rows
from tasks.statistics.bootstrap import mean_interval

_COLUMNS = [
    "stage",
    "system",
    "condition",
    "item",
    "metric",
    "value",
    "low",
    "high",
    "n",
    "unscored",
    "seed",
    "provenance",
]


def note_qa_metrics(
    questions: pd.DataFrame,
    notes: pd.DataFrame,
    answers: pd.DataFrame,
    planted: pd.DataFrame,
    judgements: pd.DataFrame,
    unscored: pd.DataFrame,
    *,
    seed: int,
    provenance: str,
    stage: str = "note_qa",
) -> pd.DataFrame:
    """All of METRICS: answerer (judged, and against known truth), judge, rank stability, note effects, choices.

    Conditions are ``form/version``: with normal or compact notes, or with none, the control that shows how far
    questions can be answered by the look of their choices.
    """
    questions = questions.assign(untold=[_untold(choices) for choices in questions["choices"]])
    truth = set(questions.loc[questions["origin"] == "truth", "question"])
    rows: list[tuple] = []
    for (form, version), known in answers.groupby(["form", "version"]):
        condition = f"{form}/{version}"
        judged = judgements[(judgements["form"] == form) & (judgements["version"] == version)]
        missing = _missing(unscored, str(form), str(version))
        rows += [("answerer", condition, *row, missing) for row in _judged_rows(judged, questions, seed)]
        if form == "multiple_choice":
            rows += [("answerer", condition, *row, missing) for row in answerer_rows(known, questions, seed=seed)]
            own = known[known["question"].isin(truth)]
            rows += [
                ("judge", condition, *r, missing) for r in judge_on_answers_rows(judged, own, questions, seed=seed)
            ]
    for form, group in judgements.groupby("form"):
        condition, missing = f"{form}/planted", _missing(unscored, str(form), "planted")
        rows += [("judge", condition, *row, missing) for row in judge_rows(group, planted, seed=seed)]
        rows += [("all systems", str(form), *row, 0) for row in _stability_rows(group)]
    rows += [("questions", origin, *row, 0) for origin, row in _question_rows(questions, notes, seed)]
    frame = pd.DataFrame(rows, columns=_COLUMNS[1:10])
    frame = frame.assign(stage=stage, seed=str(seed), provenance=provenance)
    floats, counts = dict.fromkeys(["value", "low", "high"], float), dict.fromkeys(["n", "unscored"], "int64")
    text = dict.fromkeys(["stage", "system", "condition", "item", "metric", "seed", "provenance"], str)
    return frame.astype({**text, **floats, **counts})[_COLUMNS]


def _untold(choices: str) -> str | None:
    told = json.loads(choices)
    return LETTERS[told.index(NOT_TOLD)] if NOT_TOLD in told else None


def _missing(unscored: pd.DataFrame, form: str, version: str) -> int:
    """Questions that lack an answer or a verdict in this form and version."""
    steps = unscored["step"].str.split("/")
    fits = [form in step and version in step for step in steps]
    return int(unscored.loc[fits, "record"].nunique())


def _judged_rows(judged: pd.DataFrame, questions: pd.DataFrame, seed: int) -> list[tuple]:
    """Table 4: mean and deviation over takes; then by origin, number of notes, level and length."""
    if judged.empty:
        return []
    scored = judged.groupby("question")["verdict"].mean().mul(100).rename("score").reset_index()
    scored = scored.merge(questions, on="question")
    mean, deviation = mean_and_deviation(take_scores(judged))
    _, low, high = mean_interval(scored["score"], seed=seed)
    takes = judged["take"].nunique()
    rows: list[tuple] = [("all", "score", mean, low, high, len(scored))]
    rows.append(("all", "score_std_over_takes", deviation, np.nan, np.nan, takes))
    for origin, group in scored.groupby("origin"):
        rows.append((f"origin {origin}", "score", *mean_interval(group["score"], seed=seed), len(group)))
    return rows + list(effect_rows(scored, seed=seed))


def _stability_rows(judgements: pd.DataFrame) -> list[tuple]:
    """Rank changes between takes over all versions answered from; only where there are several."""
    answered = judgements[judgements["variant"] == "answer"]
    if answered["version"].nunique() < 2:
        return []
    scores = answered.pivot_table(index="version", columns="take", values="verdict", aggfunc="mean")
    ranks = take_ranks(scores)
    changes = rank_changes(ranks, mode_ranks(ranks))
    return [("all", "rank_changes", float(changes), np.nan, np.nan, int(ranks.size))]


def _question_rows(questions: pd.DataFrame, notes: pd.DataFrame, seed: int) -> list[tuple[str, tuple]]:
    """How fair the choices are: right one longest, alike in length, distractors taken from the notes."""
    texts = notes[notes["version"] == "normal"].groupby("patient")["note"].agg("\n".join)
    rows: list[tuple[str, tuple]] = []
    for origin, group in questions.groupby("origin"):
        choices = [json.loads(listed) for listed in group["choices"]]
        measures = {
            "right_is_longest": [
                choice_quality.right_is_longest(c, a) for c, a in zip(choices, group["answer"], strict=True)
            ],
            "length_ratio": [choice_quality.length_ratio(c) for c in choices],
            "distractors_in_notes": [
                float(
                    np.mean([choice_quality.grounded_share(c, texts[p]) for i, c in enumerate(cs) if LETTERS[i] != a])
                )
                for cs, a, p in zip(choices, group["answer"], group["patient"], strict=True)
            ],
        }
        for metric, values in measures.items():
            rows.append((str(origin), ("all", metric, *mean_interval(np.array(values, float), seed=seed), len(group))))
    return rows


def note_qa_scores(judgements: pd.DataFrame, questions: pd.DataFrame, notes: pd.DataFrame) -> pd.DataFrame:
    """Scores of single questions as SCORES rows, by the patient's last record; ``item`` is the question."""
    last = notes[notes["version"] == "normal"].sort_values("position").groupby("patient")["note_id"].last()
    judged = judgements[judgements["variant"] == "answer"]
    scored = judged.groupby(["patient", "question", "form", "version"])["verdict"].mean().reset_index()
    scored["record"] = scored["patient"].map(last).astype("int64")
    scored = scored.assign(
        system="answerer", condition=scored["form"] + "/" + scored["version"], item=scored["question"], metric="score"
    )
    scored["value"] = scored["verdict"].astype(float)
    columns = ["record", "system", "condition", "item", "metric", "value"]
    return scored[columns].sort_values(columns[:-1], ignore_index=True)
