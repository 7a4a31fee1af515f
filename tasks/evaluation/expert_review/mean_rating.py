"""Mean rating over notes and its standard deviation over raters (SimSUM, Table 4)."""

import pandas as pd

from schemas.tables.review import ASPECTS


def mean_ratings(ratings: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over raters of each rater's mean over notes (Table 4), from RATINGS.

    The published standard deviation is that of the population (divisor: number of raters). Returns one row per aspect:
    aspect, mean, std_over_raters, raters, n (ratings).
    """
    rows = []
    for aspect in ASPECTS:
        rated = ratings[ratings["aspect"] == aspect]
        if len(rated):
            means = rated.groupby("rater")["rating"].mean()
            rows.append((aspect, means.mean(), means.std(ddof=0), len(means), len(rated)))
    return pd.DataFrame(rows, columns=["aspect", "mean", "std_over_raters", "raters", "n"])
