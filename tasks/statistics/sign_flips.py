"""Tests of paired differences: sign flips, exact or drawn, and p-values adjusted for a family. The only place of tests.

The sign of a difference is arbitrary where nothing differs but chance. Over the 2^k signs of the sums of k texts the
distribution of a total is exact (`flip_p`); with one case a text this is McNemar's exact test (1947). Families are
adjusted by Holm's step-down (1979), or, with draws that all members share, by the step-down maximum (Westfall and Young
1993, Algorithm 4.1), whose smallest p-value does not grow with the number of tests.

A drawn flip multiplies the difference of each record by a random sign, the same for all measures. That is exact where
the differences are symmetric, as those of exchangeable lineages are, and raises alarms where they are skewed around a
mean of 0. A resample draws records with replacement from the differences less their mean (the bootstrap t, Hall 1992,
"The Bootstrap and Edgeworth Expansion", Section 3.10), which allows for skewness and is too wide for few records. Both
studentise the means, and a p value is the larger of the two. A measure with several training seeds adds the sampling
noise of its seeds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, t

from tasks.statistics.intervals import LEVEL as CONFIDENCE
from tasks.statistics.intervals import Floats

LEVEL = 0.05
DRAWS = 2000
FEWEST = 8
"""Differences of fewer records are not tested."""
_BLOCK, _CELLS = 250, 10_000_000  # draws, and signs, at once, to bound memory
_TIE = 1e-6  # relative; rounding must not break ties of draws with the observed value
_LARGEST = 35.0  # beyond it the tail probability underflows
_TINY = 1e-12
_ALIKE = 1e-9
_MANY, _BLOCKS = 10_000, 2000
"""Above so many records, signs and resamples are drawn for blocks of records, not for each."""


def flip_p(differences: npt.ArrayLike, clusters: npt.ArrayLike, *, one_sided: bool = False) -> float:
    """P of a sum of whole differences (n,) whose sign is arbitrary in each cluster; 1 without a difference.

    ``one_sided``: only sums above 0 speak against that. Raises ValueError for differences that are not whole numbers.
    """
    _, of = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(of, weights=np.asarray(differences, dtype=float))
    whole = np.rint(sums).astype(int)
    if not np.allclose(sums, whole):
        raise ValueError("differences are not whole numbers; expected those of verdicts")
    steps = np.abs(whole[whole != 0])
    if not steps.size:
        return 1.0
    most = int(steps.sum())
    probability = np.zeros(2 * most + 1)
    probability[most] = 1.0
    for step in steps:
        probability = (np.roll(probability, step) + np.roll(probability, -step)) / 2
    found, totals = int(whole.sum()), np.arange(-most, most + 1)
    beyond = totals >= found if one_sided else np.abs(totals) >= abs(found)
    return float(min(probability[beyond].sum(), 1.0))


def holm(p: Sequence[float]) -> Floats:
    """P-values adjusted for their number by Holm's step-down (1979)."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(np.minimum(values[order] * np.arange(len(values), 0, -1), 1.0))
    adjusted = np.empty_like(steps)
    adjusted[order] = steps
    return adjusted


def family_level(size: int) -> float:
    """Confidence of each of ``size`` intervals that hold together in 95 of 100 studies (Bonferroni)."""
    return CONFIDENCE if size <= 1 else 1 - (1 - CONFIDENCE) / size


def step_down(observed: Floats, drawn: Iterable[Floats]) -> Floats:
    """Family-wise p-values (m,) of the sizes ``observed`` (m,) by step-down maxT.

    ``drawn``: blocks (draws, m) of sizes where nothing differs, on one scale for all members.
    """
    order = np.argsort(-observed, kind="stable")
    threshold = (observed - _TIE * (1 + observed))[order]
    exceeded, draws = np.zeros(len(order)), 0
    for block in drawn:
        largest = np.maximum.accumulate(block[:, order[::-1]], axis=1)[:, ::-1]  # over this one and all smaller ones
        exceeded += (largest >= threshold).sum(axis=0)
        draws += len(block)
    p = np.empty(len(order))
    p[order] = np.maximum.accumulate((1 + exceeded) / (1 + draws))
    return p


@dataclass(frozen=True)
class Differences:
    """Per-record differences (n,) of one measure, and the variance components of their mean.

    ``share``: fraction of the variance over records that is not due to single seeds. ``added_variance``: variance of
    the mean due to training seeds and redraws, with ``added_freedom`` degrees of freedom; 0 for one seed per lineage.
    """

    records: npt.NDArray[np.int64]
    values: Floats
    share: float = 1.0
    added_variance: float = 0.0
    added_freedom: float = 0.0


