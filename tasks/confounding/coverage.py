"""Estimates of an effect by each adjustment set over draws from one pool: bias, error, coverage of their intervals.

Adjustment sets are matrices of what an analyst sees of a patient, from nothing to the complete table. Draws from one
pool share the pool's own sampling error: it is part of every estimate's distance from the exact effect, and of the
intervals of bias and coverage given here.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.decomposition import PCA

from tasks.confounding.aipw import Estimate, Flags, Floats, Model, difference, doubly_robust
from tasks.progress import progress
from tasks.statistics.intervals import mean_interval
from tasks.statistics.metric_rows import metric_row, metric_table

UNADJUSTED = "unadjusted"
WITHOUT_SYMPTOMS = "tables without symptoms"
TABLES = "tables with symptoms"
SPANS = "tables and spans of the notes"
EMBEDDINGS = "tables and embeddings of the notes"
NOISE = "tables with symptoms and noise"
"""Control: as many columns of noise as the text has components; they cost nothing if the adjustment is sound."""
_NOISE_STREAM = 9


def adjustment_designs(
    records: pd.DataFrame,
    recorded: Sequence[str],
    symptoms: Sequence[str],
    spans: Mapping[str, npt.NDArray[np.float32]],
    notes: npt.NDArray[np.float32],
    components: int,
    seed: int,
) -> dict[str, Floats]:
    """Matrices (records, columns) by system, but for the unadjusted comparison.

    ``recorded``: columns of a patient record without symptoms. ``spans``: a vector for each record by symptom, zeros
    where a note has no span of the symptom. ``notes``: one embedding per note. Vectors are reduced to ``components``
    principal components (for spans, shared equally by the symptoms); components use the text only.
    """
    base = one_hot(records, recorded)
    each = max(1, components // len(symptoms))
    seen = [_span_columns(spans[symptom], each) for symptom in symptoms]
    tables = np.hstack([base, one_hot(records, symptoms)])
    noise = np.random.default_rng([seed, _NOISE_STREAM]).normal(size=(len(records), components))
    return {
        WITHOUT_SYMPTOMS: base,
        SPANS: np.hstack([base, *seen]),
        EMBEDDINGS: np.hstack([base, reduced(notes, components)]),
        TABLES: tables,
        NOISE: np.hstack([tables, noise]),
    }


def one_hot(records: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Indicators of all values but the first of each column, (records, indicators)."""
    frame = records[list(columns)].astype("str")
    return pd.get_dummies(frame, drop_first=True, dtype=float).to_numpy()


def reduced(vectors: npt.NDArray[np.float32], components: int) -> Floats:
    """The first principal components, (records, at most ``components``)."""
    count = min(components, *vectors.shape)
    return PCA(count, svd_solver="covariance_eigh").fit_transform(vectors.astype(np.float64))


def _span_columns(vectors: npt.NDArray[np.float32], components: int) -> Floats:
    """Whether a note has a span, and the components of its vector, 0 without one."""
    has = vectors.any(axis=1)
    columns = np.zeros((len(vectors), 1 + components))
    columns[:, 0] = has
    if has.sum() > 1:
        found = reduced(vectors[has], components)
        columns[has, 1 : 1 + found.shape[1]] = found
    return columns


EXACT = "network, exact"
MISSPECIFIED: dict[str, Model] = {
    f"{TABLES}, outcome model without them": "outcome",
    f"{TABLES}, propensity model without them": "propensity",
}
"""Controls: one of the two models knows nothing, and the other one makes up for it if the estimate is doubly robust."""
SUPPORT = ("overlap", "effective_size", "robustness")
"""Fields of `Estimate` whose means over the draws are shown."""
_STREAM, _QUANTILE, _RESAMPLES = 8, 1.959964, 2000


def estimates(
    designs: Mapping[str, Floats],
    treated: Flags,
    outcome: Floats,
    *,
    draws: int,
    size: int,
    folds: int,
    repeats: int,
    seed: int,
) -> dict[str, list[Estimate]]:
    """Estimates by system on ``draws`` samples of ``size`` records, each drawn from the pool without replacement.

    The pool is all records with notes: a matrix by system (`adjustment_designs`), treatment and outcome (records,).
    """
    found: dict[str, list[Estimate]] = {system: [] for system in (UNADJUSTED, *designs, *MISSPECIFIED)}
    systems: list[tuple[str, Floats, Model | None]] = [(name, design, None) for name, design in designs.items()]
    systems += [(system, designs[TABLES], model) for system, model in MISSPECIFIED.items()]
    with progress("text as confounder", draws, "draw") as bar:
        for draw in range(draws):
            rows = np.random.default_rng([seed, _STREAM, draw]).choice(len(outcome), size, replace=False)
            arms, values = treated[rows], outcome[rows]
            found[UNADJUSTED].append(difference(arms, values))
            for system, design, model in systems:
                chosen = design[rows]
                found[system].append(
                    doubly_robust(chosen, arms, values, folds=folds, repeats=repeats, seed=draw, constant=model)
                )
            bar.update()
    return found


