"""Tests whether lineages differ in a family of measures, with control of the family-wise error rate.

Under the null hypothesis, the scores of two lineages on a record are exchangeable, so that the sign of the difference
on each record is random. Signs are drawn jointly for all measures, and each measure is compared with the distribution
of the largest studentised difference of the family (Westfall and Young 1993, step-down maxT). For one training seed the
test is exact at any number of records.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import t

from tasks.tracking.measures import Measure
from tasks.tracking.pairing import PairedMeasure, failure_rates
from tasks.tracking.sign_flips import Differences, adjusted_p, standard_error

LEVEL = 0.05
DRAWS = 2000
FEWEST = 8
"""Measures with fewer records are shown, but not tested."""

FAILURE_LEVEL = 0.01
"""Part of LEVEL that is spent on differences in failure rates, if there are any. A handful of failures has few possible
sign flips, so its p value would not survive the correction for all other measures."""

COLUMNS = [*Measure.KEY, "a", "b", "difference", "low", "high", "p", "changed", "n", "unpaired", "failed_a", "failed_b"]
COLUMNS += ["bound_low", "bound_high", "seeds", "note"]


def compare(pairs: Sequence[PairedMeasure], *, seed: int, draws: int = DRAWS) -> pd.DataFrame:
    """Compare lineage B with lineage A on a family of measures and their failure rates.

    Returns one row per measure: its key; ``a``, ``b``; ``difference`` (b - a) with its own 95% interval ``low``,
    ``high``; ``p``, adjusted for the family; ``changed`` (p < 5%); ``n`` records; ``unpaired``: records that only one
    lineage attempted; ``failed_a``, ``failed_b``: records that only this lineage failed to score; ``bound_low``,
    ``bound_high``: range of the difference over all possible scores of failed records; ``seeds``; ``note``.
    """
    return compare_all([pairs], seed=seed, draws=draws)[0]


def compare_all(comparisons: Sequence[Sequence[PairedMeasure]], *, seed: int, draws: int = DRAWS) -> list[pd.DataFrame]:
    """Compare several lineages with one: a table like that of :func:`compare` for each, with p adjusted for all."""
    rng = np.random.default_rng(seed)
    measures = [[p for p in pairs if len(p.a.records) or p.unmatched] for pairs in comparisons]
    rates = [failure_rates(pairs) for pairs in measures]
    share = FAILURE_LEVEL / LEVEL if any(rates) else 0.0
    tested = [_tested(measures, rng, draws, 1 - share), _tested(rates, rng, draws, share)]
    return [pd.concat(tables, ignore_index=True)[COLUMNS] for tables in zip(*tested, strict=True)]


def _tested(
    families: Sequence[Sequence[PairedMeasure]], rng: np.random.Generator, draws: int, share: float
) -> list[pd.DataFrame]:
    """A table per family, with p adjusted for all families jointly at ``share`` of LEVEL."""
    pairs = [p for family in families for p in family]
    enough = [place for place, p in enumerate(pairs) if len(p.a.records) >= FEWEST]
    adjusted = np.ones(len(pairs))
    if enough:
        p = adjusted_p([Differences.of(pairs[place]) for place in enough], rng, draws)
        adjusted[enough] = np.minimum(p / share, 1)
    table = pd.DataFrame([_row(p) for p in pairs], columns=COLUMNS)
    table = table.assign(p=adjusted, changed=adjusted < LEVEL)
    ends = np.cumsum([len(family) for family in families])
    return [table.iloc[end - len(family) : end] for end, family in zip(ends, families, strict=True)]


def _row(p: PairedMeasure) -> dict[str, object]:
    n = len(p.a.records)
    a, b = (p.a.value(), p.b.value()) if n else (np.nan, np.nan)
    half = _half_width(p) if n > 1 else np.nan
    return {
        **dict(zip(Measure.KEY, p.a.key, strict=True)),
        **{"a": a, "b": b, "difference": b - a, "low": b - a - half, "high": b - a + half},
        **{"n": n, "unpaired": p.unpaired, "failed_a": len(p.failed_a), "failed_b": len(p.failed_b)},
        **{"bound_low": p.bounds[0], "bound_high": p.bounds[1]},
        **{"seeds": min(p.a.seeds, p.b.seeds), "note": _note(p)},
    }


def _half_width(p: PairedMeasure) -> float:
    """Half the width of the 95% t interval of the difference."""
    error, freedom = standard_error(Differences.of(p))
    return float(t.ppf(1 - LEVEL / 2, freedom) * error)


def _note(p: PairedMeasure) -> str:
    notes = [f"not comparable: other items in {p.unmatched} records"] if p.unmatched else []
    if p.a.is_f1 and min(p.a.seeds, p.b.seeds) == 1:
        notes.append("one training seed: noise between seeds is not included")
    return "; ".join(notes)