def union(ids: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """All ids in order; by sorting, since `numpy.unique` takes ten times as long for a million integers."""
    together = np.sort(np.concatenate(ids), kind="stable")
    return together[np.diff(together, prepend=together[:1] - 1) > 0]


@dataclass(frozen=True)
class _Stacked:
    """A family of m measures as arrays over the union of records; each measure's differences are scaled to unit RMS.

    ``scaled``: (records, m), zero where a measure lacks a record; ``squared``: their squares; ``present``: whether it
    has the record. For more than `_MANY` records, rows are blocks of records, with sums of these.
    ``rms``, ``n``, ``share``, ``added_variance`` and ``added_freedom``: (m,).
    """

    scaled: Floats
    squared: Floats
    present: Floats
    rms: Floats
    n: Floats
    share: Floats
    added_variance: Floats
    added_freedom: Floats

    @classmethod
    def of(cls, family: Sequence[Differences]) -> "_Stacked":
        records = union([d.records for d in family])
        rows = len(records) if len(records) <= _MANY else _BLOCKS
        rms = np.array([np.sqrt(np.mean(d.values**2)) for d in family])
        scaled, squared, present = (np.zeros((rows, len(family))) for _ in range(3))
        for place, d in enumerate(family):
            at = np.searchsorted(records, d.records) % rows
            values = d.values / rms[place] if rms[place] > _TINY else np.zeros_like(d.values)
            scaled[:, place] = np.bincount(at, weights=values, minlength=rows)
            squared[:, place] = np.bincount(at, weights=values**2, minlength=rows)
            present[:, place] = np.bincount(at, minlength=rows)
        columns = [[float(getattr(d, name)) for d in family] for name in ("share", "added_variance", "added_freedom")]
        n = np.array([len(d.values) for d in family], dtype=float)
        return cls(scaled, squared, present, rms, n, *map(np.array, columns))


def standard_error(d: Differences) -> tuple[float, float]:
    """Standard error of a mean difference and its degrees of freedom."""
    stacked = _Stacked.of([d])
    variance, freedom = _variance(_scaled_means(stacked), stacked, stacked.added_variance)
    return float(np.sqrt(variance[0])), float(freedom[0])


def adjusted_p(family: Sequence[Differences], rng: np.random.Generator, draws: int) -> Floats:
    """Family-wise p values by step-down maxT: the larger of that of flips and that of resamples.

    Differences of one size, such as those of yes or no, are symmetric where their mean is 0, and are only flipped.
    """
    p, skewed = _step_down(_Stacked.of(family), rng, draws), []
    for place, d in enumerate(family):
        sizes = np.abs(d.values[np.abs(d.values) > _TINY])
        if sizes.size and np.ptp(sizes) > _TIE * sizes.max():
            skewed.append(place)
    if skewed:
        stacked = _Stacked.of([family[place] for place in skewed])
        p[skewed] = np.maximum(p[skewed], _step_down(stacked, rng, draws, resampled=True))
    return p


def _step_down(stacked: _Stacked, rng: np.random.Generator, draws: int, *, resampled: bool = False) -> Floats:
    means, size = _scaled_means(stacked), len(stacked.scaled)
    observed = _deviate(means * stacked.rms, *_variance(means, stacked, stacked.added_variance))
    centred = stacked.scaled - means * stacked.present
    squared = stacked.squared - 2 * means * stacked.scaled + means**2 * stacked.present

    def moments(count: int) -> tuple[Floats, Floats]:
        """Means and mean squares of drawn differences, (count, m): of flips, or of resamples of records or blocks."""
        if not resampled:
            flipped = (rng.integers(0, 2, size=(count, size), dtype=np.int8) * 2.0 - 1.0) @ stacked.scaled / stacked.n
            return flipped, np.ones_like(flipped)
        times = rng.multinomial(size, np.full(size, 1 / size), count).astype(float)
        drawn = np.maximum(times @ stacked.present, 1)
        return times @ centred / drawn, times @ squared / drawn

    block = int(np.clip(_CELLS // size, 1, _BLOCK))
    counts = (min(block, draws - start) for start in range(0, draws, block))
    return step_down(observed, (_draw(stacked, rng, *moments(count)) for count in counts))


def _scaled_means(stacked: _Stacked) -> Floats:
    return stacked.scaled.sum(axis=0) / stacked.n


def _draw(stacked: _Stacked, rng: np.random.Generator, scaled_means: Floats, squares: Floats) -> Floats:
    """Deviates of the family under the null hypothesis, (count, m), with the noise of seeds added."""
    count = len(scaled_means)
    means = scaled_means * stacked.rms * np.sqrt(stacked.share)
    variances = np.broadcast_to(stacked.added_variance, means.shape).copy()
    seeded = np.flatnonzero(stacked.added_variance > 0)
    if len(seeded):
        freedom, size = stacked.added_freedom[seeded], (count, len(seeded))
        means[:, seeded] += np.sqrt(stacked.added_variance[seeded]) * rng.normal(size=size)
        variances[:, seeded] *= rng.chisquare(freedom, size=size) / freedom
    alike = squares - scaled_means**2 <= _ALIKE  # a resample of equal differences says nothing
    return np.where(alike & (squares < 1), 0, _deviate(means, *_variance(scaled_means, stacked, variances, squares)))


def _variance(
    scaled_means: Floats, stacked: _Stacked, added_variance: Floats, squares: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    """Variance of mean differences and its degrees of freedom (Satterthwaite); arrays (..., m).

    ``squares``: mean square of the scaled differences, 1 unless they were drawn with replacement.
    """
    centred = np.maximum(squares - scaled_means**2, _TINY)
    of_records = stacked.share * stacked.rms**2 * centred / (stacked.n - 1)
    variance = of_records + added_variance
    squares = of_records**2 / (stacked.n - 1) + added_variance**2 / np.maximum(stacked.added_freedom, 1)
    freedom = np.divide(variance**2, squares, out=np.ones_like(variance), where=squares > 0)
    return variance, freedom


def _deviate(means: Floats, variance: Floats, freedom: Floats) -> Floats:
    """Standard normal deviate with the two-sided tail probability of Student's t; zero for a zero mean.

    It puts measures with different degrees of freedom on one scale, so that measures with heavy tails do not dominate
    the maximum.
    """
    size = np.abs(means)
    value = np.divide(size, np.sqrt(variance), out=np.zeros_like(size), where=size > _TINY)
    deviate: Floats = norm.isf(t.sf(value, np.minimum(freedom, 1e6)))
    return np.clip(deviate, 0, _LARGEST)
