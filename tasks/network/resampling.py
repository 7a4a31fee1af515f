"""Bootstrap of records through their distinct kinds: fits need only the number of records of each kind."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.network.distributions import Floats
from tasks.statistics.bootstrap import LEVEL


@dataclass(frozen=True, eq=False)
class Kinds:
    """The distinct (combination, code) pairs of records and their counts."""

    combinations: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


def kinds_of(combinations: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]) -> Kinds:
    """The kinds among records with these combinations of parent values and these codes, shape (records,) each."""
    distinct, counts = np.unique(np.stack([combinations, codes], axis=1), axis=0, return_counts=True)
    return Kinds(distinct[:, 0], distinct[:, 1], counts)


def resampled_totals(kinds: Kinds, rows: int, draws: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Number of records and sum of codes for each combination, in ``draws`` resamples of the records.

    Shape (draws, rows) each. Multinomial counts of kinds are equivalent to drawing records with replacement.
    """
    total = int(kinds.counts.sum())
    drawn = random.multinomial(total, kinds.counts / total, size=draws).astype(float)
    # Kinds are sorted by combination, so each combination is a range of columns.
    present, starts = np.unique(kinds.combinations, return_index=True)
    n, s = np.zeros((draws, rows)), np.zeros((draws, rows))
    n[:, present] = np.add.reduceat(drawn, starts, axis=1)
    s[:, present] = np.add.reduceat(drawn * kinds.codes, starts, axis=1)
    return n, s


def percentile_interval(values: Floats) -> tuple[Floats, Floats]:
    """Low and high of the percentile interval along the first axis, ignoring nan."""
    low, high = np.nanquantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high
