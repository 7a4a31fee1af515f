"""How many pairs a test needs: the difference between two paired shares (McNemar's test)."""

from math import ceil, sqrt

from scipy import stats


def paired_pairs(difference: float, discordant: float, *, power: float, level: float) -> int:
    """Pairs with which a two-sided test at ``level`` finds a ``difference`` of two paired shares with ``power``.

    ``discordant`` is the expected share of pairs whose two answers differ. Formula: Connor 1987, Biometrics 43.
    Raises ValueError for a difference that is larger than the share of discordant pairs, which is impossible.
    """
    if not 0 < difference <= discordant + 1e-9:
        raise ValueError(
            f"difference {difference:g}: expected above 0 and at most {discordant:g}, the discordant share"
        )
    chance, found = stats.norm.ppf(1 - level / 2), stats.norm.ppf(power)
    return ceil((chance * sqrt(discordant) + found * sqrt(max(discordant - difference**2, 0.0))) ** 2 / difference**2)
