"""Figures of note question answering: judged (per take, mean and deviation, ranking of systems) and by known truth.

EHRNoteQA, Section 4: Table 4 prints scores of repeated judging, Table 6 the stability of the ranking over takes.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.measures.measure import Metric, Metrics, figures, scores
from tasks.measures.note_qa.answering import ACCURACY, PLANTED, SCORE
from tasks.measures.note_qa.questions import patient_of, question_rows
from tasks.measures.note_qa.truth_questions import UNKNOWN
from tasks.statistics.agreement import Correlation, correlation_interval
from tasks.statistics.metric_rows import Row, detection_rows, metric_row, metric_table, score_table, statistic_row

METRICS: Metrics = {SCORE: Metric(pooled=False), ACCURACY: Metric(pooled=False)}
"""Share of right answers, by the judge (mean over its takes) and by the letter that a multiple-choice answer names."""


def question_metrics(
    questions: pd.DataFrame, notes: pd.DataFrame, verdicts: pd.DataFrame, *, stage: str, seed: int, provenance: str
) -> pd.DataFrame:
    """METRICS on the answerers (judged and against known truth), the judge, rank stability and the choices.

    ``verdicts``: those of `judge_outputs`. Conditions are ``form/version``. Version "none", without notes, is a
    control: it shows to what extent the choices alone give the answer away.
    """
    shared: dict[str, Any] = {"stage": stage, "seed": seed, "provenance": provenance}
    answers = verdicts[verdicts["system"] != PLANTED]
    judged = answers[answers["metric"] == SCORE].dropna(subset="value")
    cases = verdicts[(verdicts["metric"] == SCORE) & verdicts["truth"].notna()]
    tables = [
        figures(one, METRICS, clusters=patient_of, **shared)
        for one in (by_group(answers, questions), agreements(cases))
    ]
    rows = [
        *_take_rows(judged, questions),
        *_rank_rows(judged),
        *refusal_rows(answers, questions, seed=seed),
        *detected_rows(cases, seed=seed),
        *question_rows(questions, notes),
    ]
    return pd.concat([*tables, metric_table(rows, **shared)], ignore_index=True)


def question_scores(verdicts: pd.DataFrame, notes: pd.DataFrame) -> pd.DataFrame:
    """Scores of single questions as SCORES rows: ``item`` is the question, ``record`` the patient's last record."""
    last = notes[notes["version"] == "normal"].sort_values("position").groupby("patient")["note_id"].last()
    found = scores(verdicts[verdicts["system"] != PLANTED], {SCORE: METRICS[SCORE]})
    record = found["document"].map(patient_of).map(last)
    return score_table(found.assign(item=found["document"], record=record))


