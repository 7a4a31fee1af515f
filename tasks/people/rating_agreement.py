"""Mean ratings and agreement of raters (SimSUM, Table 4 and Appendix E.2), of people and of a model, and their labels.

A label says whether a note follows an instruction of its prompt, which the model says by giving no penalty.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.errors import SourceError
from schemas.tables.people import ASPECTS
from tasks.people.forms import labelled
from tasks.people.rating_form import FOLLOWED, ratings_of
from tasks.statistics.agreement import cohen_kappa, correlation_interval, krippendorff_interval
from tasks.statistics.intervals import difference_interval, mean_interval
from tasks.statistics.metric_rows import Row, bounds_rows, metric_row, metric_table, score_table

SCALE = (1.0, 5.0)


def mean_rows(rated: pd.DataFrame, system: str) -> list[Row]:
    """Mean of each rater's mean over notes (Table 4), and its standard deviation over several raters.

    The published standard deviation is that of the population (divisor: number of raters). Intervals are those
    of the notes' means over raters.
    """
    rows: list[Row] = []
    for aspect in ASPECTS:
        given = rated[rated["aspect"] == aspect]
        if given.empty:
            continue
        means = given.groupby("rater")["rating"].mean()
        _, low, high = mean_interval(given.groupby("record")["rating"].mean(), bounds=SCALE)
        rows.append(metric_row("mean_rating", means.mean(), low, high, n=len(given), system=system, item=aspect))
        if len(means) > 1:
            rows.append(metric_row("std_over_raters", means.std(ddof=0), n=len(means), system=system, item=aspect))
    return rows


def rating_matrix(ratings: pd.DataFrame, aspect: str) -> pd.DataFrame:
    """Ratings of one aspect, shape (raters, records); nan where a rater did not rate a record."""
    chosen = ratings[ratings["aspect"] == aspect]
    return chosen.pivot(index="rater", columns="record", values="rating").astype(float)


def alpha_rows(rated: pd.DataFrame, system: str) -> list[Row]:
    """Krippendorff's alpha with ordinal distance of each aspect; n counts records."""
    rows = []
    for aspect in ASPECTS:
        matrix = rating_matrix(rated, aspect).to_numpy()
        alpha = krippendorff_interval(matrix)
        rows.append(metric_row("krippendorff_alpha_ordinal", *alpha, n=matrix.shape[1], system=system, item=aspect))
    return rows


def model_rows(ratings: pd.DataFrame) -> list[Row]:
    """Agreement of each model with people, by aspect; none without a model or a person.

    ``mean_difference`` is the model's rating minus the mean of people's; ``spearman_with_people`` is their correlation
    over notes; ``kappa_linear_with_people`` is the mean of Cohen's linearly weighted kappa with each person, and
    ``kappa_linear_among_people`` the mean over pairs of people, for comparison.
    """
    people, models = ratings[ratings["rater_kind"] == "person"], ratings[ratings["rater_kind"] == "model"]
    rows: list[Row] = []
    for model, given in models.groupby("rater"):
        for aspect in ASPECTS:
            if aspect in set(people["aspect"]) & set(given["aspect"]):
                theirs, its = rating_matrix(people, aspect), rating_matrix(given, aspect)
                shared = theirs.columns.intersection(its.columns)
                persons, one = theirs[shared].to_numpy(), its[shared].to_numpy()[0]
                mean, keys = np.nanmean(persons, axis=0), {"n": len(shared), "system": model, "item": aspect}
                found: dict[str, tuple[float, ...]] = {
                    "mean_difference": difference_interval(one - mean, reach=SCALE[1] - SCALE[0]),
                    "spearman_with_people": correlation_interval(one, mean, "spearman"),
                    "kappa_linear_with_people": (_mean_kappa((one, person) for person in persons),),
                    "kappa_linear_among_people": (_mean_kappa(combinations(persons, 2)),),
                }
                rows += [metric_row(metric, *values, **keys) for metric, values in found.items()]
    return rows


