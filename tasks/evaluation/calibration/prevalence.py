"""The share that a judge of known error rates stands for: Rogan and Gladen's estimator (1978)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.statistics.bootstrap import DRAWS, LEVEL, resamples

MIN_INFORMEDNESS = 0.05
"""A judge whose sensitivity and specificity add up to no more than this above 1 tells next to nothing."""


def corrected_share(share: float, sensitivity: float, specificity: float) -> float:
    """(share + specificity - 1) / (sensitivity + specificity - 1), cut to [0, 1]; nan for an uninformative judge."""
    informedness = sensitivity + specificity - 1
    if not informedness > MIN_INFORMEDNESS:
        return float("nan")
    return float(np.clip((share + specificity - 1) / informedness, 0.0, 1.0))


@dataclass(frozen=True)
class Corrected:
    """A corrected score with its 95% interval."""

    value: float
    low: float
    high: float


def corrected_interval(
    scores: Sequence[float],
    truly: Sequence[bool],
    falsely: Sequence[bool],
    *,
    seed: int,
    ceilings: Sequence[float] | None = None,
    draws: int = DRAWS,
) -> Corrected:
    """The corrected mean of ``scores`` (one a text) and its interval.

    ``truly`` are the judge's answers where the answer is yes (their mean is the sensitivity), ``falsely`` those where
    it is no (1 - mean is the specificity). Texts and calibration cases are resampled together, so the interval holds
    what is not known of the judge too (Lang and Reiczigel 2014 give its analytic kin). ``ceilings`` are what each score
    would be were every answer yes: 1 of a share, the number of facts of a count, their weights' sum of a weight, which
    takes the judge to err alike on heavy and light ones.
    """
    most = [1.0] * len(scores) if ceilings is None else ceilings
    parts = [np.asarray(values, dtype=float) for values in (truly, falsely)]
    score, ceiling = np.asarray(scores, dtype=float), np.asarray(most, dtype=float)
    if score.size == 0 or not ceiling.mean() > 0 or any(part.size == 0 for part in parts):
        return Corrected(float("nan"), float("nan"), float("nan"))
    value = ceiling.mean() * corrected_share(score.mean() / ceiling.mean(), parts[0].mean(), 1 - parts[1].mean())
    texts = resamples(score.size, seed=seed, draws=draws)
    means = [p[resamples(p.size, seed=seed + at, draws=draws)].mean(axis=1) for at, p in enumerate(parts, 1)]
    highest = ceiling[texts].mean(axis=1)
    shares = np.divide(score[texts].mean(axis=1), highest, out=np.full(draws, np.nan), where=highest > 0)
    rows = zip(shares, highest, *means, strict=True)
    drawn = np.array([top * corrected_share(share, se, 1 - fp) for share, top, se, fp in rows])
    drawn = drawn[~np.isnan(drawn)]
    if drawn.size == 0:
        return Corrected(float(value), float("nan"), float("nan"))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Corrected(float(value), float(low), float(high))
