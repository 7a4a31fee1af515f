"""The metric and score tables of the review stage."""

import numpy as np
import pandas as pd

from schemas.tables.review import ASPECTS
from tasks.evaluation.expert_review.mean_rating import mean_ratings
from tasks.evaluation.expert_review.rater_agreement import alphas, model_against_people
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


def review_metrics(
    ratings: pd.DataFrame, penalties: pd.DataFrame, *, seed: int, unscored: int, provenance: str
) -> pd.DataFrame:
    """METRICS rows: Table 4, alphas, penalties per part, and agreement of the model with people.

    ``system`` is "people" or "model". Without returned files there are no rows of people.
    """
    rows = []
    for kind, system in (("person", "people"), ("model", "model")):
        rated = ratings[ratings["rater_kind"] == kind]
        if rated.empty:
            continue
        rows += _mean_rows(rated, system, seed)
        rows += _penalty_rows(rated, penalties[penalties["rater_kind"] == kind], system)
        if rated["rater"].nunique() > 1:
            rows += _alpha_rows(rated, system, seed)
    if (ratings["rater_kind"] == "person").any() and (ratings["rater_kind"] == "model").any():
        rows += _alpha_rows(ratings, "people and model", seed)
    rows += [
        (row.rater, "all", row.aspect, row.metric, row.value, row.low, row.high, row.n)
        for row in model_against_people(ratings, seed=seed).itertuples()
    ]
    frame = pd.DataFrame(rows, columns=_COLUMNS[1:9])
    frame.insert(0, "stage", "review")
    frame["unscored"] = np.where(frame["system"].isin(["people"]), 0, unscored)
    made = np.where(frame["system"] == "people", "people's ratings", provenance)
    frame = frame.assign(seed=str(seed), provenance=made)
    floats, counts = dict.fromkeys(["value", "low", "high"], float), dict.fromkeys(["n", "unscored"], "int64")
    text = dict.fromkeys(["stage", "system", "condition", "item", "metric", "seed", "provenance"], str)
    return frame.astype({**text, **floats, **counts})[_COLUMNS]


def _mean_rows(rated: pd.DataFrame, system: str, seed: int) -> list[tuple]:
    """Mean ratings. Intervals resample notes (each note's mean over raters)."""
    rows: list[tuple] = []
    for row in mean_ratings(rated).itertuples():
        notes = rated[rated["aspect"] == row.aspect].groupby("record")["rating"].mean()
        _, low, high = mean_interval(notes, seed=seed)
        rows.append((system, "all", row.aspect, "mean_rating", row.mean, low, high, row.n))
        if row.raters > 1:
            rows.append((system, "all", row.aspect, "std_over_raters", row.std_over_raters, np.nan, np.nan, row.raters))
    return rows


def _alpha_rows(rated: pd.DataFrame, system: str, seed: int) -> list[tuple]:
    return [
        (system, "all", row.aspect, "krippendorff_alpha_ordinal", row.alpha, row.low, row.high, row.n)
        for row in alphas(rated, seed=seed).itertuples()
    ]


def _penalty_rows(rated: pd.DataFrame, penalties: pd.DataFrame, system: str) -> list[tuple]:
    """Number of penalties per part, over all raters and notes (Appendix E.2.1)."""
    n = int((rated["aspect"] == ASPECTS[0]).sum())
    given = penalties.groupby("part").size()
    parts = ("1A", "1B", "1C", "1D", "2A", "2B", "2C")
    counts = {part: int(given.get(part, 0)) for part in parts}
    rows = [
        (system, "all", f"part {part}", "penalties", float(count), np.nan, np.nan, n) for part, count in counts.items()
    ]
    return [*rows, (system, "all", "all parts", "penalties", float(sum(counts.values())), np.nan, np.nan, n)]


def review_scores(ratings: pd.DataFrame) -> pd.DataFrame:
    """RATINGS as SCORES rows: ``system`` is the rater, ``item`` the aspect, ``metric`` "rating"."""
    frame = ratings.rename(columns={"rater": "system", "aspect": "item", "rating": "value"})
    frame = frame.assign(condition="all", metric="rating", value=frame["value"].astype(float))
    columns = ["record", "system", "condition", "item", "metric", "value"]
    return frame[columns].sort_values(columns[:-1], ignore_index=True)
