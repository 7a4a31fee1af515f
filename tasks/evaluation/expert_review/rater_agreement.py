"""Agreement of raters: among people (SimSUM, Appendix E.2.2), and of a model with people."""

import numpy as np
import pandas as pd

from schemas.tables.review import ASPECTS
from tasks.statistics.agreement import (
    cohen_kappa,
    correlation,
    correlation_interval,
    krippendorff_alpha,
    krippendorff_interval,
)
from tasks.statistics.bootstrap import mean_interval


def rating_matrix(ratings: pd.DataFrame, aspect: str) -> pd.DataFrame:
    """Ratings of one aspect, shape (raters, records); nan where a rater did not rate a record."""
    chosen = ratings[ratings["aspect"] == aspect]
    return chosen.pivot(index="rater", columns="record", values="rating").astype(float)


def alphas(ratings: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Krippendorff's alpha with ordinal distance, per aspect: aspect, alpha, low, high, n (records)."""
    rows = []
    for aspect in ASPECTS:
        matrix = rating_matrix(ratings, aspect)
        low, high = krippendorff_interval(matrix.to_numpy(), seed=seed)
        rows.append((aspect, krippendorff_alpha(matrix.to_numpy()), low, high, matrix.shape[1]))
    return pd.DataFrame(rows, columns=["aspect", "alpha", "low", "high", "n"])


def model_against_people(ratings: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Agreement of each model with people: aspect, rater, metric, value, low, high, n.

    ``mean_difference`` is the model's rating minus the mean of people's; ``spearman_with_people`` is their correlation
    over notes; ``kappa_linear_with_people`` is the mean of Cohen's linearly weighted kappa with each person, and
    ``kappa_linear_among_people`` the mean over pairs of people, for comparison. Empty without a model or a person.
    """
    people, models = ratings[ratings["rater_kind"] == "person"], ratings[ratings["rater_kind"] == "model"]
    if people.empty or models.empty:
        return pd.DataFrame(columns=["aspect", "rater", "metric", "value", "low", "high", "n"])
    rows: list[tuple] = []
    for model, given in models.groupby("rater"):
        for aspect in ASPECTS:
            if aspect in set(people["aspect"]) & set(given["aspect"]):
                theirs, its = rating_matrix(people, aspect), rating_matrix(given, aspect)
                rows += _against(str(model), aspect, theirs, its, seed)
    return pd.DataFrame(rows, columns=["aspect", "rater", "metric", "value", "low", "high", "n"])


def _against(model: str, aspect: str, people: pd.DataFrame, given: pd.DataFrame, seed: int) -> list[tuple]:
    shared = people.columns.intersection(given.columns)
    persons, one = people[shared].to_numpy(), given[shared].to_numpy()[0]
    mean = np.nanmean(persons, axis=0)
    difference = mean_interval(one - mean, seed=seed)
    spearman = (correlation(one, mean, "spearman"), *correlation_interval(one, mean, "spearman", seed=seed))
    with_people = [_kappa(one, person) for person in persons]
    among = [_kappa(persons[i], persons[j]) for i in range(len(persons)) for j in range(i)]
    n = len(shared)
    return [
        (aspect, model, "mean_difference", *difference, n),
        (aspect, model, "spearman_with_people", *spearman, n),
        (aspect, model, "kappa_linear_with_people", _mean(with_people), np.nan, np.nan, n),
        (aspect, model, "kappa_linear_among_people", _mean(among), np.nan, np.nan, n),
    ]


def _mean(values: list[float]) -> float:
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan


def _kappa(one: np.ndarray, two: np.ndarray) -> float:
    both = ~(np.isnan(one) | np.isnan(two))
    return cohen_kappa(one[both], two[both], "linear")