def _mean_kappa(pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> float:
    """Of the pairs of raters whose kappa is defined."""
    both = [(one, two, ~(np.isnan(one) | np.isnan(two))) for one, two in pairs]
    kappas = pd.Series([cohen_kappa(one[at], two[at], "linear") for one, two, at in both], dtype=float)
    return float(kappas.mean())


def rating_labels(verdicts: pd.DataFrame, judge: str) -> pd.DataFrame:
    """VERDICTS of "the note follows the instruction" of the model (`rating_verdicts`), labelled by people's."""
    own = verdicts[verdicts["metric"] == FOLLOWED]
    return labelled(own[own["kind"] == "model"].assign(judge=judge), own[own["kind"] == "person"])


def review_metrics(verdicts: pd.DataFrame, *, seed: int, unscored: int, provenance: str) -> pd.DataFrame:
    """METRICS rows: Table 4, alphas, penalties per part, and agreement of the model with people (`rating_verdicts`).

    ``system`` is "people" or "model". Without returned files there are no rows of people.
    """
    ratings, denied = ratings_of(verdicts), verdicts[(verdicts["metric"] == FOLLOWED) & (verdicts["value"] == 0)]
    rows: list[Row] = []
    for kind, system in (("person", "people"), ("model", "model")):
        rated = ratings[ratings["rater_kind"] == kind]
        if rated.empty:
            continue
        rows += mean_rows(rated, system)
        rows += _penalty_rows(rated, denied[denied["kind"] == kind], system)
        if rated["rater"].nunique() > 1:
            rows += alpha_rows(rated, system)
    if ratings["rater_kind"].nunique() > 1:
        rows += alpha_rows(ratings, "people and model")
    rows += model_rows(ratings)
    bounds: list[Row] = []
    for row in rows:
        by_people = row["system"] == "people"
        row["unscored"] = 0 if by_people else unscored
        row["provenance"] = "people's ratings" if by_people else provenance
        if row["metric"] == "mean_rating":
            bounds += bounds_rows(row, bounds=SCALE)
    return metric_table([*rows, *bounds], stage="review", condition="all", seed=seed)


def _penalty_rows(rated: pd.DataFrame, denied: pd.DataFrame, system: str) -> list[Row]:
    """Number of penalties per part, over all raters and notes (Appendix E.2.1)."""
    n = int((rated["aspect"] == ASPECTS[0]).sum())
    given = denied["unit"].str.split("/").str[0].value_counts()
    parts = ("1A", "1B", "1C", "1D", "2A", "2B", "2C")
    counts = {part: int(given.get(part, 0)) for part in parts}
    items = {f"part {part}": count for part, count in counts.items()} | {"all parts": sum(counts.values())}
    return [metric_row("penalties", count, n=n, system=system, item=item) for item, count in items.items()]


def review_scores(ratings: pd.DataFrame) -> pd.DataFrame:
    """Ratings as SCORES rows: ``system`` is the rater, ``item`` the aspect, ``metric`` "rating"."""
    frame = ratings.rename(columns={"rater": "system", "aspect": "item", "rating": "value"})
    return score_table(frame.assign(condition="all", metric="rating"))


EVALUATOR_FILES = tuple(f"simsum/evaluator_{number}.csv" for number in range(1, 6))
"""The five evaluators' files in a sources folder."""
_RELEASED = {
    "consistency": "consistency",
    "realism_hist": "realism_history",
    "realism_phys": "realism_physical_examination",
    "clinical_accuracy": "clinical_accuracy",
    "compact_content": "compact_content",
    "compact_readability": "compact_readability",
}


def evaluator_files(folder: Path | None) -> list[Path]:
    """Paths of EVALUATOR_FILES in a sources folder; empty if one is missing."""
    files = [folder / name for name in EVALUATOR_FILES] if folder else []
    return files if all(file.exists() for file in files) else []


def read_evaluators(files: Sequence[Path]) -> pd.DataFrame:
    """The released ratings, as `ratings_of` has them. Each file has one rater's, one row per note, in the same order.

    Raises SourceError for unexpected columns, different numbers of rows, or values other than 1 to 5.
    """
    frames = []
    for file in files:
        wide = pd.read_csv(file)
        if list(wide.columns) != list(_RELEASED):
            raise SourceError(f"{file}: columns {list(wide.columns)}, expected {list(_RELEASED)}")
        if not wide.isin([1, 2, 3, 4, 5]).all(axis=None):
            raise SourceError(f"{file}: has ratings that are missing or not 1 to 5")
        long = wide.rename(columns=_RELEASED).rename_axis("record").reset_index()
        long = long.melt("record", var_name="aspect", value_name="rating")
        frames.append(long.assign(rater=file.stem, rater_kind="person", rating=long["rating"].astype("int64")))
    if len({len(frame) for frame in frames}) != 1:
        raise SourceError(f"{files[0].parent}: the evaluators' files have different numbers of notes")
    keys = ["rater", "rater_kind", "record", "aspect"]
    return pd.concat(frames)[[*keys, "rating"]].sort_values(keys, ignore_index=True)


def published_ratings(ratings: pd.DataFrame | None, seed: int) -> pd.DataFrame:
    """METRICS of the evaluators' ratings: means, alphas and penalties; no rows if their files are missing (None).

    Penalties are 5 - consistency, which is exact because no note got more than three penalties.
    """
    if ratings is None:
        return metric_table([])
    consistency = ratings.loc[ratings["aspect"] == "consistency", "rating"]
    penalties = metric_row("penalties", (5 - consistency).sum(), n=len(consistency), system="people", item="all parts")
    rows = [*mean_rows(ratings, "people"), *alpha_rows(ratings, "people"), penalties]
    return metric_table(rows, stage="review_published", condition="all", seed=seed, provenance="published ratings")
