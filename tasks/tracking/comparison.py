"""Tests whether lineages, or systems of one evaluation, differ in a family of measures (family-wise error rate of 5%).

Under the null hypothesis, the scores of two lineages on a record are exchangeable, so that the sign of the difference
on each record is random. Signs are drawn jointly for all measures, and each measure is compared with the distribution
of the largest studentised difference of the family (Westfall and Young 1993, step-down maxT), which is exact for one
training seed. Lineages may also differ in the shape of their scores and not in their mean: a measure counts as changed
only if it is beyond chance by resamples of the centred differences, too. Lineages with other records are compared as
independent samples.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import beta, t

from schemas.tables.columns import typed
from schemas.tables.evaluate import SYSTEM_COMPARISONS
from tasks.measures import described
from tasks.statistics.intervals import Bounds, difference_interval, joined, linearised_interval, mean_interval
from tasks.statistics.sign_flips import DRAWS, FEWEST, LEVEL, adjusted_p, standard_error
from tasks.tracking.measures import Ids, Measure
from tasks.tracking.pairing import PairedMeasure, differences_of, failure_rates, pair

POWER = 0.8
FLIPS = 6
"""Fewest differing records whose signs can all agree with a probability below LEVEL: 2 / 2**6."""
_TINY = 1e-12

FAILURE_LEVEL = 0.01
"""Part of LEVEL that is spent on differences in failure rates, if there are any. A handful of failures has few possible
sign flips, so its p value would not survive the correction for all other measures."""

UNDECIDED = "cannot be told: the missing scores decide (n {})"
"""Note on a difference that is beyond chance, and might not be with other scores of the failed records."""
DIRECTED = (
    "beyond chance without the missing scores (n {}), and no longer with the worst that these may be, though the "
    "difference would still lie between {:+.3f} and {:+.3f}"
)
"""Note on such a difference whose sign the failed records cannot change: its bounds exclude 0."""

BESIDE = "not tested, as ROUGE-Lsum says nearly the same"
TOO_FEW = f"not tested, as this takes at least {FEWEST} documents"
UNVERIFIED = "the content of the records is not in both lineages, so equal ids may be other texts"
_KEY = ["stage", "condition", "item", "metric"]
UNTESTED = ("rouge1_f", "rouge2_f", "rougeL_f", "bleu")
"""Metrics that are compared without a test: they would add tests of nearly the same difference as ROUGE-Lsum's."""

COLUMNS = [*Measure.KEY, "a", "b", "difference", "low", "high", "p", "changed", "n", "unpaired", "failed_a", "failed_b"]
COLUMNS += ["failed_both", "bound_low", "bound_high", "detectable", "seeds", "note"]
_FIGURES = dict.fromkeys(("a", "b", "difference", "low", "high", "bound_low", "bound_high", "detectable"), float)
"""Types that a table without rows lacks, and that `pandas.concat` would then take from the other one as well."""


def compare_metrics(tables: Sequence[tuple[pd.DataFrame, pd.DataFrame]]) -> pd.DataFrame:
    """Values that differ between metric tables (METRICS) of two lineages, without a test, as in :func:`compare_all`.

    ``failed_a`` and ``failed_b`` are the numbers of unscored records.
    """
    key = list(Measure.KEY)
    merged = [a.merge(b, on=key, suffixes=("_a", "_b")) for a, b in tables]
    both = pd.concat(merged, ignore_index=True) if merged else pd.DataFrame()
    if both.empty:
        return pd.DataFrame(columns=COLUMNS)
    both = both[(both["value_a"].notna() | both["value_b"].notna()) & (both["value_a"] != both["value_b"])]
    named = both.rename(columns={"value_a": "a", "value_b": "b", "unscored_a": "failed_a", "unscored_b": "failed_b"})
    untested = dict.fromkeys(("low", "high", "p", "bound_low", "bound_high", "detectable"), np.nan)
    counts = {"n": both[["n_a", "n_b"]].min(axis=1), "unpaired": 0, "failed_both": 0, "seeds": 1}
    return named.assign(difference=named["b"] - named["a"], changed=False, note="", **untested, **counts)[COLUMNS]


