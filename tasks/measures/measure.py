"""What all measures share: each judges units of texts, and every figure follows from its table of verdicts (VERDICTS).

A verdict has a value from 0 to 1; a failed one has none, is left out of the score of its text, and is counted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.verdicts import VERDICTS
from tasks.llm.calls import Asks
from tasks.statistics.intervals import SHARE, Bounds
from tasks.statistics.metric_rows import bounds_rows, mean_row, metric_table, ratio_row, score_table
from tasks.texts.document import WHOLE, Document, Tables

Judgement = bool | None
"""Yes, no, or failed."""
LOST = "lost"
"""Unit of a text or section that is missing, of which nothing can be judged."""
KEY = ["system", "condition", "item", "metric"]
_DEFAULTS: Mapping[str, Any] = dict.fromkeys(("verdict", "truth", "kind", "reason")) | {"weight": 1.0}


@dataclass(frozen=True)
class Metric:
    """A share of the units of a text, of which figures are means over texts.

    ``of``: the metric of the verdicts that it is computed from, by default that of its own name. ``words``: what the
    judge's words count, others nothing; by default the values count. ``bounds``: the least and the largest value.
    ``pooled``: the units of all sections and of all texts are also put together. ``ranged``: a failed verdict may have
    been anything within the bounds, rather than undefined.
    """

    of: str | None = None
    words: Mapping[str, float] | None = None
    bounds: Bounds | None = SHARE
    pooled: bool = True
    ranged: bool = True


Metrics = Mapping[str, Metric]


class Measure(Protocol):
    """Judges texts; all that distinguishes one measure from another."""

    @property
    def name(self) -> str:
        """Stage of its rows."""
        ...

    @property
    def metrics(self) -> Metrics:
        """Its metrics by name."""
        ...

    async def judge(self, ask: Asks, documents: Sequence[Document]) -> Tables:
        """Judge all outputs of the documents: the tables verdicts (VERDICTS) and unscored (UNSCORED)."""
        ...


def verdict_table(rows: Iterable[Mapping[str, Any]], *, judge: str) -> pd.DataFrame:
    """Rows as VERDICTS of one judge. By default a unit counts 1, and has neither truth, kind, reason nor a word."""
    return typed([{**_DEFAULTS, "judge": judge, **row} for row in rows], VERDICTS)


def in_order(verdicts: pd.DataFrame) -> pd.DataFrame:
    """VERDICTS by text and metric, and units by number: 2 before 10, and F2 before F10."""
    columns = list(VERDICTS.unique or [])
    return verdicts.sort_values(columns, ignore_index=True, kind="stable", key=_by_number)


def _by_number(column: pd.Series) -> pd.Series:
    return column.str.rjust(int(column.str.len().max()), "0") if column.name == "unit" and len(column) else column


def unit_values(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """The verdicts of each metric, with what it counts as their value."""
    parts = [verdicts.iloc[:0]]
    for name, metric in metrics.items():
        own = verdicts[verdicts["metric"] == (metric.of or name)].assign(metric=name)
        if metric.words is not None:
            counted = own["verdict"].map(lambda word, of=metric.words: of.get(word, 0.0)).astype(float)
            own = own.assign(value=counted.mask(own["value"].isna()))
        parts.append(own)
    return pd.concat(parts, ignore_index=True)


def scores(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """One number per document, system, condition, item and metric; texts without a verdict are left out.

    For texts judged by section, item "all" combines the units of all sections.
    """
    known = _values(verdicts, metrics).dropna(subset=["value"])
    return known.groupby(["document", *KEY], sort=True)["value"].mean().reset_index()


def record_scores(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """`scores` of the generated notes as SCORES; the document is a record."""
    return score_table(scores(verdicts, metrics).rename(columns={"document": "record"}))


def unscored_documents(verdicts: pd.DataFrame, metrics: Metrics) -> pd.Series:
    """Number of documents all of whose verdicts failed, indexed by system, condition, item and metric."""
    rows = _values(verdicts, metrics)
    lost = rows["value"].isna().groupby([rows[name] for name in ("document", *KEY)]).all()
    return lost.groupby(KEY).sum()


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

    The mean over texts, and pooled over their units (``..._pooled``). Texts without a score are left out and counted as
    unscored, as pooled are verdicts. Where verdicts failed, ``..._bounds`` has the range over all that they may be,
    texts without a score included; unscored are all texts with a failed verdict. ``clusters`` names the cluster of a
    document, whose scores vary together; by default each is its own.
    """
    rows = []
    for key, group in _values(verdicts, metrics).groupby(KEY, sort=True):
        named = dict(zip(KEY, key, strict=True))
        metric, failed = named.pop("metric"), group["value"].isna()
        kind = metrics[metric]
        by_text = failed.groupby(group["document"])
        texts = group.dropna(subset=["value"]).groupby("document", sort=True)["value"]
        sums, sizes = texts.sum().to_numpy(), texts.size().to_numpy()
        of = None if clusters is None else [clusters(str(document)) for document in texts.groups]
        mean = mean_row(
            metric, sums / sizes, bounds=kind.bounds, clusters=of, unscored=int(by_text.all().sum()), **named
        )
        pooled = [ratio_row(f"{metric}_pooled", sums, sizes, unscored=int(failed.sum()), **named)] * kind.pooled
        rows += [mean, *pooled]
        if kind.ranged and kind.bounds is not None:
            least, most = (group["value"].fillna(end).groupby(group["document"]).mean() for end in kind.bounds)
            rows += bounds_rows({**mean, "unscored": int(by_text.any().sum())}, least, most)
            rows += [bound for row in pooled for bound in bounds_rows(row)]
    return metric_table(rows, stage=stage, seed=seed, provenance=provenance)


def _values(verdicts: pd.DataFrame, metrics: Metrics) -> pd.DataFrame:
    """`unit_values`, with those that are pooled of texts judged by section repeated under item "all"."""
    rows = unit_values(verdicts, metrics)
    whole = rows["item"].eq(WHOLE).groupby([rows[name] for name in ("document", "system", "condition", "metric")])
    pooled = rows["metric"].isin([name for name, metric in metrics.items() if metric.pooled])
    together = rows[pooled & ~whole.transform("any").astype(bool)]
    return pd.concat([rows, together.assign(item=WHOLE)], ignore_index=True)
