"""How well metrics agree with people's scores of the same summaries, and which agrees better.

A planted error shows whether a judge reads; only people's scores show whether a metric measures what they mean. Tables
hold a row for each summary: ``document``, ``system``, a column for each metric (null where the summary has no score),
and one for each of people's scores. Summaries of one document are a cluster.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.statistics.agreement import FEWEST_PAIRS, SIGNED, Correlation, area, correlation, correlation_interval
from tasks.statistics.intervals import Floats, Interval, statistic_difference_interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row, statistic_row
from tasks.statistics.sign_flips import DRAWS, FEWEST, Differences, adjusted_p

STAGE = "human_agreement"
KINDS: tuple[Correlation, ...] = ("pearson", "spearman", "kendall")
ALL = "all summaries"
OVERLAP = ("rouge1_r", "rouge1_p", "rouge1_f", "rouge2_f", "rougeL_f", "bleu")
PRINTED, RECALL = ("claim_recall", "rougeL_r"), ("FactualRecall",)
"""The two metrics, and the score of people, that DocLens's Table 2 compares by rank correlations."""
RULED = {
    "claim_recall": ("claim_recall", 1.0),
    "claim_precision": ("claim_precision", 1.0),
    "claims_supported": ("claims", 1.0),
    "claims_contradicted": ("claims", 0.0),
}
"""Metrics with a value by a rule for a text without claims, of which nothing is missing or wrong: the step in which no
claim was found, and the value. They have columns of their own."""
ADDED = ("claim_precision", "claims_supported", "claims_contradicted")
"""Metrics by which an addition to the source may be found."""
NOTHING = r"no (?:claims are|fact is) listed"
"""Reason of a text that was read and holds nothing to judge."""
HUMAN = ("FactualRecall", "OmissionRate", "FactualPrecision", "HallucinationRate", "FactualF1")
RATE = "HallucinationRate"
_ROUNDING, _EQUAL = 1e-9, 1e-12
"""Relative to the largest value, and to the squares: what rounding leaves of a deviation, and of a variance, of 0."""
Strata = Mapping[str, npt.NDArray[np.bool_]]
"""Which summaries of a table belong to each part of it."""


def _parts(
    table: pd.DataFrame, items: Mapping[str, Sequence[str]], human: Sequence[str], strata: Strata, **shared: Any
) -> Iterator[tuple[Row, str, pd.DataFrame]]:
    """Keys of the row of each stratum, score and item, the score, and the summaries with it and the item's metrics.

    ``unscored`` counts the others of the stratum.
    """
    for stratum, chosen in strata.items():
        part = table[chosen]
        for score in human:
            for item, metrics in items.items():
                having = part.dropna(subset=[*metrics, score])
                keys: Row = {"item": item, "condition": f"{score}, {stratum}", **shared}
                yield {**keys, "n": len(having), "unscored": len(part) - len(having)}, score, having


def correlation_rows(
    table: pd.DataFrame, metrics: Sequence[str], human: Sequence[str], strata: Strata, **shared: Any
) -> list[Row]:
    """A row for each correlation of a metric with one of people's scores, by stratum, which the condition names."""
    return [
        metric_row(
            kind, *correlation_interval(both[keys["item"]], both[score], kind, clusters=both["document"]), **keys
        )
        for keys, score, both in _parts(table, {name: [name] for name in metrics}, human, strata, **shared)
        for kind in (KINDS if keys["condition"].endswith(ALL) else KINDS[:1])
    ]


def difference_rows(
    table: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    human: Sequence[str],
    strata: Strata,
    kind: Correlation = "pearson",
    **shared: Any,
) -> list[Row]:
    """How much closer the first metric of each pair is to people's score than the second, on the summaries with both.

    The difference of the sizes of the correlations, so that a metric of what is missing is compared with one of recall.
    """
    items = {f"{first} - {second}": (first, second) for first, second in pairs}
    return [
        metric_row(f"{kind}_difference", *_closer(part, [*items[keys["item"]], score], kind), **keys)
        for keys, score, part in _parts(table, items, human, strata, **shared)
    ]