def compare_all(
    comparisons: Sequence[Sequence[PairedMeasure]],
    *,
    seed: int,
    draws: int = DRAWS,
    untested: Collection[str] = (),
    once: bool = False,
) -> list[pd.DataFrame]:
    """Compare lineages B with lineage A on a family of measures each and their failure rates, with p adjusted for all.

    Returns a table per lineage, one row per measure: its key; ``a``, ``b``; ``difference`` (b - a) with its own 95%
    interval ``low``, ``high`` (none for fewer than `FEWEST` records of a measure without bounds); ``p``, adjusted, nan
    for fewer records; ``changed``: p < 5%, also with those scores of failed records that speak most against it; ``n``
    records, of the smaller of two independent samples; ``unpaired``: records that only one lineage attempted;
    ``failed_a``, ``failed_b``: records that only this lineage failed to score; ``failed_both``; ``bound_low``,
    ``bound_high``: range of the difference over all possible scores of failed records; ``detectable``: the difference
    that is found with a power of 80%, nan as p; ``seeds``; ``note``. ``untested``: metrics outside the family, without
    p; ``once``: as in `failure_rates`.
    """
    rng = np.random.default_rng(seed)
    measures = [[p for p in pairs if len(p.a.records) or p.unmatched] for pairs in comparisons]
    rates = [failure_rates(pairs, once=once) for pairs in measures]
    share = FAILURE_LEVEL / LEVEL if any(rates) else 0.0
    tested = [_tested(measures, rng, draws, 1 - share, untested), _tested(rates, rng, draws, share)]
    return [pd.concat(tables, ignore_index=True)[COLUMNS] for tables in zip(*tested, strict=True)]


def _tested(
    families: Sequence[Sequence[PairedMeasure]],
    rng: np.random.Generator,
    draws: int,
    share: float,
    untested: Collection[str] = (),
) -> list[pd.DataFrame]:
    """A table per family, with p adjusted for all families jointly at ``share`` of LEVEL."""
    pairs = [p for family in families for p in family]
    enough = [place for place, p in enumerate(pairs) if _is_tested(p, untested)]
    adjusted = np.ones(len(pairs))
    if enough:
        p = adjusted_p([differences_of(pairs[place]) for place in enough], rng, draws)
        adjusted[enough] = np.minimum(p / share, 1)
    beyond = adjusted < LEVEL
    holds = _in_the_worst_case(pairs, beyond, rng, draws, share, untested)
    table = pd.DataFrame([_row(p) for p in pairs], columns=COLUMNS).astype(_FIGURES)
    tested = np.isin(np.arange(len(pairs)), enough)
    table = table.assign(p=np.where(tested, adjusted, np.nan), changed=beyond & holds)
    for place in np.flatnonzero(beyond & ~holds).tolist():
        failed, (low, high) = pairs[place].failed, pairs[place].bounds
        note = DIRECTED.format(failed, low, high) if low > 0 or high < 0 else UNDECIDED.format(failed)
        table.loc[place, "note"] = "; ".join(filter(None, [table.loc[place, "note"], note]))
    ends = np.cumsum([len(family) for family in families])
    return [table.iloc[end - len(family) : end] for end, family in zip(ends, families, strict=True)]


def _is_tested(p: PairedMeasure, untested: Collection[str]) -> bool:
    return p.n >= FEWEST and p.a.key[-1] not in untested


