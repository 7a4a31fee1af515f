"""What all measures share: each judges units of texts, and every figure follows from its table of verdicts (VERDICTS).

A verdict has a value, from 0 to 1 unless its metric has other bounds; a failed one has none, is left out of the score
of its text, and is counted.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from schemas.tables.verdicts import LOST
from tasks.statistics.intervals import COUNT, SHARE, Bounds
from tasks.statistics.metric_rows import (
    Row,
    bounds_rows,
    deviation_row,
    mean_row,
    metric_table,
    ratio_row,
    score_table,
    system_difference_rows,
)
from tasks.texts.document import WHOLE

KEY = ["system", "condition", "item", "metric"]
ENDINGS = ("_pooled", "_std", "_bounds", "_difference", "_corrected", "_possible")
"""How names of figures that are made of a metric end; their meanings are in `tasks.measures.described`."""


@dataclass(frozen=True)
class Metric:
    """What is computed of the units of a text, of which figures are means over texts.

    ``of``: the metric of the verdicts that it is computed from, by default that of its own name. ``words``: what the
    judge's words count, others nothing; by default the values count. ``among``: only units with these words.
    ``kind``: the mean of the units' values; their sum, to which failed verdicts add the mean of the others; the sum of
    the weights of the units that count, to which they add alike; or no score of a text, as the units of all are pooled.
    ``bounds``: the least and the largest value of a text. ``pooled``: the units of all sections and of all texts are
    also put together. ``ranged``: a failed verdict may have been anything, rather than undefined. ``deviation``: with
    the standard deviation over texts. ``weights``: the least and the largest weight of a unit whose weight is unknown.
    ``common``: the units are those of the document, the same for all systems.

    ``meaning``: what it says, for people; ``label``: its name on the page of an evaluation, which shows it first.
    ``as_percent``: where it is a share, it is shown so. ``removal``: what becomes of it as facts are removed from a
    text, None if it does not tell.
    ``compared``: it is tested between systems and between lineages. ``judged``: by a judge. ``task``: of a judge's
    card, whose cases are judged as its units are.
    """

    of: str | None = None
    words: Mapping[str, float] | None = None
    among: Sequence[str] | None = None
    kind: Literal["mean", "sum", "weight", "pooled"] = "mean"
    bounds: Bounds | None = SHARE
    pooled: bool = True
    ranged: bool = True
    deviation: bool = False
    weights: Bounds = SHARE
    common: bool = False
    meaning: str = ""
    label: str = ""
    as_percent: bool = True
    removal: Literal["falls", "rises"] | None = None
    compared: bool = False
    judged: bool = True
    task: str | None = None

    @property
    def is_share(self) -> bool:
        """Whether it is a share that is shown as percent."""
        return self.bounds == SHARE and self.as_percent


Metrics = Mapping[str, Metric]


def unit_values(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """The verdicts of each metric, with what it counts as their value."""
    parts = [verdicts.iloc[:0]]
    for name, metric in metrics.items():
        own = verdicts[verdicts["metric"] == (metric.of or name)].assign(metric=name)
        if metric.among is not None:
            own = own[own["verdict"].isin(metric.among)]
        if metric.words is not None:
            counted = own["verdict"].map(lambda word, of=metric.words: of.get(word, 0.0)).astype(float)
            own = own.assign(value=counted.mask(own["value"].isna()))
        parts.append(own)
    return pd.concat(parts, ignore_index=True)


def scores(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """One number per text and metric, none without a verdict; item "all" combines the units of all sections."""
    return _texts(verdicts, metrics).dropna(subset=["value"])[["document", *KEY, "value"]].reset_index(drop=True)


def scores_and_ceilings(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """`scores` with their values if every unit counted (ceiling); texts without one are left out."""
    found = _texts(verdicts, metrics).dropna(subset=["value", "ceiling"])
    return found[["document", *KEY, "value", "ceiling"]].reset_index(drop=True)


def record_scores(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """`scores` of the generated notes as SCORES; the document is a record."""
    return score_table(scores(verdicts, metrics).rename(columns={"document": "record"}))


def unscored_documents(verdicts: pd.DataFrame, metrics: Metrics) -> pd.Series:
    """Number of documents without a row of `scores_and_ceilings`, indexed by system, condition, item and metric."""
    texts = _texts(verdicts, metrics).set_index(KEY)
    return texts[["value", "ceiling"]].isna().any(axis=1).groupby(KEY).sum()


def figures(
    verdicts: pd.DataFrame,
    metrics: Metrics,
    *,
    stage: str,
    seed: int,
    provenance: str,
    clusters: Callable[[str], str] | None = None,
) -> pd.DataFrame:
    """METRICS of every metric by system, condition and item, with 95% intervals over texts.

    The mean over texts, pooled over their units (``..._pooled``), and their standard deviation (``..._std``). Texts
    without a score are left out and counted as unscored, as pooled are verdicts. Where verdicts failed, ``..._bounds``
    has the range over all that they may be, texts without a score included; unscored are all texts with a failed
    verdict. Sums and pooled shares have none where nobody knows which units a text has. ``clusters`` names the cluster
    of a document, whose scores vary together; by default each is its own.
    """
    rows = list[Row]()
    for key, own in _texts(verdicts, metrics).groupby(KEY, sort=True):
        named: Row = dict(zip(KEY, key, strict=True))
        rows += _figures(named.pop("metric"), own, metrics[key[-1]], named, clusters)
    return metric_table(rows, stage=stage, seed=seed, provenance=provenance)


def _figures(
    name: str, texts: pd.DataFrame, metric: Metric, named: Row, clusters: Callable[[str], str] | None
) -> list[Row]:
    failed, scored = int(texts["failed"].sum()), texts.dropna(subset=["value"])
    if metric.kind == "pooled":
        return [ratio_row(name, texts["sum"], texts["known"], unscored=failed, **named)]
    of = None if clusters is None else scored["document"].map(clusters)
    lost = len(texts) - len(scored)
    mean = mean_row(name, scored["value"], bounds=metric.bounds, clusters=of, unscored=lost, **named)
    rows, countable = [mean], not texts["lost"].any()
    pooled = ratio_row(f"{name}_pooled", texts["sum"], texts["known"], unscored=failed, **named)
    if metric.pooled:
        rows += [pooled, *(bounds_rows(pooled) if metric.ranged and countable else [])]
    if metric.deviation:
        apart = (scored["value"] - scored["value"].median()).round(9)  # else equal scores vary by their rounding
        spread = deviation_row(f"{name}_std", apart, unscored=lost, **named)
        least, most = metric.bounds or (-math.inf, math.inf)
        rows.append({**spread, "high": min(spread["high"], (most - least) / 2)})
    uncertain = texts["most"] > texts["least"]
    if metric.ranged and uncertain.any() and (countable or metric.kind == "mean"):
        partly = {**mean, "unscored": int((texts["value"].isna() | uncertain).sum())}
        rows += bounds_rows(partly, texts["least"], texts["most"])
    return rows


def differences(verdicts: pd.DataFrame, metrics: Metrics, *, stage: str, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS of the differences of every two systems on the same documents, by condition and item."""
    rows = list[Row]()
    for (condition, item, name), own in scores(verdicts, metrics).groupby(KEY[1:], sort=True):
        found = system_difference_rows(own, reach=(metrics[name].bounds or COUNT)[1])
        rows += [{"condition": condition, "item": item, **row} for row in found]
    return metric_table(rows, stage=stage, seed=seed, provenance=provenance)


