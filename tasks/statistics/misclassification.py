"""A mean of judged shares corrected for the judge's known error rates, from clustered cases.

Point estimate: Rogan and Gladen 1978. Interval: Jeffreys posteriors of the error rates and the sampling distribution of
the judged mean are drawn together (Lang and Reiczigel 2014 compare it with analytic intervals).
"""

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.statistics.intervals import LEVEL, Floats, Interval, cluster_sums, effective_size
from tasks.statistics.prediction_powered import drawn_share

DRAWS = 2000
MIN_INFORMEDNESS = 0.05
"""Below this sensitivity + specificity - 1 a verdict says next to nothing about the truth."""

MIXED = ", any mix of kinds"
"""Ends the item of a corrected mean with its range over all mixes of the kinds of known cases."""


def corrected_share(share: float, sensitivity: float, specificity: float) -> float:
    """(share + specificity - 1) / (sensitivity + specificity - 1), not clipped; nan for an uninformative judge."""
    informedness = sensitivity + specificity - 1
    return (share + specificity - 1) / informedness if informedness > MIN_INFORMEDNESS else float("nan")


SHIFTS = (0.01, 0.02, 0.05, 0.1, 0.15)
"""Differences of a judge's rates on the scored texts from those on the cases, for which a corrected score is given."""


def corrected_mean(
    scores: npt.ArrayLike,
    truth: npt.ArrayLike,
    judged: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    seed: int,
    ceilings: npt.ArrayLike | None = None,
    shift: float = 0.0,
) -> Interval:
    """The corrected mean of ``scores`` (n,), one per note; nan for an uninformative judge, or cases of one truth.

    The interval always contains the value: where neither judge nor texts had an error, all draws lie on one side of it,
    since the posterior of a rate allows for errors that were not seen. A value below 0 or above the ceiling is never
    clipped; if the whole interval is there, the cases with known truth differ from the judged ones.

    The error rates are those on cases with a known ``truth`` (m,); ``judged`` (m,) are the judge's answers, and
    ``clusters`` (m,) the note of each case. ``ceilings`` (n,) are the scores if every answer were yes: 1 for a share
    (the default), the number of facts for a count.

    With a ``shift``, sensitivity and specificity may differ by so much from those on the cases, each for itself, and
    the interval is that of the worst case (partial identification: Manski 2003, "Partial Identification of Probability
    Distributions").
    """
    score = np.asarray(scores, dtype=float)
    ceiling = np.ones_like(score) if ceilings is None else np.asarray(ceilings, dtype=float)
    true, said, of = np.asarray(truth, dtype=bool), np.asarray(judged, dtype=bool).astype(float), np.asarray(clusters)
    if score.size < 2 or not ceiling.sum() > 0 or not true.any() or true.all():
        return np.nan, np.nan, np.nan
    top = float(ceiling.mean())
    share = float(score.mean()) / top
    value = corrected_share(share, float(said[true].mean()), 1 - float(said[~true].mean()))
    if np.isnan(value):
        return np.nan, np.nan, np.nan
    random = np.random.default_rng(seed)
    shares = drawn_share(share, effective_size(score, ceiling), random, DRAWS)
    sensitivities, false_rates = (_drawn_rate(said[kind], of[kind], random) for kind in (true, ~true))
    ends = [value]
    for more, less in product({-shift, shift}, repeat=2):
        yes, no = np.clip(sensitivities + more, 0, 1), np.clip(false_rates + less, 0, 1)
        drawn = (shares - no) / np.maximum(yes - no, MIN_INFORMEDNESS)
        ends += [float(end) for end in np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])]
    return value * top, min(ends) * top, max(ends) * top


def _drawn_rate(answers: Floats, clusters: npt.NDArray[Any], random: np.random.Generator) -> Floats:
    """Draws from the Jeffreys posterior of the share of yes ``answers``, with their effective number."""
    return drawn_share(float(answers.mean()), effective_size(*cluster_sums(answers, clusters)), random, DRAWS)
