"""Scores of question answering: judged (per take, mean and deviation, ranking of systems) and against known truth.

EHRNoteQA, Section 4: Table 4 prints scores of repeated judging, Table 6 the stability of the ranking over takes.
"""

import json
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.measures.note_qa.questions import question_rows
from tasks.measures.note_qa.truth_questions import UNKNOWN
from tasks.statistics.agreement import correlation_interval
from tasks.statistics.intervals import mean_interval
from tasks.statistics.metric_rows import (
    Row,
    bounds_rows,
    detection_rows,
    mean_row,
    metric_row,
    metric_table,
    score_table,
    statistic_row,
)


def take_scores(judgements: pd.DataFrame) -> pd.Series:
    """Share of answers judged right, a take; verdicts of one system and form (columns take, verdict).

    Table 4 prints it in percent.
    """
    return judgements.groupby("take")["verdict"].mean()


def mean_and_deviation(takes: npt.ArrayLike) -> tuple[float, float]:
    """Mean over takes and their sample standard deviation (divisor: takes - 1), as Table 4 prints them.

    The deviation of a single take is nan.
    """
    array = np.asarray(takes, dtype=float)
    return float(array.mean()), float(array.std(ddof=1)) if array.size > 1 else np.nan


def take_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank of each system (row) in each take (column): 1 is best, tied systems share the smallest rank."""
    return scores.rank(ascending=False, method="min").astype(int)


def mode_ranks(ranks: pd.DataFrame) -> pd.Series:
    """Each system's most frequent rank over takes; of equally frequent ranks, the best."""
    return ranks.mode(axis=1)[0].astype(int).rename("mode_rank")


def rank_changes(ranks: pd.DataFrame, gold: pd.Series) -> int:
    """Sum over systems and takes of the absolute difference between rank and gold rank (Section 4.1)."""
    return int(ranks.sub(gold, axis=0).abs().to_numpy().sum())


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
    truth = set(questions.loc[questions["origin"] == "truth", "question"])
    rows: list[Row] = []
    for (form, version), known in answers.groupby(["form", "version"]):
        judged = judgements[(judgements["form"] == form) & (judgements["version"] == version)]
        missing = missing_answers(unscored, str(form), str(version))
        answerer, judge = answerer_table(known, judged, questions, unscored, seed=seed), []
        if form == "multiple_choice":
            own = known[known["question"].isin(truth)]
            judge = judge_on_answers_rows(judged, own, questions)
        rows += _of(answerer, system="answerer", condition=f"{form}/{version}")
        rows += _of(judge, system="judge", condition=f"{form}/{version}", unscored=missing)
    for form, group in judgements.groupby("form"):
        missing = missing_answers(unscored, str(form), "planted")
        planted_rows = judge_rows(group, planted, seed=seed)
        rows += _of(planted_rows, system="judge", condition=f"{form}/planted", unscored=missing)
        rows += _of(_stability_rows(group), system="all systems", condition=form)
    rows += question_rows(questions, notes)
    return metric_table(rows, stage=stage, seed=seed, provenance=provenance)