def _texts(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """Every text by document and `KEY`: its value (null: nothing was judged), the least and the most that it may be.

    ``ceiling``: its value if every unit counted; ``sum``, ``known`` and ``failed`` are of its units; ``lost``: whether
    not all of these are known.
    """
    rows = _values(verdicts, metrics)
    parts = [_by_text(own, metrics[str(name)]) for name, own in rows.groupby("metric", sort=True)]
    found = pd.concat(parts or [_by_text(rows, Metric())], ignore_index=True)
    return found.sort_values(["document", *KEY], ignore_index=True)


def _by_text(rows: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    by, value = ["document", *KEY], rows["value"]
    groups = rows.groupby(by, sort=True).ngroup()  # numbers, which are grouped in a tenth of the time of five names
    known, size = value.groupby(groups).count(), value.groupby(groups).size()
    found = {"sum": value.groupby(groups).sum(), "known": known, "failed": size - known}
    found["lost"] = rows["unit"].eq(LOST).groupby(groups).any()
    found["value"], found["ceiling"] = value.groupby(groups).mean(), 1.0
    weights = [rows["weight"].fillna(end) if metric.kind == "weight" else 1.0 for end in metric.weights]
    ends = metric.bounds if metric.bounds is not None and metric.kind == "mean" else SHARE
    for name, end, weight in zip(("least", "most"), ends, weights, strict=True):
        of_units = (value.fillna(end) * weight).groupby(groups)
        found[name] = of_units.mean().mask(found["lost"], end) if metric.kind == "mean" else of_units.sum()
    if metric.kind in ("sum", "weight"):
        found["value"], found["ceiling"] = size * found["value"], size.astype(float)
    if metric.kind == "weight":
        counted = rows[value > 0].groupby(groups)["weight"].agg(lambda one: one.mean())
        found["value"] = (found["value"] * counted).where(found["value"] > 0, found["value"])
        # Else, where no unit has a weight, only texts in which none counts would have a value, 0.
        found["value"] = found["value"].where(rows.groupby(groups)["weight"].count() > 0)
        found["ceiling"] = rows.groupby(groups)["weight"].agg(lambda one: one.sum(skipna=False))
    if metric.kind == "pooled":
        found["value"] = found["value"].mask(size > 0)
    first = ~groups.duplicated()
    return rows.loc[first, by].set_axis(groups[first]).join(pd.DataFrame(found)).sort_index().reset_index(drop=True)


def _values(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """`unit_values`, with those that are pooled of texts judged by section repeated under item "all".

    A lost text has the units that another system's has, failed, where these are of the document.
    """
    rows, by = unit_values(verdicts, metrics), ["document", "condition", "item", "metric"]
    common = rows[rows["metric"].isin([name for name, metric in metrics.items() if metric.common])]
    is_lost = common["unit"].eq(LOST) & common.groupby([*by, "system"])["unit"].transform("size").eq(1)
    lost, judged = common[is_lost], common[~is_lost]
    if len(lost) and len(judged):
        first = judged[judged["system"] == judged.groupby(by)["system"].transform("first")]
        units = lost[[*by, "system"]].reset_index().merge(first.drop(columns="system"), on=by)
        units = units.assign(value=math.nan, verdict=None)
        rows = pd.concat([rows.drop(units["index"]), units[rows.columns]], ignore_index=True)
    whole = rows["item"].eq(WHOLE).groupby([rows[name] for name in ("document", "system", "condition", "metric")])
    pooled = rows["metric"].isin([name for name, metric in metrics.items() if metric.pooled])
    together = rows[pooled & ~whole.transform("any").astype(bool)]
    return pd.concat([rows, together.assign(item=WHOLE)], ignore_index=True)
