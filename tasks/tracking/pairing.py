"""Pairs a measure of two lineages by record: comparable records, failures, bounds, and differences for their test.

The test is that of `tasks.statistics.sign_flips`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tasks.statistics.intervals import Floats
from tasks.statistics.sign_flips import Differences, union
from tasks.tracking.measures import UNSCORED, Ids, Measure

Parts = npt.NDArray[np.floating]


def _none() -> Ids:
    return np.empty(0, dtype=np.int64)


def _less(ids: Ids, others: Ids) -> Ids:
    """The ``ids``, each once, that are not among the ``others``."""
    return ids[~np.isin(ids, others, assume_unique=True)]


PAIRED_SHARE = 0.95
"""Where fewer of the records pair, lineages are compared as independent samples."""


@dataclass(frozen=True)
class PairedMeasure:
    """One measure on the records that both lineages scored; ``a`` and ``b`` have the same records in the same order.

    ``independent``: too few records pair, so ``a`` and ``b`` have all their own records; ``paired`` is how many would,
    and ``in_both`` how many ids are in both.
    ``verified``: whether the content of the records is known, by which they pair.
    ``unpaired``: number of records that only one lineage attempted. ``unmatched``: number of records whose items or
    classes differ between the lineages. ``failed_a`` and ``failed_b``: ids of the records that only that lineage failed
    to score, ``failed_both`` the number of those that neither scored. ``bounds``: smallest and largest difference
    (b - a) over the possible scores of the failed records; NaN without failed records; ``least`` and ``most`` are the
    measure with these scores. ``redraws``: values of lineage A and of redraws of it with the same models, on the same
    records; at least two, or none.
    """

    a: Measure
    b: Measure
    unpaired: int = 0
    unmatched: int = 0
    failed_a: Ids = field(default_factory=_none)
    failed_b: Ids = field(default_factory=_none)
    failed_both: int = 0
    bounds: tuple[float, float] = (np.nan, np.nan)
    redraws: tuple[float, ...] = ()
    independent: bool = False
    paired: int = 0
    in_both: int = 0
    verified: bool = True
    least: "PairedMeasure | None" = None
    most: "PairedMeasure | None" = None

    @property
    def worst(self) -> "PairedMeasure | None":
        """The measure with those scores of the failed records that speak most against the observed difference."""
        return self.least if self.b.value() > self.a.value() else self.most

    @property
    def failed(self) -> int:
        """Number of records that a lineage failed to score."""
        return len(self.failed_a) + len(self.failed_b) + self.failed_both

    @property
    def n(self) -> int:
        """Number of pairs, or of records of the smaller of two independent samples."""
        return min(len(self.a.records), len(self.b.records))


def pair_or_split(
    a: Measure, b: Measure, redraws: Sequence[Measure] = (), *, same: Ids | None = None, verified: bool = True
) -> PairedMeasure:
    """Pair two lineages' values of a measure, or take them as independent samples where too few records pair.

    ``same``: ids of the records that have the same content in both lineages; None if all have.
    ``verified``: False where the content of the records is unknown; equal ids are then no reason to pair them.
    """
    in_both = np.intersect1d(a.records, b.records, assume_unique=True)
    shared = in_both if same is None else np.intersect1d(in_both, same)
    shared = shared if verified else _none()
    fewer = min(len(a.records), len(b.records))
    if len(shared) >= PAIRED_SHARE * fewer or a.classes != b.classes:
        return pair(a, b, redraws, same=same)
    drawn = _redrawn(a, redraws) if redraws else ()
    return PairedMeasure(
        a, b, redraws=drawn, independent=True, paired=len(shared), in_both=len(in_both), verified=verified
    )


def pair(
    a: Measure,
    b: Measure,
    redraws: Sequence[Measure] = (),
    *,
    same: Ids | None = None,
    failed_both: int | None = None,
) -> PairedMeasure:
    """Pair two lineages' values of a measure by record id; only the records ``same``, if they are given.

    A record that one lineage scored and the other one failed to score counts as failed. Without a list of failed
    records (``Measure.failed`` is None), every record that only one lineage scored counts as failed by the other one.
    ``failed_both``: number of records that neither scored, by default those in both lists.
    """
    shared, rows_a, rows_b = np.intersect1d(a.records, b.records, assume_unique=True, return_indices=True)
    if same is not None:
        kept = np.isin(shared, same)
        shared, rows_a, rows_b = shared[kept], rows_a[kept], rows_b[kept]
    matched = np.full(len(shared), a.classes == b.classes)
    if len(a.items) and len(b.items):
        matched &= a.items[rows_a] == b.items[rows_b]
    of_sides = []  # records that a lineage failed to score in part or whole and the other one scored
    for side, other in ((a, b), (b, a)):
        attempted = _less(other.records, side.records) if side.failed is None else side.failed
        of_sides.append(_less(np.intersect1d(attempted, other.records, assume_unique=True), shared[matched]))
    failed_a, failed_b = of_sides
    failed = union([failed_a, failed_b])
    unmatched = _less(shared[~matched], failed)
    unpaired = _less(_less(union([a.records, b.records]), shared), failed)
    one, other = a.only(shared[matched]), b.only(shared[matched])
    drawn = _redrawn(one, redraws) if redraws else ()
    if failed_both is None:
        one_failed, other_failed = (_none() if side.failed is None else side.failed for side in (a, b))
        of_both = np.intersect1d(one_failed, other_failed)
        failed_both = len(_less(of_both, union([a.records, b.records])))
    counts = (len(unpaired), len(unmatched), failed_a, failed_b, failed_both)
    found = PairedMeasure(one, other, *counts, redraws=drawn)
    if not found.failed or not len(one.records):
        return found
    least, most = _completed(one, other, a.only(failed_b), b.only(failed_a), failed_both, drawn)
    low, high = (end.b.value() - end.a.value() for end in (least, most))
    return replace(found, bounds=(low, high), least=least, most=most)


def _redrawn(a: Measure, redraws: Sequence[Measure]) -> tuple[float, ...]:
    """Values of ``a`` and its redraws on the records that all of them scored; empty if there are none."""
    shared = a.records
    for redraw in redraws:
        shared = np.intersect1d(shared, redraw.records)
    return tuple(measure.only(shared).value() for measure in (a, *redraws)) if len(shared) else ()


def failure_rates(pairs: Sequence[PairedMeasure], *, once: bool = False) -> list[PairedMeasure]:
    """Failure rate of each measure that only one lineage failed to score on some record, as a measure.

    Its metric is named ``unscored <metric>``; its records are those that both lineages attempted, with those that
    both failed to score. ``once``: measures that fail on the same records, as where an output is missing, have one
    rate, that of the measure with most records; ``unscored outputs`` where all measures fail so.
    """
    failing = [p for p in pairs if len(p.failed_a) or len(p.failed_b)]
    if not once:
        return [_failure_rate(p) for p in failing]
    alike: dict[tuple[bytes, bytes, int], list[PairedMeasure]] = {}
    for p in failing:
        alike.setdefault((p.failed_a.tobytes(), p.failed_b.tobytes(), p.failed_both), []).append(p)
    return [_failure_rate(max(one, key=lambda p: p.n), of_all=len(one) == len(pairs)) for one in alike.values()]


def _failure_rate(p: PairedMeasure, *, of_all: bool = False) -> PairedMeasure:
    scored = union([p.a.records, p.failed_a, p.failed_b])
    both = _further(scored, p.failed_both)
    records = np.concatenate([scored, both])
    stage, system, condition, item, metric = p.a.key
    key = (stage, system, condition, item, f"{UNSCORED}{metric}")
    key = ("all", system, "", "all", f"{UNSCORED}outputs") if of_all else key
    failing = (np.isin(records, union([failed, both])).astype(np.float32) for failed in (p.failed_a, p.failed_b))
    a, b = (Measure(key, records, values[:, None, None, None]) for values in failing)
    return PairedMeasure(a, b, unpaired=p.unpaired)


def _further(records: Ids, count: int) -> Ids:
    """``count`` ids beyond those of ``records``."""
    return 1 + (int(records.max()) if len(records) else 0) + np.arange(count, dtype=np.int64)


def _completed(
    a: Measure, b: Measure, only_a: Measure, only_b: Measure, both: int, redraws: tuple[float, ...]
) -> tuple[PairedMeasure, PairedMeasure]:
    """The measure with the scores of failed records that make the difference smallest, and those that make it largest.

    ``only_a``: records that only A scored; ``both``: the number of those that neither scored.

    The score of a failed record lies within the bounds of the metric, which may be infinite. A failed prediction is
    right or wrong; where its label is not known either, it is that of the first class.
    """
    if a.is_f1:
        label = np.zeros((both, *a.parts.shape[1:]))
        label[:, :, 0, 0] = 1
        lost_a, lost_b = (np.concatenate([only.parts[:, :1], label[:, :1]]) for only in (only_b, only_a))
        missing_a, missing_b = _guesses(lost_a, a.seeds), _guesses(lost_b, b.seeds)
    else:
        bounds = [m.bounds for m in (a, b, only_a, only_b)]
        ends = min(low for low, _ in bounds), max(high for _, high in bounds)
        missing_a, missing_b = (
            [np.full((len(m.records) + both, 1, 1, 1), end) for end in ends] for m in (only_b, only_a)
        )
    known = np.concatenate([a.records, only_a.records, only_b.records])
    records = np.concatenate([known, _further(known, both)])
    order = np.argsort(records)

    def joined(paired: Measure, *parts: Parts) -> Measure:
        return Measure(paired.key, records[order], np.concatenate([paired.parts, *parts])[order], classes=a.classes)

    one, other = len(only_b.records), len(only_a.records)
    completed = [
        (
            joined(a, only_a.parts, of_a[:one], of_a[one:]),
            joined(b, of_b[:other], only_b.parts, of_b[other:]),
        )
        for of_a, of_b in zip(reversed(missing_a), missing_b, strict=True)
    ]
    least, most = (PairedMeasure(one, other, redraws=redraws) for one, other in completed)
    return least, most


def _guesses(labelled: Parts, seeds: int) -> list[Parts]:
    """Parts of all-wrong and of all-right predictions on records with the parts ``labelled`` of one seed."""
    positive = np.repeat(labelled[..., 0] + labelled[..., 2], seeds, axis=1)
    none = np.zeros_like(positive)
    return [np.stack([none, 1 - positive, positive], axis=-1), np.stack([positive, none, none], axis=-1)]


_TINY = 1e-12


def differences_of(p: PairedMeasure) -> Differences:
    """Differences of a paired measure; those of F1 are its first-order contributions."""
    a, b = contributions(p.a, p.b)
    own = [(x.mean(axis=0).var(ddof=1) / x.shape[1], x.shape[1] - 1) for x in (a, b) if x.shape[1] > 1]
    of_seeds = (float(sum(v for v, _ in own)), sum(f for _, f in own))
    of_redraws = (2 * float(np.var(p.redraws, ddof=1)), len(p.redraws) - 1) if p.redraws else (0.0, 0)
    parts = [part for part in (of_seeds, of_redraws) if part[0] > 0]  # degrees of freedom as Satterthwaite's
    total, squares = sum(v for v, _ in parts), sum(v**2 / f for v, f in parts)
    added = (total, total**2 / squares if squares > 0 else 0.0)
    # Ids of pairs, of records of A and of records of B differ, so that their signs are drawn independently.
    if p.independent:
        records = np.concatenate([3 * p.a.records + 1, 3 * p.b.records + 2])
        share = 1.0
        if of_seeds[0] > 0:  # as `_share`, for the difference of the means of two independent samples
            whole = sum(float(x.mean(axis=1).var()) / len(x) for x in (a, b))
            free = sum(_between_seeds(x) / len(x) for x in (a, b))
            share = _limited(free, whole, of_seeds[0])
        return Differences(records, _signed_deviations(a.mean(axis=1), b.mean(axis=1)), share, *added)
    share = _share(a, b, of_seeds[0]) if of_seeds[0] > 0 else 1.0
    return Differences(3 * p.a.records, b.mean(axis=1) - a.mean(axis=1), share, *added)


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


def _share(a: Floats, b: Floats, of_seeds: float) -> float:
    """Fraction of the variance of mean differences over records that is free of the noise of single seeds.

    A seed's effect on single records appears in the variance over records and again between seeds (``of_seeds``). It is
    independent between seeds, so the covariance between different seeds is free of it (two-way random effects).
    """
    whole = float(np.var(b.mean(axis=1) - a.mean(axis=1)))
    centred = [x.mean(axis=1) - x.mean() for x in (a, b)]
    between = 2 * float((centred[0] * centred[1]).mean())
    return _limited(_between_seeds(a) + _between_seeds(b) - between, whole, of_seeds * len(a))


def _limited(free: float, whole: float, of_seeds: float) -> float:
    """The fraction ``free`` of a variance: what is taken from it is no more than ``of_seeds``, which is added again.

    Few seeds may agree by chance; without the limit, neither records nor seeds would then have a variance.
    """
    return 1.0 if whole <= _TINY**2 else float(np.clip(free / whole, max(1 - of_seeds / whole, 0), 1))


def _between_seeds(x: Floats) -> float:
    """Mean covariance over records between different seeds; the variance for one seed."""
    seeds = x.shape[1]
    if seeds == 1:
        return float(x.var())
    return float((x.sum(axis=1).var() - x.var(axis=0).sum()) / (seeds * (seeds - 1)))