def by_group(answers: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """The verdicts on answers, and those of each group of questions once more with the group as item.

    Groups by place leave out unanswerable questions, which have no evidence.
    """
    parts = [answers]
    for metric, form, groups in _groups(questions):
        own = answers[answers["metric"].eq(metric) & answers["condition"].str.startswith(form)]
        parts.append(own.assign(item=own["document"].map(groups)).dropna(subset="item"))
    return pd.concat(parts, ignore_index=True)


def _groups(questions: pd.DataFrame) -> Iterator[tuple[str, str, pd.Series]]:
    """Metric, form (beginning of the condition), and the group of each question by id, null of those in no group."""
    table = questions.set_index("question")
    answerable = table["answerable"].astype(bool)
    table["answerable"] = answerable.map({True: "true", False: "false"})

    def named(*columns: str) -> pd.Series:
        values = zip(*(table[name] for name in columns), strict=True)
        names = [", ".join(map(" ".join, zip(columns, map(str, one), strict=True))) for one in values]
        return pd.Series(names, table.index, dtype="str")

    known = pd.Series(np.where(answerable, "answerable", "unanswerable"), table.index, dtype="str")
    yield from ((SCORE, "", named(*columns)) for columns in (("origin",), ("notes",), ("level",), ("level", "notes")))
    yield from ((ACCURACY, "", named(column)) for column in ("origin", "kind"))
    yield ACCURACY, "", known.where(table["origin"] == "truth")
    if "place" in table:  # questions about time
        yield ACCURACY, "", named("level")
        yield from ((SCORE, "free_text", named(column)) for column in ("kind", "answerable"))
        for metric, form in ((ACCURACY, ""), (SCORE, "free_text")):
            yield metric, form, named("place").where(answerable)
            yield metric, form, named("level", "place").where(answerable)


def _take_rows(judged: pd.DataFrame, questions: pd.DataFrame) -> list[Row]:
    """Scores by take, their sample deviation (Table 4), and the effect of the notes, by answerer and condition."""
    rows: list[Row] = []
    for (system, condition), own in judged.groupby(["system", "condition"]):
        keys: Row = {"system": system, "condition": condition}
        takes = own.groupby("unit")["value"].agg(["mean", "size"])
        deviation = float(np.std(takes["mean"].to_numpy(), ddof=1)) if len(takes) > 1 else np.nan
        rows.append(metric_row("score_std_over_takes", deviation, n=len(takes), item="all", **keys))
        rows += [metric_row(SCORE, mean, n=n, item=f"take {take}", **keys) for take, mean, n in takes.itertuples()]
        by_question = own.groupby("document")["value"].mean().rename("score").rename_axis("question")
        scored = by_question.reset_index().merge(questions, on="question")
        rows += [{**row, **keys} for row in effect_rows(scored)]
    return rows


def effect_rows(scored: pd.DataFrame) -> list[Row]:
    """Effect of the number and length of a patient's notes on the score (Section 4.2, Figure 3).

    ``scored`` has one row per question, with columns patient, score, notes and tokens. Rows: change per further note
    (least-squares slope); Spearman's correlation of score and tokens. Both need at least two different values.
    """
    rows: list[Row] = []
    score, notes, tokens = (scored[name].to_numpy(float) for name in ("score", "notes", "tokens"))
    n = len(scored)
    if np.unique(notes).size > 1:

        def slope(at: np.ndarray) -> float:
            apart = notes[at] - notes[at].mean()
            spread = float((apart**2).sum())
            return float((apart * (score[at] - score[at].mean())).sum() / spread) if spread else np.nan

        about: Row = {"clusters": scored["patient"], "item": "notes"}
        rows.append(statistic_row("score_change_a_note", slope, n, bounds=(-1, 1), **about))
    if np.unique(tokens).size > 1 and np.unique(score).size > 1:
        spearman = correlation_interval(tokens, score, "spearman", clusters=scored["patient"])
        rows.append(metric_row("spearman_with_score", *spearman, n=n, item="tokens"))
    return rows


def _rank_rows(judged: pd.DataFrame) -> list[Row]:
    """Changes of rank over takes (Section 4.1) and mode ranks of systems; of one system, changes among its versions."""
    several = judged["system"].nunique() > 1
    forms = [condition.partition("/")[0] for condition in judged["condition"]]
    by, ranked = ("system", judged["condition"].to_list()) if several else ("condition", forms)
    rows: list[Row] = []
    for condition, own in judged.groupby(np.array(ranked, dtype=object)):
        scores = own.pivot_table(index=by, columns="unit", values="value", aggfunc="mean")
        if len(scores) < 2:
            continue
        keys: Row = {"item": "all", "condition": condition}
        modes, changes = mode_ranks(scores)
        rows.append(metric_row("rank_changes", changes, n=int(scores.size), system="all systems", **keys))
        for system, rank in modes.items() if several else ():
            rows.append(metric_row("mode_rank", rank, n=scores.shape[1], system=str(system), **keys))
    return rows


def mode_ranks(scores: pd.DataFrame, gold: pd.Series | None = None) -> tuple[pd.Series, int]:
    """Each system's (row's) most frequent rank over takes (columns), and the changes of rank (Section 4.1).

    Rank 1 is best, tied systems share the smallest rank; of equally frequent ranks, the best. The changes are the sum
    over systems and takes of the absolute difference between rank and ``gold``, by default the most frequent rank.
    """
    ranks = scores.rank(ascending=False, method="min").astype(int)
    modes = ranks.mode(axis=1)[0].astype(int)
    return modes, int(ranks.sub(modes if gold is None else gold, axis=0).abs().to_numpy().sum())


def refusal_rows(answers: pd.DataFrame, questions: pd.DataFrame, *, seed: int) -> list[Row]:
    """Sensitivity and specificity of choosing `UNKNOWN` for unanswerable questions, if some of known truth are."""
    known = questions[questions["origin"] == "truth"]
    if known["answerable"].all():
        return []
    at = [choices.index(UNKNOWN) if UNKNOWN in choices else None for choices in map(json.loads, known["choices"])]
    known = known.assign(unknown=[None if place is None else LETTERS[place] for place in at])
    chosen = answers[answers["metric"] == ACCURACY].merge(known, left_on="document", right_on="question")
    rows: list[Row] = []
    for (system, condition), own in chosen.groupby(["system", "condition"]):
        refused = (own["verdict"] == own["unknown"]).astype("boolean").mask(own["value"].isna())
        keys: Row = {"item": "unanswerable", "system": system, "condition": condition}
        rows += detection_rows(~own["answerable"], refused, own["patient"], seed=seed, **keys)
    return rows


def agreements(cases: pd.DataFrame) -> pd.DataFrame:
    """The judge's verdicts on answers of known truth, as its accuracy: 1 where they agree with the truth.

    The items are answers, planted answers, and each kind of these.
    """
    planted = cases["kind"].notna()
    found = cases.assign(system="judge", metric=ACCURACY, value=1 - (cases["value"] - cases["truth"]).abs())
    items = pd.Series(np.where(planted, "planted", "answers"), cases.index, dtype="str")
    kinds = found[planted].assign(item="planted: " + cases.loc[planted, "kind"])
    return pd.concat([found.assign(item=items), kinds], ignore_index=True)


def detected_rows(cases: pd.DataFrame, *, seed: int) -> list[Row]:
    """Sensitivity and specificity of the judge on planted answers; its verdict is that of most takes."""
    rows: list[Row] = []
    for condition, own in cases[cases["kind"].notna()].groupby("condition"):
        found = own.groupby("document").agg(share=("value", "mean"), truth=("truth", "first"))
        judged = (found["share"] > 0.5).astype("boolean").mask(found["share"].isna())
        keys: Row = {"item": "planted", "system": "judge", "condition": condition}
        rows += detection_rows(found["truth"] == 1, judged, found.index.map(patient_of), seed=seed, **keys)
    return rows


CLINICIANS = ("clinician_a", "clinician_b", "clinician_c")


def correlation_metrics(table7: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """METRICS of each benchmark of Table 7 with each clinician over models (Table 5); the intervals are ours."""
    scores, rows = table7.set_index("model"), []
    kinds: tuple[Correlation, ...] = ("spearman", "kendall")
    for clinician, kind in product(CLINICIANS, kinds):
        for name in scores.columns.difference(CLINICIANS, sort=False):
            found = correlation_interval(scores[name], scores[clinician], kind)
            rows.append(metric_row(kind, *found, n=len(scores), system=name, condition=clinician))
    return metric_table(rows, stage="ehrnoteqa_published", item="19 models", seed=seed, provenance="EHRNoteQA, Table 7")
