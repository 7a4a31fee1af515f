"""Anytime-valid monitoring of a judge's sensitivity and specificity, by betting against "no worse than before".

A reference of cases gives each rate, and a lower limit of it (Clopper and Pearson). In each later round the judge
answers fresh cases of the same make. While its rate is at or above the limit, the likelihood ratio of a lower rate
against the limit is expected to be at most 1 in each round, if the lower rate was named before the round. The product
is a test supermartingale: its probability of ever reaching 1 / level is at most the level, however often one looks
(Ville's inequality; Ramdas, Gruenwald, Vovk and Shafer 2023, "Game-theoretic statistics and safe anytime-valid
inference", Section 3). The rate that is bet on is that of the last rounds; where these show no fall, nothing is staked,
so that years without one do not use up the stake. Half of the level is spent on the limit, half on the process.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

Floats = npt.NDArray[np.float64]
LAST = 12
"""Rounds whose rate is bet on."""
PRIOR = 60
"""Cases at the limit that are added to theirs, so that few cases do not make bold bets."""
LEAST_FALL = 0.01
"""Falls below the limit that are smaller are not bet on."""


@dataclass(frozen=True)
class Watched:
    """One rate after its last round. ``log_e``: the process after each round (rounds,), ``alarm``: a round or None.

    ``rate`` is that of the reference of ``n`` cases, ``limit`` its lower limit, ``threshold`` what the process must
    reach.
    """

    rate: float
    limit: float
    n: int
    log_e: Floats
    threshold: float
    alarm: int | None


def watch_rate(reference: tuple[int, int], rounds: Sequence[tuple[int, int]], *, level: float) -> Watched:
    """Watch one rate: right answers and cases of the ``reference``, and of each later round.

    ``level``: the probability of ever raising an alarm while the rate is that of the reference. Raises ValueError for a
    reference without cases.
    """
    right, n = reference
    if n <= 0 or not 0 <= right <= n:
        raise ValueError(f"reference of {n} cases, {right} right; expected at least one case")
    limit = float(beta.ppf(level / 2, right, n - right + 1)) if right else 0.0
    log_e = np.array(list(_process(limit, rounds)))
    threshold = float(-np.log(level / 2))
    beyond = np.flatnonzero(log_e >= threshold)
    return Watched(right / n, limit, n, log_e, threshold, int(beyond[0]) if beyond.size else None)


def _process(limit: float, rounds: Sequence[tuple[int, int]]) -> Iterator[float]:
    """The logarithm of the process after each round."""
    total = 0.0
    for at, (right, n) in enumerate(rounds):
        last = rounds[max(0, at - LAST) : at]
        seen = sum(cases for _, cases in last)
        bet = (sum(hits for hits, _ in last) + PRIOR * limit) / (seen + PRIOR)
        if bet < limit - LEAST_FALL:
            total += right * np.log(bet / limit) + (n - right) * np.log((1 - bet) / (1 - limit))
        yield float(total)