def confounding_table(
    found: Mapping[str, Sequence[Estimate]],
    exact: float,
    *,
    pool: int,
    size: int,
    seed: int,
    item: str,
    provenance: str,
) -> pd.DataFrame:
    """METRICS: effect, bias, rmse, coverage, interval width and what the data support by system, over the draws.

    The interval of ``effect`` holds 95% of the draws. Those of ``bias``, ``coverage`` and ``effect_minus_tables``
    account for the number of draws and for the pool's sampling error; the last, paired by draw, has little of it.
    """
    shared = {"stage": "text_confounding_published", "item": item, "seed": seed, "provenance": provenance}
    condition = f"draws of {size:,} from {pool:,} records"
    rows = [metric_row("effect", exact, system=EXACT, condition="intervention", n=0)]
    for system, drawn in found.items():
        values, bounds = np.array([one.effect for one in drawn]), np.array([one.interval for one in drawn])
        shifts = pool_errors(values, size / pool, seed)
        resampled = np.random.default_rng([seed, _STREAM]).integers(0, len(drawn), (_RESAMPLES, len(drawn)))
        covered = (bounds[resampled, 0] <= exact + shifts[:, None]) & (exact + shifts[:, None] <= bounds[resampled, 1])
        error = _QUANTILE * standard_error(values, size / pool)
        bias = float(values.mean()) - exact
        paired = values - np.array([one.effect for one in found[TABLES]]) if TABLES in found else np.zeros_like(values)
        distance = _QUANTILE * standard_error(paired, size / pool)
        gap = float(paired.mean())
        measures = [
            ("effect_minus_tables", gap, gap - distance, gap + distance),
            ("effect", float(values.mean()), *np.quantile(values, [0.025, 0.975])),
            ("bias", bias, bias - error, bias + error),
            ("rmse", float(np.sqrt(((values - exact) ** 2).mean())), np.nan, np.nan),
            ("coverage", *_share_covering(bounds, exact, covered)),
            ("interval_width", float((bounds[:, 1] - bounds[:, 0]).mean()), np.nan, np.nan),
            *((name, float(np.mean([getattr(one, name) for one in drawn])), np.nan, np.nan) for name in SUPPORT),
        ]
        rows += [
            metric_row(metric, float(value), float(low), float(high), n=len(drawn), system=system, condition=condition)
            for metric, value, low, high in measures
            if not (np.isnan(value) or (metric == "effect_minus_tables" and system == TABLES))
        ]
    return metric_table(rows, **shared)


def standard_error(values: Floats, fraction: float) -> float:
    """Standard error of the mean of estimates on draws of a ``fraction`` of one pool, the pool's error included.

    Draws without replacement vary by (1 - fraction) of the variance of independent samples of their size; the pool's
    own estimate varies by ``fraction`` of it.
    """
    between = float(values.var(ddof=1))
    return float(np.sqrt(between / len(values) + between / (1 - fraction) * fraction))


def pool_errors(values: Floats, fraction: float, seed: int) -> Floats:
    """Normal draws of the pool's sampling error, (resamples,)."""
    deviation = np.sqrt(float(values.var(ddof=1)) / (1 - fraction) * fraction)
    return np.random.default_rng([seed, _STREAM, 0, 0]).normal(0, deviation, _RESAMPLES)


def _share_covering(bounds: Floats, exact: float, resampled: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
    """Share of draws whose interval holds ``exact``, and an interval that holds that of the resamples and Wilson's.

    The resamples carry the pool's error, Wilson's interval holds at a share of 0 or 1.
    """
    share, low, high = mean_interval((bounds[:, 0] <= exact) & (exact <= bounds[:, 1]))
    pooled = np.quantile(resampled.mean(axis=1), [0.025, 0.975])
    return share, float(np.fmin(low, pooled[0])), float(np.fmax(high, pooled[1]))