def within_rows(table: pd.DataFrame, metrics: Sequence[str], human: Sequence[str], **shared: Any) -> list[Row]:
    """Pearson's r within documents: of the deviations of summaries from their document's means.

    A metric that only tells easy documents from hard ones has none. Documents with one summary count as unscored; there
    are no rows without others.
    """
    rows = []
    every = {ALL: table["document"].notna().to_numpy()}
    for keys, score, both in _parts(table, {name: [name] for name in metrics}, human, every, **shared):
        own = [keys["item"], score]
        groups = both.groupby("document")[own]
        several = (groups.transform("size") > 1).to_numpy()
        apart = both[own] - groups.transform("mean")
        apart = apart.where(apart.abs() > _ROUNDING * both[own].abs().max(), 0.0)[several]
        found = correlation_interval(apart[own[0]], apart[score], "pearson", clusters=both["document"][several])
        counts = {"n": len(apart), "unscored": len(table) - len(apart)}
        rows.append(metric_row("pearson_within_documents", *found, **{**keys, **counts}))
    return [row for row in rows if row["n"]]


def adjusted_rows(
    table: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    human: Sequence[str],
    *,
    seed: int,
    draws: int = DRAWS,
    **shared: Any,
) -> list[Row]:
    """P-values of all `difference_rows` of all summaries, adjusted for their number (`adjusted_p`).

    What each document adds to a difference are the jackknife's pseudo-values (Tukey 1958). Differences on fewer than
    `FEWEST` documents are not tested, nor those of scores that are equal but in one, without which r is undefined.
    """
    rows: list[Row] = []
    family: list[Differences] = []
    documents, names = pd.factorize(table["document"])[0], {*human, *(name for pair in pairs for name in pair)}
    values = {name: table[name].to_numpy(dtype=float) for name in names}
    for score in human:
        for first, second in pairs:
            columns = np.stack([values[name] for name in (first, second, score)])
            kept = ~np.isnan(columns).any(axis=0)
            records, place = np.unique(documents[kept], return_inverse=True)
            one, other = (_sizes(columns[at, kept], columns[2, kept], place) for at in (0, 1))
            if len(records) >= FEWEST and not np.isnan(one - other).any():
                about: Row = {"item": f"{first} - {second}", "condition": f"{score}, {ALL}", **shared}
                rows.append({"n": int(kept.sum()), "unscored": int((~kept).sum()), **about})
                family.append(Differences(records, one - other))
    p = adjusted_p(family, np.random.default_rng(seed), draws) if family else np.zeros(0)
    return [metric_row("p_value_adjusted", float(one), **row) for row, one in zip(rows, p, strict=True)]


