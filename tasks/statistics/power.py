"""How many pairs a test needs: the difference between two paired shares (McNemar's exact test)."""

from math import ceil, sqrt

import numpy as np
from scipy import stats

_STEP = 1.02


def paired_pairs(difference: float, discordant: float, *, power: float, level: float) -> int:
    """Pairs with which the exact two-sided test at ``level`` finds a ``difference`` of paired shares with ``power``.

    ``discordant`` is the expected share of pairs whose two answers differ. The search, in steps of 2%, begins at the
    number for the test without continuity correction (Connor 1987, Biometrics 43), which the exact test, conditional on
    the discordant pairs, never undercuts by much. Raises ValueError for a difference that is larger than the share of
    discordant pairs, which is impossible.
    """
    if not 0 < difference <= discordant + 1e-9:
        raise ValueError(
            f"difference {difference:g}: expected above 0 and at most {discordant:g}, the discordant share"
        )
    chance, found = stats.norm.ppf(1 - level / 2), stats.norm.ppf(power)
    pairs = ceil((chance * sqrt(discordant) + found * sqrt(max(discordant - difference**2, 0.0))) ** 2 / difference**2)
    while exact_power(pairs, difference, discordant, level) < power:
        pairs = ceil(pairs * _STEP)
    return pairs


def exact_power(pairs: int, difference: float, discordant: float, level: float) -> float:
    """Probability that McNemar's exact test of ``pairs`` has a p-value of at most ``level``."""
    differing = np.arange(pairs + 1)
    most = stats.binom.ppf(level / 2, differing, 0.5)  # the smaller count of a significant test, or one more
    most -= stats.binom.cdf(most, differing, 0.5) > level / 2
    higher = min((discordant + difference) / (2 * discordant), 1.0)
    found = stats.binom.cdf(most, differing, 1 - higher) + stats.binom.cdf(most, differing, higher)
    return float((stats.binom.pmf(differing, pairs, discordant) * found).sum())


def clustered_size(size: int, clusters: int, correlation: float) -> int | None:
    """Items from ``clusters`` with an intracluster ``correlation`` that tell as much as ``size`` independent ones.

    The design effect is ``1 + (items / clusters - 1) * correlation`` (Kish 1965). None if no number of items suffices.
    """
    share = 1 - size * correlation / clusters
    return ceil(size * (1 - correlation) / share) if share > 0 else None
