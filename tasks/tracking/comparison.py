"""Do two lineages differ, measure by measure, beyond what records and training seeds explain?

Both lineages are scored on the same records, paired by id. The difference of each measure is resampled over records
(paired bootstrap), with the noise of training seeds added; the whole family of measures is judged together by the
distribution of its largest standardised difference (Westfall and Young 1993, single-step maxT), so that one alarm among
many measures is as rare as the level says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm, t

from tasks.tracking.measures import Measure

LEVEL = 0.05
DRAWS = 2000
FEWEST = 8
"""Records below which resampling tells nothing: such a measure is shown, and never said to have changed."""

_TINY = 1e-12


@dataclass(frozen=True)
class PairedMeasure:
    """One measure on the records that both lineages scored: ``a`` and ``b`` in the same order of records."""

    a: Measure
    b: Measure
    unpaired: int


def pair(a: Measure, b: Measure) -> PairedMeasure:
    """Keep the records that both lineages scored, in order of id; counts the others."""
    shared = np.intersect1d(a.records, b.records)
    unpaired = len(np.union1d(a.records, b.records)) - len(shared)
    return PairedMeasure(a.only(shared), b.only(shared), unpaired)


def compare(pairs: Sequence[PairedMeasure], *, seed: int, draws: int = DRAWS) -> pd.DataFrame:
    """Compare lineage B to lineage A on a family of measures.

    Returns a row a measure: its key, ``a``, ``b``, ``difference`` (b - a), ``low`` and ``high`` (95% interval of the
    difference by itself), ``p`` (adjusted for the whole family; 1 below FEWEST records), ``changed`` (p < 5%), ``n``
    records, ``unpaired``.
    """
    rng = np.random.default_rng(seed)
    pairs = [p for p in pairs if len(p.a.records)]
    if not pairs:
        return pd.DataFrame(
            columns=[*Measure.KEY, "a", "b", "difference", "low", "high", "p", "changed", "n", "unpaired"]
        )
    values = np.array([(p.a.value(), p.b.value()) for p in pairs])
    difference = values[:, 1] - values[:, 0]
    deviations = np.column_stack([*_record_deviations(pairs, rng, draws)])
    scale, freedom = np.array([_seed_spread(p) for p in pairs]).T
    spread = np.sqrt(deviations.var(axis=0) + scale**2)
    deviations += np.column_stack([s * rng.standard_t(f, size=draws) for s, f in zip(scale, freedom, strict=True)])
    # Welch and Satterthwaite's degrees of freedom: only the part of the spread that seeds tell is known from few.
    freedom = freedom * (spread / np.maximum(scale, _TINY)) ** 4
    enough = np.array([len(p.a.records) >= FEWEST for p in pairs])
    p = np.ones(len(pairs))
    p[enough] = _adjusted(difference[enough], deviations[:, enough], spread[enough], freedom[enough])
    low, high = np.quantile(deviations, [LEVEL / 2, 1 - LEVEL / 2], axis=0)
    rows = pd.DataFrame([p.a.key for p in pairs], columns=list(Measure.KEY))
    return rows.assign(
        a=values[:, 0],
        b=values[:, 1],
        difference=difference,
        low=difference - high,
        high=difference - low,
        p=p,
        changed=p < LEVEL,
        n=[len(pair.a.records) for pair in pairs],
        unpaired=[pair.unpaired for pair in pairs],
    )


def _record_deviations(
    pairs: Sequence[PairedMeasure], rng: np.random.Generator, draws: int
) -> Iterator[npt.NDArray[np.float64]]:
    """Noise of each difference that the choice of records makes, (draws,); equal records share their draws."""
    weights: dict[bytes, npt.NDArray[np.float32]] = {}
    for p in pairs:
        n, key = len(p.a.records), p.a.records.tobytes()
        if key not in weights:
            weights[key] = rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float32)
        a, b = p.a.resampled(weights[key]), p.b.resampled(weights[key])
        difference = b.mean(axis=1) - a.mean(axis=1)
        whole = difference.var()
        share = np.clip(_record_variance(a, b) / whole, 0, 1) if whole > _TINY**2 else 0.0
        yield np.sqrt(share) * (difference - difference.mean())


def _record_variance(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Variance of the difference due to records alone, from resampled measures (draws, seeds).

    A seed's chance effect on single records shows when records are resampled and again when seeds are compared. It is
    independent between seeds, so the covariance between different seeds is free of it (two-way random effects).
    """
    between = np.cov(a.mean(axis=1), b.mean(axis=1))[0, 1]
    return _between_seeds(a) + _between_seeds(b) - 2 * float(between)


def _between_seeds(values: npt.NDArray[np.float64]) -> float:
    seeds = values.shape[1]
    if seeds == 1:
        return float(values.var())
    own = values.var(axis=0).sum()
    return float((values.sum(axis=1).var() - own) / (seeds * (seeds - 1)))


def _seed_spread(p: PairedMeasure) -> tuple[float, float]:
    """Standard error that training seeds alone give the difference, and its degrees of freedom."""
    spreads = [
        (values.var(ddof=1) / len(values), len(values) - 1)
        for values in (p.a.by_seed(), p.b.by_seed())
        if len(values) > 1
    ]
    scale = float(np.sqrt(sum(variance for variance, _ in spreads)))
    return scale, float(max(sum(f for _, f in spreads), 1))


def _adjusted(
    difference: npt.NDArray[np.float64],
    deviations: npt.NDArray[np.float64],
    spread: npt.NDArray[np.float64],
    freedom: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Family-wise p values: how often the family's most extreme deviation is as extreme as this difference.

    Extreme is what is rare for the measure itself: a t value is taken to the normal deviate of the same tail, lest
    measures whose spread is known from few seeds, with their heavy tails, set the bar for all.
    """
    alive = spread > _TINY
    p = np.where(np.abs(difference) > _TINY, 0.0, 1.0)  # without any spread, any difference is one
    if alive.any():
        draws, observed = (_deviate(x[..., alive], spread[alive], freedom[alive]) for x in (deviations, difference))
        largest = draws.max(axis=1)
        p[alive] = (1 + (largest[None, :] >= observed[:, None]).sum(axis=1)) / (1 + len(largest))
    return p


def _deviate(
    values: npt.NDArray[np.float64], spread: npt.NDArray[np.float64], freedom: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The normal deviate as rare as ``values`` / ``spread`` is for Student's t."""
    rare: npt.NDArray[np.float64] = norm.isf(t.sf(np.abs(values) / spread, np.minimum(freedom, 1e6)))
    return rare