def answerers_metrics(
    questions: pd.DataFrame,
    notes: pd.DataFrame,
    answers: pd.DataFrame,
    judgements: pd.DataFrame,
    unscored: pd.DataFrame,
    *,
    stage: str,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows of each system, of the ranking over takes, and of the questions.

    ``answers`` and ``judgements`` are SYSTEM_ANSWERS and SYSTEM_JUDGEMENTS. The steps of ``unscored`` end with the name
    of the system.
    """
    rows: list[Row] = []
    for (system, form, version), known in answers.groupby(["system", "form", "version"]):
        own = unscored[unscored["step"].str.endswith(f"/{system}")]
        wanted = {"system": system, "form": form, "version": version}
        judged = judgements[(judgements[list(wanted)] == pd.Series(wanted)).all(axis=1)]
        answerer = answerer_table(known, judged, questions, own, seed=seed)
        rows += _of(answerer, system=str(system), condition=f"{form}/{version}")
    rows += _ranking_rows(judgements)
    rows += question_rows(questions, notes)
    return metric_table(rows, stage=stage, seed=seed, provenance=provenance)


def _ranking_rows(judgements: pd.DataFrame) -> list[Row]:
    """Each system's mode rank over takes, and the changes of rank (Section 4.1), where there are several systems."""
    rows: list[Row] = []
    for (form, version), judged in judgements.groupby(["form", "version"]):
        ranks = _ranks(judged, "system")
        if len(ranks) < 2:
            continue
        named = [
            metric_row("mode_rank", rank, n=ranks.shape[1], system=str(system), item="all")
            for system, rank in mode_ranks(ranks).items()
        ]
        rows += _of([*named, {**_rank_changes(ranks), "system": "all systems"}], condition=f"{form}/{version}")
    return rows


def answerer_table(
    answers: pd.DataFrame, judged: pd.DataFrame, questions: pd.DataFrame, unscored: pd.DataFrame, *, seed: int
) -> list[Row]:
    """Rows of one answerer in one form from one version of the notes: judged, and by the letters it names."""
    asked = str(answers["form"].iloc[0]), str(answers["version"].iloc[0])
    missing = missing_answers(unscored, *asked)
    rows: list[Row] = [{**row, "unscored": missing} for row in _judged_rows(judged, questions)]
    if asked[0] == "multiple_choice":
        letters = [_unknown_letter(choices) for choices in questions["choices"]]
        known = questions.assign(unknown_letter=letters)
        missing = missing_answers(unscored, *asked, steps=BY_LETTER)
        rows += [{**row, "unscored": missing} for row in answerer_rows(answers, known, seed=seed)]
    return rows


def _of(rows: list[Row], **keys: object) -> list[Row]:
    """``rows`` with further columns, and the bounds of the scores of all questions where some have none."""
    complete: list[Row] = [{"unscored": 0, **row, **keys} for row in rows]
    whole = [row for row in complete if row["metric"] in _SHARES and row.get("item") in ("all", "planted")]
    return complete + [bound for row in whole for bound in bounds_rows(row)]


def _unknown_letter(choices: str) -> str | None:
    """The letter of the choice that the notes do not answer the question, if there is such a choice."""
    texts = json.loads(choices)
    return LETTERS[texts.index(UNKNOWN)] if UNKNOWN in texts else None


_SHARES = ("score", "accuracy")


BY_JUDGE, BY_LETTER = ("answer", "judge"), ("answer", "letter")
"""The steps at which an answer may be lost: where it is judged, and where its letter is compared."""


def missing_answers(unscored: pd.DataFrame, form: str, version: str, steps: tuple[str, str] = BY_JUDGE) -> int:
    """Number of questions lost in this form and version at one of ``steps``."""
    fits = [{form, version} <= set(parts) and parts[1] in steps for parts in unscored["step"].str.split("/")]
    return int(unscored.loc[fits, "record"].nunique())


def _judged_rows(judged: pd.DataFrame, questions: pd.DataFrame) -> list[Row]:
    """Table 4: mean and standard deviation over takes; then by origin, number of notes, level and length."""
    if judged.empty:
        return []
    scored = judged.groupby("question")["verdict"].mean().rename("score").reset_index()
    scored = scored.merge(questions, on="question")
    by_take = take_scores(judged)
    mean, deviation = mean_and_deviation(by_take)
    _, low, high = mean_interval(scored["score"], clusters=scored["patient"])
    rows = [metric_row("score", mean, low, high, n=len(scored), item="all")]
    rows.append(metric_row("score_std_over_takes", deviation, n=len(by_take), item="all"))
    rows += [metric_row("score", float(score), n=len(scored), item=f"take {take}") for take, score in by_take.items()]
    for origin, group in scored.groupby("origin"):
        rows.append(mean_row("score", group["score"], clusters=group["patient"], item=f"origin {origin}"))
    return rows + effect_rows(scored)


def effect_rows(scored: pd.DataFrame) -> list[Row]:
    """Effect of the number and length of a patient's notes on the score (Section 4.2, Figure 3).

    ``scored`` has one row per question, with columns patient, score, notes, tokens and level. Rows: score by number of
    notes and by level; change per further note (least-squares slope); Spearman's correlation of score and tokens. Slope
    and correlation need at least two different values.
    """
    rows = [
        mean_row("score", group["score"], clusters=group["patient"], item=f"{column} {value}")
        for column in ("notes", "level")
        for value, group in scored.groupby(column)
    ]
    score, notes, tokens = (scored[name].to_numpy(float) for name in ("score", "notes", "tokens"))
    n = len(scored)
    if np.unique(notes).size > 1:
        slope = partial(_slope, notes, score)
        rows.append(
            statistic_row("score_change_a_note", slope, n, bounds=(-1, 1), clusters=scored["patient"], item="notes")
        )
    if np.unique(tokens).size > 1 and np.unique(score).size > 1:
        spearman = correlation_interval(tokens, score, "spearman", clusters=scored["patient"])
        rows.append(metric_row("spearman_with_score", *spearman, n=n, item="tokens"))
    return rows


def _slope(notes: np.ndarray, score: np.ndarray, at: np.ndarray) -> float:
    x, y = notes[at], score[at]
    spread = float(((x - x.mean()) ** 2).sum())
    return float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread else np.nan


def _stability_rows(judgements: pd.DataFrame) -> list[Row]:
    """Rank changes between takes over all versions answered from; only where there are several."""
    ranks = _ranks(judgements[judgements["variant"] == "answer"], "version")
    return [] if len(ranks) < 2 else [_rank_changes(ranks)]


def _ranks(judged: pd.DataFrame, by: str) -> pd.DataFrame:
    """`take_ranks` of the values of the column ``by``."""
    return take_ranks(judged.pivot_table(index=by, columns="take", values="verdict", aggfunc="mean"))


def _rank_changes(ranks: pd.DataFrame) -> Row:
    return metric_row("rank_changes", rank_changes(ranks, mode_ranks(ranks)), n=int(ranks.size), item="all")


def note_qa_scores(judgements: pd.DataFrame, notes: pd.DataFrame) -> pd.DataFrame:
    """Scores of single questions as SCORES rows: ``item`` is the question, ``record`` the patient's last record."""
    last = notes[notes["version"] == "normal"].sort_values("position").groupby("patient")["note_id"].last()
    judged = judgements[judgements["variant"] == "answer"]
    scored = judged.groupby(["patient", "question", "form", "version"])["verdict"].mean().reset_index()
    scored = scored.rename(columns={"question": "item", "verdict": "value"})
    scored["record"] = scored["patient"].map(last)
    condition = scored["form"] + "/" + scored["version"]
    return score_table(scored.assign(system="answerer", condition=condition, metric="score"))


def answerer_rows(answers: pd.DataFrame, questions: pd.DataFrame, *, seed: int) -> list[Row]:
    """Accuracy of multiple-choice answers to one version of the notes, by the letter they name.

    Over all questions, and by origin and kind. If some questions are unanswerable, also sensitivity and specificity of
    choosing `UNKNOWN` for these. An answer without a letter is unscored.
    """
    rows = right_letters(answers, questions)
    truth = rows[rows["origin"] == "truth"]
    groups = {"all": rows}
    groups |= {f"{column} {name}": group for column in ("origin", "kind") for name, group in rows.groupby(column)}
    groups |= {"answerable": truth[truth["answerable"]], "unanswerable": truth[~truth["answerable"]]}
    found = [
        mean_row("accuracy", group["right"], clusters=group["patient"], item=name)
        for name, group in groups.items()
        if len(group) or name == "all"
    ]
    return found + _refusal_rows(truth, seed)


def right_letters(answers: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """The ANSWERS that name a letter, with their question, and whether the letter is ``right``."""
    named = answers[answers["letter"].notna()]
    rows = named.merge(questions, on=["question", "patient"], suffixes=("", "_of_question"))
    return rows.assign(right=rows["letter"] == rows["answer"])


def _refusal_rows(rows: pd.DataFrame, seed: int) -> list[Row]:
    if rows["answerable"].all():
        return []
    refused = rows["letter"] == rows["unknown_letter"]
    return detection_rows(~rows["answerable"], refused, rows["patient"], seed=seed, item="unanswerable")


def judge_rows(judgements: pd.DataFrame, planted: pd.DataFrame, *, seed: int) -> list[Row]:
    """Accuracy (overall and by variant), sensitivity and specificity of the judge on planted answers of one form.

    Each answer counts once: its accuracy is the share of takes with the correct verdict, its verdict the majority over
    takes.
    """
    keys = ["patient", "question", "form", "variant"]
    given = judgements[judgements["version"] == "planted"].groupby(keys)["verdict"].mean().reset_index()
    rows = given.merge(planted, on=keys)
    if rows.empty:
        return []
    rows["value"] = np.where(rows["right"], rows["verdict"], 1 - rows["verdict"])
    groups = {"planted": rows} | {f"planted: {variant}": group for variant, group in rows.groupby("variant")}
    found = [
        mean_row("accuracy", group["value"], clusters=group["patient"], item=item) for item, group in groups.items()
    ]
    return found + detection_rows(rows["right"], rows["verdict"] > 0.5, rows["patient"], seed=seed, item="planted")


def judge_on_answers_rows(judgements: pd.DataFrame, answers: pd.DataFrame, questions: pd.DataFrame) -> list[Row]:
    """Accuracy of the judge on the answerer's multiple-choice answers, given the letter each names."""
    keys = ["question", "version", "form"]
    given = judgements.groupby(keys)["verdict"].mean().reset_index()
    rows = given.merge(right_letters(answers, questions)[[*keys, "patient", "right"]], on=keys)
    if rows.empty:
        return []
    agree = np.where(rows["right"], rows["verdict"], 1 - rows["verdict"])
    return [mean_row("accuracy", agree, clusters=rows["patient"], item="answers")]