def _in_the_worst_case(
    pairs: Sequence[PairedMeasure],
    beyond: npt.NDArray[np.bool_],
    rng: np.random.Generator,
    draws: int,
    share: float,
    untested: Collection[str],
) -> npt.NDArray[np.bool_]:
    """Whether each difference that is ``beyond`` chance is so for all scores that failed records may have."""
    worst = {place: end for place, p in enumerate(pairs) if beyond[place] and (end := p.worst) is not None}
    holds = ~np.isin(np.arange(len(pairs)), [*worst])
    worst = {place: end for place, end in worst.items() if np.isfinite(end.b.value() - end.a.value())}
    if not worst:
        return holds
    tested = [place for place, p in enumerate(pairs) if _is_tested(p, untested)]
    family = [differences_of(worst.get(place) or pairs[place]) for place in tested]
    p = dict(zip(tested, np.minimum(adjusted_p(family, rng, draws) / share, 1), strict=True))
    for place, bound in worst.items():
        observed = pairs[place]
        same_sign = (bound.b.value() - bound.a.value()) * (observed.b.value() - observed.a.value()) > 0
        holds[place] = same_sign and p[place] < LEVEL
    return holds


def _row(p: PairedMeasure) -> dict[str, object]:
    n = p.n
    a, b = (p.a.value(), p.b.value()) if n else (np.nan, np.nan)
    low, high = _interval(p) if n > 1 else (np.nan, np.nan)
    failed = (p.a.failed, p.b.failed) if p.independent else (p.failed_a, p.failed_b)
    failed_a, failed_b = (0 if ids is None else len(ids) for ids in failed)
    return {
        **dict(zip(Measure.KEY, p.a.key, strict=True)),
        **{"a": a, "b": b, "difference": b - a, "low": low, "high": high},
        **{"n": n, "unpaired": p.unpaired, "failed_a": failed_a, "failed_b": failed_b},
        **{"failed_both": p.failed_both, "bound_low": p.bounds[0], "bound_high": p.bounds[1]},
        **{"detectable": _detectable(p) if n >= FEWEST else np.nan},
        **{"seeds": min(p.a.seeds, p.b.seeds), "note": _note(p)},
    }


def _interval(p: PairedMeasure) -> tuple[float, float]:
    """95% interval of the difference b - a; none for fewer than `FEWEST` records of scores without bounds.

    Gains and losses of shares and F1 are bounded, of other scores not (`difference_interval`). Independent samples of
    shares have the intervals of both means joined, of other scores Welch's. The variance between training seeds and
    redraws is added to that between records.
    """
    d = differences_of(p)
    value = p.b.value() - p.a.value()
    bounded = p.a.is_f1 or (p.a.is_share and p.b.is_share)
    if not bounded and p.n < FEWEST:
        return np.nan, np.nan
    if p.independent and p.a.is_f1:
        centred = (d.values - d.values.mean()) / len(d.values)
        low, high = linearised_interval(value, centred, bounds=(-1.0, 1.0))
    elif p.independent and bounded:
        low, high = joined(mean_interval(p.b.parts.ravel()), mean_interval(p.a.parts.ravel()))
    elif p.independent:
        error, freedom = standard_error(d)
        half = float(t.ppf(1 - LEVEL / 2, freedom)) * error
        return value - half, value + half
    else:
        reach = 1.0 if bounded else np.inf  # the largest difference of a record
        if p.a.is_f1:  # that of a hit and a miss, see `contributions`
            total = np.mean([(m.parts @ (2.0, 1.0, 1.0)).mean(axis=(0, 1)) for m in (p.a, p.b)], axis=0)
            reach = float(2 / total[total > 0].min()) if (total > 0).any() else 1.0
        mean, low, high = difference_interval(d.values, reach=reach)
        low, high = low + value - mean, high + value - mean
    seeded = d.added_variance * float(t.ppf(1 - LEVEL / 2, d.added_freedom)) ** 2 if d.added_variance > 0 else 0.0
    below, above = (float(np.sqrt(d.share * end**2 + seeded)) for end in (value - low, high - value))
    limits = (-1.0, 1.0) if bounded else (-np.inf, np.inf)
    return max(value - below, limits[0]), min(value + above, limits[1])


def _detectable(p: PairedMeasure) -> float:
    """The difference that is found with power `POWER` by a test of this measure by itself; a family needs a larger one.

    That is the difference of a t test, but at least one in as many records as sign flips need, of the smallest size
    that was seen: fewer than `FLIPS` differing records are never significant.
    """
    d = differences_of(p)
    error, freedom = standard_error(d)
    sizes = np.abs(d.values)[np.abs(d.values) > _TINY]
    share = float(beta.ppf(POWER, FLIPS, len(d.values) - FLIPS + 1))
    least = share * (float(sizes.min()) if len(sizes) else 1.0)
    return max(float(t.ppf(1 - LEVEL / 2, freedom) + t.ppf(POWER, freedom)) * error, least)


