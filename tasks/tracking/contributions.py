"""Differences of a measure between two lineages, record by record, for their test (`tasks.statistics.sign_flips`)."""

import numpy as np

from tasks.statistics.intervals import Floats
from tasks.statistics.sign_flips import Differences
from tasks.tracking.measures import Measure
from tasks.tracking.pairing import PairedMeasure

_TINY = 1e-12


def differences_of(p: PairedMeasure) -> Differences:
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
        return Differences(records, _signed_deviations(a.mean(axis=1), b.mean(axis=1)), share, *added)
    share = _share(a, b) if of_seeds[0] > 0 else 1.0
    return Differences(3 * p.a.records, b.mean(axis=1) - a.mean(axis=1), share, *added)


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