def _sizes(metric: Floats, score: Floats, document: npt.NDArray[np.intp]) -> Floats:
    """Pseudo-values (documents,) of the size of Pearson's r; nan where it is undefined."""
    x, y = metric - metric.mean(), score - score.mean()
    sums = np.stack([np.bincount(document, weights) for weights in (np.ones_like(x), x, y, x * x, y * y, x * y)])

    def pearson(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
        own, other = n * xx - x * x, n * yy - y * y
        spread = np.where((own > _EQUAL * n * xx) & (other > _EQUAL * n * yy), own * other, 0.0)
        return np.divide(n * xy - x * y, np.sqrt(spread), out=np.full_like(spread, np.nan), where=spread > 0)

    documents, total = sums.shape[1], sums.sum(axis=1, keepdims=True)
    whole, without = pearson(*total), pearson(*(total - sums))
    return np.sign(whole) * (documents * whole - (documents - 1) * without)


def rank_rows(table: pd.DataFrame, metrics: Sequence[str], human: Sequence[str], **shared: Any) -> list[Row]:
    """Kendall's tau of the systems' means by each metric with their means by people's scores.

    A mean is over the summaries that have a score; ``n`` is the number of systems, ``unscored`` that of summaries.
    """
    means = table.groupby("system")[[*metrics, *human]].mean()
    return [
        metric_row(
            "kendall_of_systems",
            correlation(means[metric].to_numpy(), means[score].to_numpy(), "kendall"),
            n=len(means),
            item=metric,
            condition=f"{score}, {ALL}",
            unscored=int(table[metric].isna().sum()),
            **shared,
        )
        for score in human
        for metric in metrics
    ]


def detection_rows(table: pd.DataFrame, metrics: Sequence[str], rate: str, **shared: Any) -> list[Row]:
    """How well a metric finds the summaries of which people's ``rate`` (of hallucinations) is above 0.

    ``auc``: the probability that a summary with one has the lower value of the metric than one without; sensitivity and
    specificity of a value below 1, that is, of at least one claim that is not supported. Of contradicted claims, the
    share of the other claims counts.
    """
    rows = []
    for metric in metrics:
        both = table.dropna(subset=[metric, rate])
        wrong, value = both[rate].to_numpy() > 0, both[metric].to_numpy(dtype=float)
        value = 1 - value if metric.startswith("claims_contradicted") else value
        about: Row = {"item": metric, "condition": f"{rate} above 0", "unscored": len(table) - len(both), **shared}
        documents = both["document"].to_numpy()
        rows.append(statistic_row("auc", partial(area, ~wrong, value), len(both), clusters=documents, **about))
        for name, of, right in (("sensitivity", wrong, value < 1), ("specificity", ~wrong, value >= 1)):
            rows.append(mean_row(name, right[of], clusters=documents[of], **about))
    return rows


def wide_scores(scores: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """A row for each summary that people scored (VERDICTS), with their scores and ``scores`` in a column by metric."""
    keys = ["document", "system"]
    table = people[keys].drop_duplicates()
    for own in (people, scores):
        wide = own.pivot_table(index=keys, columns="metric", values="value").reset_index()
        table = table.merge(wide, on=keys, how="left")
    return table


def claims_of_references(judged: pd.DataFrame) -> pd.Series:
    """Number of claims of each document's reference, by document, from judged claims of recall."""
    recalled = judged[judged["metric"] == "claim_recall"]
    return recalled.groupby(["document", "system"]).size().groupby("document").max()


def nothing_to_judge(table: pd.DataFrame, unscored: pd.DataFrame) -> dict[str, npt.NDArray[np.bool_]]:
    """By metric, the summaries of ``table`` without a score whose reference, or that themselves, hold no claim."""
    read = unscored[unscored["reason"].str.contains(NOTHING)]
    found = {}
    for metric, (step, _) in RULED.items():
        own = read[read["step"] == step]
        whole = set(own["document"][own["system"].isna()])
        single = set(zip(own["document"], own["system"], strict=True))
        keys = zip(table["document"], table["system"], strict=True)
        named = np.array([document in whole or (document, system) in single for document, system in keys])
        if metric in table:
            found[metric] = named & table[metric].isna().to_numpy()
    return found


def agreement_rows(
    table: pd.DataFrame,
    claims: pd.Series,
    metrics: Collection[str],
    *,
    nothing: Mapping[str, npt.NDArray[np.bool_]] | None = None,
    human: Sequence[str] = HUMAN,
    **shared: Any,
) -> list[Row]:
    """All rows of one judge's ``table``, whose ``metrics`` it judged.

    ``claims`` by document divide the summaries; ``nothing`` as in `nothing_to_judge`.
    """
    table = table.copy()
    for metric, empty in (nothing or {}).items():
        table[f"{metric} with rule"] = table[metric].mask(empty, RULED[metric][1])
    judged = [name for name in table if name.split(" ")[0] in metrics]
    count = table["document"].map(claims).fillna(0).to_numpy()
    strata = {ALL: count >= 0, "1 claim": count == 1, "2 claims": count == 2, "3 claims or more": count >= 3}
    pairs = [(own, other) for own in judged for other in OVERLAP]
    chosen = {name: strata[name] for name in (ALL, "3 claims or more")}
    printed, whole = [pair for pair in [PRINTED] if set(pair) <= set(table)], {ALL: strata[ALL]}
    precise = [name for name in judged if name.split(" ")[0] in ADDED]
    return [
        *correlation_rows(table, [*judged, *OVERLAP], human, strata, **shared),
        *difference_rows(table, pairs, human, chosen, **shared),
        *[row for kind in KINDS[1:] for row in difference_rows(table, printed, RECALL, whole, kind, **shared)],
        *rank_rows(table, [*judged, *OVERLAP], human, **shared),
        *(detection_rows(table, precise, RATE, **shared) if RATE in table else []),
    ]


def _closer(table: pd.DataFrame, columns: Sequence[str], kind: Correlation) -> Interval:
    """How much larger the first column's correlation with the third is in size than the second's, with its interval.

    None for fewer than `FEWEST_PAIRS` documents.
    """
    *metrics, score = (table[name].to_numpy(dtype=float) for name in columns)
    signs = [-1.0 if correlation(metric, score, kind) < 0 else 1.0 for metric in metrics]

    def size(place: int, at: npt.NDArray[np.int64]) -> float:
        return signs[place] * correlation(metrics[place][at], score[at], kind)

    documents = table["document"].to_numpy()
    first, second = (partial(size, place) for place in (0, 1))
    if table["document"].nunique() < FEWEST_PAIRS:
        every = np.arange(len(table))
        return first(every) - second(every), np.nan, np.nan
    value, low, high = statistic_difference_interval(first, second, len(table), bounds=SIGNED, clusters=documents)
    return value, max(low, -1.0), min(high, 1.0)  # of sizes, which differ by 1 at most