def _note(p: PairedMeasure) -> str:
    notes = [f"not comparable: what is scored differs in {p.unmatched} records"] if p.unmatched else []
    if p.independent and not p.verified:
        notes.append(f"compared as independent samples: {UNVERIFIED}")
    elif p.independent:
        one, other = len(p.a.records), len(p.b.records)
        notes.append(
            f"compared as independent samples: {p.paired} of {one} and {other} records pair, {p.in_both - p.paired} "
            f"have other contents under the same id, and {one + other - 2 * p.in_both} are in one lineage only"
        )
    if p.a.is_f1 and min(p.a.seeds, p.b.seeds) == 1:
        notes.append("one training seed: noise between seeds is not included")
    return "; ".join(notes)


def compare_systems(
    scores: pd.DataFrame,
    failed: Mapping[str, Ids],
    metrics: pd.DataFrame,
    order: list[str],
    *,
    seed: int,
    own: Mapping[str, Bounds | None] | None = None,
    left_out: Collection[str] = (),
    draws: int = DRAWS,
) -> pd.DataFrame:
    """SYSTEM_COMPARISONS of every two systems in ``order``, with p adjusted for all measures and pairs.

    ``scores`` is DOCUMENT_SCORES; ``failed``: numbers of the documents that could not be scored, by system; ``metrics``
    is METRICS, with the number of documents that each system lacks. ``own``: bounds of the metrics that
    are compared beside ours, None without. ``left_out``: metrics without a test.
    """
    own = own or {}
    chosen = scores[scores["metric"].isin([*described.COMPARED, *own])]
    measures = {system: _measures(chosen[chosen["system"] == system], failed.get(system), own) for system in order}
    pairs = list(combinations([system for system in order if measures[system]], 2))
    lacking = metrics.set_index(["system", *_KEY])["unscored"].to_dict()
    families: list[list[PairedMeasure]] = []
    for a, b in pairs:
        families.append([])
        for key in sorted(set(measures[a]) & set(measures[b])):
            one, other = measures[a][key], measures[b][key]
            of_b = int(lacking.get((a, *key), 0)) - len(pair(one, other, failed_both=0).failed_a)
            families[-1].append(pair(one, other, failed_both=max(of_b, 0)))
    if not pairs:
        return typed([], SYSTEM_COMPARISONS)
    untested = set(UNTESTED) - {*own}
    compared = compare_all(families, seed=seed, draws=draws, untested={*untested, *left_out}, once=True)
    tables = [table.assign(system_a=a, system_b=b) for (a, b), table in zip(pairs, compared, strict=True)]
    found = pd.concat(tables, ignore_index=True)
    found["note"] = found["note"].mask(found["n"].lt(FEWEST) & found["note"].eq(""), TOO_FEW)
    found["note"] = found["note"].mask(found["metric"].isin(untested) & found["note"].eq(""), BESIDE)
    return typed(found, SYSTEM_COMPARISONS).sort_values(list(SYSTEM_COMPARISONS.unique or []), ignore_index=True)


def _measures(
    scores: pd.DataFrame, failed: Ids | None, own: Mapping[str, Bounds | None]
) -> dict[tuple[str, ...], Measure]:
    """Measures of one system by stage, condition, item and metric."""
    found = {}
    for key, group in scores.sort_values("record").groupby(_KEY, sort=True):
        parts = group["value"].to_numpy(float)[:, None, None, None]
        stage, condition, item, metric = key
        records = group["record"].to_numpy(np.int64)
        missing = np.empty(0, dtype=np.int64) if failed is None else failed
        about = (stage, "", condition, item, metric)
        found[key] = Measure(about, records, parts, failed=missing, own_bounds=own.get(metric))
    return found
