"""A mean of judged shares corrected for the judge's known error rates, by stratum and with clustered cases.

Point estimate: Rogan and Gladen 1978. Interval: Jeffreys posteriors of the error rates and the sampling distribution of
the judged mean are drawn together (Lang and Reiczigel 2014 compare it with analytic intervals).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.statistics.bootstrap import LEVEL

DRAWS = 2000
MIN_INFORMEDNESS = 0.05
"""Below this sensitivity + specificity - 1 a verdict says next to nothing about the truth."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stratum:
    """Cases of one kind whose truth is known, all positive or all negative.

    ``answers`` (m,) are the judge's verdicts, ``clusters`` (m,) the note of each case, and ``weight`` is the share of
    this kind among the judged items of that truth.
    """

    answers: npt.ArrayLike
    clusters: npt.ArrayLike
    weight: float = 1.0


@dataclass(frozen=True)
class Corrected:
    """A corrected mean with its 95% interval; nan where the judge is uninformative or a stratum has no case.

    The interval always contains the value: where neither judge nor texts had an error, all draws lie on one side of it,
    since the posterior of a rate allows for errors that were not seen.

    ``inside`` is whether the value lies between 0 and the ceiling. A value outside is never clipped: it shows that the
    cases with known truth differ from the judged ones, so they do not identify the correction.
    """

    value: float
    low: float
    high: float
    inside: bool


NOT_DEFINED = Corrected(float("nan"), float("nan"), float("nan"), False)


def corrected_share(share: float, sensitivity: float, specificity: float) -> float:
    """(share + specificity - 1) / (sensitivity + specificity - 1), not clipped; nan for an uninformative judge."""
    informedness = sensitivity + specificity - 1
    return (share + specificity - 1) / informedness if informedness > MIN_INFORMEDNESS else float("nan")


def corrected_mean(
    scores: npt.ArrayLike,
    positives: Sequence[Stratum],
    negatives: Sequence[Stratum],
    *,
    seed: int,
    ceilings: npt.ArrayLike | None = None,
    draws: int = DRAWS,
) -> Corrected:
    """Correct the mean of ``scores`` (n,), one per note, and compute its interval.

    ``positives`` are strata of cases whose true answer is yes, ``negatives`` of cases whose true answer is no.
    ``ceilings`` (n,) are the scores if every answer were yes: 1 for a share (the default), the number of facts for a
    count.
    """
    score = np.asarray(scores, dtype=float)
    ceiling = np.ones_like(score) if ceilings is None else np.asarray(ceilings, dtype=float)
    if score.size < 2 or not ceiling.sum() > 0 or any(np.size(s.answers) == 0 for s in (*positives, *negatives)):
        return NOT_DEFINED
    top = float(ceiling.mean())
    share = float(score.mean()) / top
    value = corrected_share(share, _rate(positives), 1 - _rate(negatives))
    if np.isnan(value):
        return NOT_DEFINED
    random = np.random.default_rng(seed)
    spread = float((score - share * ceiling).std(ddof=1)) / np.sqrt(score.size) / top  # ratio estimator of the share
    shares = share + spread * random.standard_t(score.size - 1, draws)
    sensitivities, false_rates = _drawn_rate(positives, random, draws), _drawn_rate(negatives, random, draws)
    informedness = np.maximum(sensitivities - false_rates, MIN_INFORMEDNESS)
    low, high = np.quantile((shares - false_rates) / informedness, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Corrected(value * top, min(float(low), value) * top, max(float(high), value) * top, 0 <= value <= 1)


def _rate(strata: Sequence[Stratum]) -> float:
    """Share of yes answers, with strata weighted as among the judged items."""
    weights = np.array([stratum.weight for stratum in strata])
    shares = np.array([np.asarray(stratum.answers, dtype=float).mean() for stratum in strata])
    return float(weights @ shares / weights.sum())


def _drawn_rate(strata: Sequence[Stratum], random: np.random.Generator, draws: int) -> Floats:
    """Draws from the Jeffreys posterior of `_rate`, with counts divided by each stratum's design effect."""
    weights = np.array([stratum.weight for stratum in strata])
    rates = []
    for stratum in strata:
        answers = np.asarray(stratum.answers, dtype=float)
        size = answers.size / design_effect(answers, stratum.clusters)
        yes = answers.mean() * size
        rates.append(random.beta(yes + 0.5, size - yes + 0.5, draws))
    drawn: Floats = weights @ np.array(rates) / weights.sum()
    return drawn


def design_effect(answers: npt.ArrayLike, clusters: npt.ArrayLike) -> float:
    """Variance of the mean of 0/1 ``answers`` (m,) in clusters over that of independent answers, at least 1.

    If all answers are equal, the variance is uninformative and the design effect is 1.
    """
    answer = np.asarray(answers, dtype=float)
    independent = answer.mean() * (1 - answer.mean()) * answer.size
    if independent == 0:
        return 1.0
    _, of = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(of, weights=answer - answer.mean())
    factor = sums.size / (sums.size - 1) if sums.size > 1 else 1.0
    return float(max(1.0, factor * (sums**2).sum() / independent))
