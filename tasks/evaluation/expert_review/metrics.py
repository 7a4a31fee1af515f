"""The metric and score tables of the review stage."""

import pandas as pd

from schemas.tables.review import ASPECTS
from tasks.evaluation.expert_review.mean_rating import mean_ratings
from tasks.evaluation.expert_review.rater_agreement import alphas, model_against_people
from tasks.statistics.bootstrap import mean_interval
from tasks.statistics.metric_rows import Row, metric_row, metric_table, score_table


def review_metrics(
    ratings: pd.DataFrame, penalties: pd.DataFrame, *, seed: int, unscored: int, provenance: str
) -> pd.DataFrame:
    """METRICS rows: Table 4, alphas, penalties per part, and agreement of the model with people.

    ``system`` is "people" or "model". Without returned files there are no rows of people.
    """
    rows: list[Row] = []
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
        metric_row(row.metric, row.value, row.low, row.high, n=row.n, system=row.rater, item=row.aspect)
        for row in model_against_people(ratings, seed=seed).itertuples()
    ]
    for row in rows:
        by_people = row["system"] == "people"
        row["unscored"] = 0 if by_people else unscored
        row["provenance"] = "people's ratings" if by_people else provenance
    return metric_table(rows, stage="review", condition="all", seed=seed)


def _mean_rows(rated: pd.DataFrame, system: str, seed: int) -> list[Row]:
    """Mean ratings. Intervals resample notes (each note's mean over raters)."""
    rows: list[Row] = []
    for row in mean_ratings(rated).itertuples():
        notes = rated[rated["aspect"] == row.aspect].groupby("record")["rating"].mean()
        _, low, high = mean_interval(notes, seed=seed)
        rows.append(metric_row("mean_rating", row.mean, low, high, n=row.n, system=system, item=row.aspect))
        if row.raters > 1:
            spread = metric_row("std_over_raters", row.std_over_raters, n=row.raters, system=system, item=row.aspect)
            rows.append(spread)
    return rows


def _alpha_rows(rated: pd.DataFrame, system: str, seed: int) -> list[Row]:
    return [
        metric_row("krippendorff_alpha_ordinal", row.alpha, row.low, row.high, n=row.n, system=system, item=row.aspect)
        for row in alphas(rated, seed=seed).itertuples()
    ]


def _penalty_rows(rated: pd.DataFrame, penalties: pd.DataFrame, system: str) -> list[Row]:
    """Number of penalties per part, over all raters and notes (Appendix E.2.1)."""
    n = int((rated["aspect"] == ASPECTS[0]).sum())
    given = penalties.groupby("part").size()
    parts = ("1A", "1B", "1C", "1D", "2A", "2B", "2C")
    counts = {part: int(given.get(part, 0)) for part in parts}
    items = {f"part {part}": count for part, count in counts.items()} | {"all parts": sum(counts.values())}
    return [metric_row("penalties", count, n=n, system=system, item=item) for item, count in items.items()]


def review_scores(ratings: pd.DataFrame) -> pd.DataFrame:
    """RATINGS as SCORES rows: ``system`` is the rater, ``item`` the aspect, ``metric`` "rating"."""
    frame = ratings.rename(columns={"rater": "system", "aspect": "item", "rating": "value"})
    return score_table(frame.assign(condition="all", metric="rating"))
