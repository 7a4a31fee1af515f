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
    """A corrected share with its 95% interval."""

    value: float
    low: float
    high: float


def corrected_interval(
    scores: Sequence[float], truly: Sequence[bool], falsely: Sequence[bool], *, seed: int, draws: int = DRAWS
) -> Corrected:
    """The corrected mean of ``scores`` (one share a text) and its interval.

    ``truly`` are the judge's answers where the answer is yes (their mean is the sensitivity), ``falsely`` those where
    it is no (1 - mean is the specificity). Texts and calibration cases are resampled together, so the interval holds
    what is not known of the judge too (Lang and Reiczigel 2014 give its analytic kin).
    """
    parts = [np.asarray(values, dtype=float) for values in (scores, truly, falsely)]
    if any(part.size == 0 for part in parts):
        return Corrected(float("nan"), float("nan"), float("nan"))
    value = corrected_share(parts[0].mean(), parts[1].mean(), 1 - parts[2].mean())
    means = [part[resamples(part.size, seed=seed + at, draws=draws)].mean(axis=1) for at, part in enumerate(parts)]
    drawn = np.array([corrected_share(s, se, 1 - fp) for s, se, fp in zip(*means, strict=True)])
    drawn = drawn[~np.isnan(drawn)]
    if drawn.size == 0:
        return Corrected(value, float("nan"), float("nan"))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Corrected(value, float(low), float(high))
