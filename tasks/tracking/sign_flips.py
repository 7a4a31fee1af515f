"""Reference distributions of a family of measures: joint sign flips, and resamples of centred differences.

A flip multiplies the difference of each record by a random sign, the same for all measures. That is exact where the
differences are symmetric, as those of exchangeable lineages are, and raises alarms where they are skewed around a mean
of 0. A resample draws records with replacement from the differences less their mean (the bootstrap t, Hall 1992, "The
Bootstrap and Edgeworth Expansion", Section 3.10), which allows for skewness and is too wide for few records. Both
studentise the means, and a p value is the larger of the two. A measure with several training seeds adds the sampling
noise of its seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, t

from tasks.tracking.measures import Ids, Measure
from tasks.tracking.pairing import PairedMeasure, union

Floats = npt.NDArray[np.float64]
_BLOCK, _CELLS = 250, 10_000_000  # draws, and signs, at once, to bound memory
_TIE = 1e-6  # relative; rounding must not break ties of flips with the observed value
_LARGEST = 35.0  # beyond it the tail probability underflows
_TINY = 1e-12
_ALIKE = 1e-9
_MANY, _BLOCKS = 10_000, 2000
"""Above so many records, signs and resamples are drawn for blocks of records, not for each."""


@dataclass(frozen=True)
class Differences:
    """Per-record differences (n,) of one measure, and the variance components of their mean.

    ``share``: fraction of the variance over records that is not due to single seeds. ``added_variance``: variance of
    the mean due to training seeds and redraws, with ``added_freedom`` degrees of freedom; 0 for one seed per lineage.
    """

    records: Ids
    values: Floats
    share: float
    added_variance: float
    added_freedom: float

    @classmethod
    def of(cls, p: PairedMeasure) -> "Differences":
        """Differences of a paired measure; those of F1 are its first-order contributions."""
        a, b = contributions(p.a, p.b)
        own = [(x.mean(axis=0).var(ddof=1) / x.shape[1], x.shape[1] - 1) for x in (a, b) if x.shape[1] > 1]
        of_seeds = (float(sum(v for v, _ in own)), sum(f for _, f in own))
        of_redraws = (2 * float(np.var(p.redraws, ddof=1)), len(p.redraws) - 1) if p.redraws else (0.0, 0)
        added = _sum_of_variances(of_seeds, of_redraws)
        # Ids of pairs, of records of A and of records of B differ, so that their signs are drawn independently.
        if p.independent:
            records = np.concatenate([3 * p.a.records + 1, 3 * p.b.records + 2])
            share = _share_of_samples(a, b) if of_seeds[0] > 0 else 1.0
            return cls(records, _signed_deviations(a.mean(axis=1), b.mean(axis=1)), share, *added)
        share = _share(a, b) if of_seeds[0] > 0 else 1.0
        return cls(3 * p.a.records, b.mean(axis=1) - a.mean(axis=1), share, *added)


def _sum_of_variances(*parts: tuple[float, int]) -> tuple[float, float]:
    """Sum of estimated variances and its degrees of freedom (Satterthwaite)."""
    total = sum(variance for variance, _ in parts)
    squares = sum(variance**2 / freedom for variance, freedom in parts if variance > 0)
    return total, total**2 / squares if squares > 0 else 0.0


def contributions(a: Measure, b: Measure) -> tuple[Floats, Floats]:
    """Contribution of each record to the measure, (n, seeds) for each lineage; means over records differ as F1 does.

    With hits h, wrong w and missed m of a record, its contribution to F1 is (2h - F(2h + w + m)) / D. F and the mean
    denominator D are pooled over lineages, so that exchanging the lineages on a record does not change them. For one
    seed, the mean difference is exactly proportional to the difference in F1.
    """
    if not a.is_f1:
        return a.parts[:, :, 0, 0].astype(float), b.parts[:, :, 0, 0].astype(float)
    weights = np.array([2.0, 1.0, 1.0])
    doubled, totals = zip(*((2.0 * m.parts[..., 0], m.parts @ weights) for m in (a, b)), strict=True)
    hits, total = (sum(x.mean(axis=(0, 1)) for x in sides) / 2 for sides in (doubled, totals))
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    one, other = (((h - hits * scale * d) * scale).mean(axis=2) for h, d in zip(doubled, totals, strict=True))
    return one, other


def _signed_deviations(a: Floats, b: Floats) -> Floats:
    """Values of two independent samples (n,), (m,) whose mean is the difference of their means, b - a.

    Around it, each sample varies as it does around its own mean, scaled so that the variance of the mean is that of the
    difference (Welch). Random signs of these values are the wild bootstrap of the difference (Wu 1986).
    """
    total = len(a) + len(b)
    centre = (len(a) * b.mean() + len(b) * a.mean()) / total
    return np.concatenate([(centre - a) * total / len(a), (b - centre) * total / len(b)])


def _share_of_samples(a: Floats, b: Floats) -> float:
    """As `_share`, for the difference of the means of two independent samples."""
    whole = sum(float(x.mean(axis=1).var()) / len(x) for x in (a, b))
    free = sum(_between_seeds(x) / len(x) for x in (a, b))
    return 1.0 if whole <= _TINY**2 else float(np.clip(free / whole, 0, 1))


def _share(a: Floats, b: Floats) -> float:
    """Fraction of the variance of mean differences over records that is free of the noise of single seeds.

    A seed's effect on single records appears in the variance over records and again between seeds. It is independent
    between seeds, so the covariance between different seeds is free of it (two-way random effects).
    """
    whole = float(np.var(b.mean(axis=1) - a.mean(axis=1)))
    if whole <= _TINY**2:
        return 1.0
    centred = [x.mean(axis=1) - x.mean() for x in (a, b)]
    between = 2 * float((centred[0] * centred[1]).mean())
    return float(np.clip((_between_seeds(a) + _between_seeds(b) - between) / whole, 0, 1))


def _between_seeds(x: Floats) -> float:
    """Mean covariance over records between different seeds; the variance for one seed."""
    seeds = x.shape[1]
    if seeds == 1:
        return float(x.var())
    return float((x.sum(axis=1).var() - x.var(axis=0).sum()) / (seeds * (seeds - 1)))


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
    """Family-wise p values by step-down maxT (Westfall and Young 1993, Algorithm 4.1): the larger of both draws'.

    Differences of one size, such as those of yes or no, are symmetric where their mean is 0, and are only flipped.
    """
    p = _step_down(_Stacked.of(family), _flipped, rng, draws)
    skewed = [place for place, d in enumerate(family) if _have_sizes(d.values)]
    if skewed:
        stacked = _Stacked.of([family[place] for place in skewed])
        p[skewed] = np.maximum(p[skewed], _step_down(stacked, _resampled(stacked), rng, draws))
    return p


def _have_sizes(values: Floats) -> bool:
    """Whether differences other than 0 have more than one size."""
    sizes = np.abs(values[np.abs(values) > _TINY])
    return bool(sizes.size and np.ptp(sizes) > _TIE * sizes.max())


def _step_down(stacked: "_Stacked", moments: "Drawn", rng: np.random.Generator, draws: int) -> Floats:
    means = _scaled_means(stacked)
    variance, freedom = _variance(means, stacked, stacked.added_variance)
    observed = _deviate(means * stacked.rms, variance, freedom)
    order = np.argsort(-observed, kind="stable")
    threshold = (observed - _TIE * (1 + observed))[order]
    exceeded = np.zeros(len(order))
    block = int(np.clip(_CELLS // len(stacked.scaled), 1, _BLOCK))
    for start in range(0, draws, block):
        drawn = _draw(stacked, rng, *moments(stacked, rng, min(block, draws - start)))[:, order]
        largest = np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]  # over this measure and all smaller ones
        exceeded += (largest >= threshold).sum(axis=0)
    p = np.empty(len(order))
    p[order] = np.maximum.accumulate((1 + exceeded) / (1 + draws))
    return p


Moments = tuple[Floats, Floats]
"""Means and mean squares of drawn differences, (draws, m)."""
Drawn = Callable[["_Stacked", np.random.Generator, int], Moments]


def _flipped(stacked: _Stacked, rng: np.random.Generator, count: int) -> Moments:
    signs = rng.integers(0, 2, size=(count, len(stacked.scaled)), dtype=np.int8) * 2.0 - 1.0
    means = signs @ stacked.scaled / stacked.n
    return means, np.ones_like(means)


def _resampled(stacked: _Stacked) -> Drawn:
    """The moments of resamples of records, or of blocks of them."""
    means, present = _scaled_means(stacked), stacked.present
    centred = stacked.scaled - means * present
    squared, size = stacked.squared - 2 * means * stacked.scaled + means**2 * present, len(centred)

    def moments(_: _Stacked, rng: np.random.Generator, count: int) -> Moments:
        times = rng.multinomial(size, np.full(size, 1 / size), count).astype(float)
        drawn = np.maximum(times @ present, 1)
        return times @ centred / drawn, times @ squared / drawn

    return moments


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
