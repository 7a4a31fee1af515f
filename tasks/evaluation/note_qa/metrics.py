"""The metric and score tables of the note_qa stage."""

import json

import numpy as np
import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.evaluation.note_qa import choice_quality
from tasks.evaluation.note_qa.rank_stability import mode_ranks, rank_changes, take_ranks
from tasks.evaluation.note_qa.statements import UNKNOWN
from tasks.evaluation.note_qa.take_score import mean_and_deviation, take_scores
from tasks.evaluation.note_qa.truth_score import answerer_rows, judge_on_answers_rows, judge_rows
from tasks.statistics.agreement import correlation, correlation_interval
from tasks.statistics.bootstrap import interval, mean_interval

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
    """METRICS rows on the answerer (judged and against known truth), the judge, rank stability and the choices.

    Conditions are ``form/version``. Version "none", without notes, is a control: it shows to what extent the choices
    alone give the answer away.
    """
    questions = questions.assign(unknown_letter=[_unknown_letter(choices) for choices in questions["choices"]])
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
            on_answers = judge_on_answers_rows(judged, own, questions, seed=seed)
            rows += [("judge", condition, *row, missing) for row in on_answers]
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


def _unknown_letter(choices: str) -> str | None:
    """The letter of the choice that the notes do not answer the question, if there is such a choice."""
    texts = json.loads(choices)
    return LETTERS[texts.index(UNKNOWN)] if UNKNOWN in texts else None


def _missing(unscored: pd.DataFrame, form: str, version: str) -> int:
    """Number of questions without an answer or a verdict in this form and version."""
    steps = unscored["step"].str.split("/")
    fits = [form in step and version in step for step in steps]
    return int(unscored.loc[fits, "record"].nunique())


def _judged_rows(judged: pd.DataFrame, questions: pd.DataFrame, seed: int) -> list[tuple]:
    """Table 4: mean and standard deviation over takes; then by origin, number of notes, level and length."""
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


def effect_rows(scored: pd.DataFrame, *, seed: int) -> list[tuple[str, str, float, float, float, int]]:
    """Effect of the number and length of a patient's notes on the score (Section 4.2, Figure 3).

    ``scored`` has one row per question, with columns score (0-100), notes, tokens and level. Returns (item, metric,
    value, low, high, n): score by number of notes and by level; change per further note (least-squares slope);
    Spearman's correlation of score and tokens. Slope and correlation need at least two different values.
    """
    rows: list[tuple[str, str, float, float, float, int]] = []
    for column in ("notes", "level"):
        for value, group in scored.groupby(column):
            rows.append((f"{column} {value}", "score", *mean_interval(group["score"], seed=seed), len(group)))
    score, notes, tokens = (scored[name].to_numpy(float) for name in ("score", "notes", "tokens"))
    n = len(scored)
    if np.unique(notes).size > 1:
        low, high = interval(lambda i: _slope(notes[i], score[i]), n, seed=seed)
        rows.append(("notes", "score_change_a_note", _slope(notes, score), low, high, n))
    if np.unique(tokens).size > 1 and np.unique(score).size > 1:
        low, high = correlation_interval(tokens, score, "spearman", seed=seed)
        rows.append(("tokens", "spearman_with_score", correlation(tokens, score, "spearman"), low, high, n))
    return rows


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    spread = float(((x - x.mean()) ** 2).sum())
    return float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread else np.nan


def _stability_rows(judgements: pd.DataFrame) -> list[tuple]:
    """Rank changes over takes between the versions of the notes, if there are several."""
    answered = judgements[judgements["variant"] == "answer"]
    if answered["version"].nunique() < 2:
        return []
    scores = answered.pivot_table(index="version", columns="take", values="verdict", aggfunc="mean")
    ranks = take_ranks(scores)
    changes = rank_changes(ranks, mode_ranks(ranks))
    return [("all", "rank_changes", float(changes), np.nan, np.nan, int(ranks.size))]


def _question_rows(questions: pd.DataFrame, notes: pd.DataFrame, seed: int) -> list[tuple[str, tuple]]:
    """Fairness of the choices: right one longest, similar lengths, distractors grounded in the notes."""
    texts = notes[notes["version"] == "normal"].groupby("patient")["note"].agg("\n".join)
    rows: list[tuple[str, tuple]] = []
    for origin, group in questions.groupby("origin"):
        measures: dict[str, list[float]] = {"right_is_longest": [], "length_ratio": [], "distractors_in_notes": []}
        for question in group.itertuples():
            choices = json.loads(question.choices)
            distractors = [choice for letter, choice in zip(LETTERS, choices, strict=True) if letter != question.answer]
            grounded = [choice_quality.grounded_share(choice, texts[question.patient]) for choice in distractors]
            measures["right_is_longest"].append(choice_quality.right_is_longest(choices, question.answer))
            measures["length_ratio"].append(choice_quality.length_ratio(choices))
            measures["distractors_in_notes"].append(float(np.mean(grounded)))
        for metric, values in measures.items():
            rows.append((str(origin), ("all", metric, *mean_interval(np.array(values, float), seed=seed), len(group))))
    return rows


def note_qa_scores(judgements: pd.DataFrame, questions: pd.DataFrame, notes: pd.DataFrame) -> pd.DataFrame:
    """Scores of single questions as SCORES rows: ``item`` is the question, ``record`` the patient's last record."""
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
