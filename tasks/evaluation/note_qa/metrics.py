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
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table, score_table


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
) -> pd.DataFrame:
    """METRICS rows on the answerer (judged and against known truth), the judge, rank stability and the choices.

    Conditions are ``form/version``. Version "none", without notes, is a control: it shows to what extent the choices
    alone give the answer away.
    """
    truth = set(questions.loc[questions["origin"] == "truth", "question"])
    rows: list[Row] = []
    for (form, version), known in answers.groupby(["form", "version"]):
        judged = judgements[(judgements["form"] == form) & (judgements["version"] == version)]
        missing = missing_answers(unscored, str(form), str(version))
        answerer, judge = answerer_table(known, judged, questions, seed=seed), []
        if form == "multiple_choice":
            own = known[known["question"].isin(truth)]
            judge = judge_on_answers_rows(judged, own, questions, seed=seed)
        rows += _of(answerer, system="answerer", condition=f"{form}/{version}", unscored=missing)
        rows += _of(judge, system="judge", condition=f"{form}/{version}", unscored=missing)
    for form, group in judgements.groupby("form"):
        missing = missing_answers(unscored, str(form), "planted")
        planted_rows = judge_rows(group, planted, seed=seed)
        rows += _of(planted_rows, system="judge", condition=f"{form}/planted", unscored=missing)
        rows += _of(_stability_rows(group), system="all systems", condition=form)
    rows += _of(question_rows(questions, notes, seed), system="questions", item="all")
    return metric_table(rows, stage="note_qa", seed=seed, provenance=provenance)


def answerer_table(answers: pd.DataFrame, judged: pd.DataFrame, questions: pd.DataFrame, *, seed: int) -> list[Row]:
    """Rows of one answerer in one form from one version of the notes: judged, and by the letters it names."""
    rows = _judged_rows(judged, questions, seed)
    if (answers["form"] == "multiple_choice").all():
        letters = [_unknown_letter(choices) for choices in questions["choices"]]
        rows += answerer_rows(answers, questions.assign(unknown_letter=letters), seed=seed)
    return rows


def _of(rows: list[Row], **keys: object) -> list[Row]:
    return [{**row, **keys} for row in rows]


def _unknown_letter(choices: str) -> str | None:
    """The letter of the choice that the notes do not answer the question, if there is such a choice."""
    texts = json.loads(choices)
    return LETTERS[texts.index(UNKNOWN)] if UNKNOWN in texts else None


def missing_answers(unscored: pd.DataFrame, form: str, version: str) -> int:
    """Number of questions without an answer or a verdict in this form and version."""
    steps = unscored["step"].str.split("/")
    fits = [form in step and version in step for step in steps]
    return int(unscored.loc[fits, "record"].nunique())


def _judged_rows(judged: pd.DataFrame, questions: pd.DataFrame, seed: int) -> list[Row]:
    """Table 4: mean and standard deviation over takes; then by origin, number of notes, level and length."""
    if judged.empty:
        return []
    scored = judged.groupby("question")["verdict"].mean().rename("score").reset_index()
    scored = scored.merge(questions, on="question")
    by_take = take_scores(judged)
    mean, deviation = mean_and_deviation(by_take)
    _, low, high = mean_interval(scored["score"], seed=seed)
    rows = [metric_row("score", mean, low, high, n=len(scored), item="all")]
    rows.append(metric_row("score_std_over_takes", deviation, n=len(by_take), item="all"))
    rows += [metric_row("score", float(score), n=len(scored), item=f"take {take}") for take, score in by_take.items()]
    for origin, group in scored.groupby("origin"):
        rows.append(mean_row("score", group["score"], seed=seed, item=f"origin {origin}"))
    return rows + effect_rows(scored, seed=seed)


def effect_rows(scored: pd.DataFrame, *, seed: int) -> list[Row]:
    """Effect of the number and length of a patient's notes on the score (Section 4.2, Figure 3).

    ``scored`` has one row per question, with columns score, notes, tokens and level. Metric rows: score by number of
    notes and by level; change per further note (least-squares slope); Spearman's correlation of score and tokens. Slope
    and correlation need at least two different values.
    """
    rows = [
        mean_row("score", group["score"], seed=seed, item=f"{column} {value}")
        for column in ("notes", "level")
        for value, group in scored.groupby(column)
    ]
    score, notes, tokens = (scored[name].to_numpy(float) for name in ("score", "notes", "tokens"))
    n = len(scored)
    if np.unique(notes).size > 1:
        low, high = interval(lambda i: _slope(notes[i], score[i]), n, seed=seed)
        rows.append(metric_row("score_change_a_note", _slope(notes, score), low, high, n=n, item="notes"))
    if np.unique(tokens).size > 1 and np.unique(score).size > 1:
        low, high = correlation_interval(tokens, score, "spearman", seed=seed)
        spearman = correlation(tokens, score, "spearman")
        rows.append(metric_row("spearman_with_score", spearman, low, high, n=n, item="tokens"))
    return rows


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    spread = float(((x - x.mean()) ** 2).sum())
    return float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread else np.nan


def _stability_rows(judgements: pd.DataFrame) -> list[Row]:
    """Rank changes between takes over all versions answered from; only where there are several."""
    answered = judgements[judgements["variant"] == "answer"]
    if answered["version"].nunique() < 2:
        return []
    scores = answered.pivot_table(index="version", columns="take", values="verdict", aggfunc="mean")
    ranks = take_ranks(scores)
    changes = rank_changes(ranks, mode_ranks(ranks))
    return [metric_row("rank_changes", changes, n=int(ranks.size), item="all")]


def question_rows(questions: pd.DataFrame, notes: pd.DataFrame, seed: int) -> list[Row]:
    """Fairness of the choices: right one longest, similar lengths, distractors grounded in the notes."""
    texts = notes[notes["version"] == "normal"].groupby("patient")["note"].agg("\n".join)
    rows: list[Row] = []
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
            rows.append(mean_row(metric, np.array(values, float), seed=seed, condition=origin))
    return rows


def note_qa_scores(judgements: pd.DataFrame, questions: pd.DataFrame, notes: pd.DataFrame) -> pd.DataFrame:
    """Scores of single questions as SCORES rows: ``item`` is the question, ``record`` the patient's last record."""
    last = notes[notes["version"] == "normal"].sort_values("position").groupby("patient")["note_id"].last()
    judged = judgements[judgements["variant"] == "answer"]
    scored = judged.groupby(["patient", "question", "form", "version"])["verdict"].mean().reset_index()
    scored = scored.rename(columns={"question": "item", "verdict": "value"})
    scored["record"] = scored["patient"].map(last)
    condition = scored["form"] + "/" + scored["version"]
    return score_table(scored.assign(system="answerer", condition=condition, metric="score"))
