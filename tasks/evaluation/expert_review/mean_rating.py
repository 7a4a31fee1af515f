"""SimSUM's Table 4: the mean rating over notes, and its spread over raters."""

import pandas as pd

from schemas.tables.review import ASPECTS


def mean_ratings(ratings: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over raters of each rater's mean over notes (Table 4).

    The published spread is the population standard deviation (divisor: number of raters). Takes RATINGS of people or of
    any raters; returns one row an aspect: aspect, mean, std_over_raters, raters, n (ratings).
    """
    by_rater = ratings.groupby(["aspect", "rater"])["rating"].mean()
    rows = [
        (aspect, means.mean(), means.std(ddof=0), len(means), int((ratings["aspect"] == aspect).sum()))
        for aspect in ASPECTS
        for means in [by_rater.get(aspect, pd.Series(dtype=float))]
        if len(means)
    ]
    return pd.DataFrame(rows, columns=["aspect", "mean", "std_over_raters", "raters", "n"])
