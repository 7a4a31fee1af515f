"""Measures of a lineage with their per-record parts: means of record scores, and F1 of predictions over seeds."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.measures import described
from tasks.statistics.intervals import SHARE, Bounds

Key = tuple[str, str, str, str, str]
Ids = npt.NDArray[np.int64]
_SCORE_KEY = ["system", "condition", "item", "metric"]
_FAMILY = ["system", "condition", "metric"]
_PREDICTION_KEY = ["system", "condition", "symptom"]

SHARES = frozenset({"score", *(name for name, metric in described.METRICS.items() if metric.bounds == SHARE)})
"""Metrics whose scores lie between 0 and 1."""
ANY: Bounds = (-np.inf, np.inf)
UNSCORED = "unscored "
"""Begins the name of the failure rate of a metric."""


def _no_items() -> npt.NDArray[np.str_]:
    return np.empty(0, dtype=np.str_)


@dataclass(frozen=True)
class Measure:
    """One measure, as per-record parts whose sums give its value.

    ``parts`` has shape (records, seeds, classes, 3) with true positives, false positives and false negatives of F1, or
    (records, 1, 1, 1) with a score whose mean is the measure. ``records`` (records,) are sorted ids. ``items``
    (records,), if not empty, identifies the items (questions) of each record over which its score is a mean.
    ``failed``: ids of records that were attempted and not scored; None if unknown. ``classes``: those of F1.
    ``own_bounds``: those of a metric of the user's.
    """

    KEY: ClassVar[tuple[str, ...]] = ("stage", "system", "condition", "item", "metric")

    key: Key
    records: Ids
    parts: npt.NDArray[np.floating]
    items: npt.NDArray[np.str_] = field(default_factory=_no_items)
    failed: Ids | None = None
    classes: tuple[str, ...] = ()
    own_bounds: Bounds | None = None

    @property
    def is_f1(self) -> bool:
        """Whether the measure is an F1 of predictions rather than a mean of scores."""
        return self.parts.shape[-1] == 3

    @property
    def bounds(self) -> Bounds:
        """The least and the largest possible score, infinite where there is none.

        They follow from the metric's name; a user's metric of the same name may have scores beyond them.
        """
        name = self.key[-1]
        if name in SHARES or name.startswith(UNSCORED):
            known: Bounds | None = SHARE
        else:
            known = described.METRICS[name].bounds if name in described.METRICS else self.own_bounds
        low, high = known or ANY
        return (low, high) if ((self.parts >= low) & (self.parts <= high)).all() else ANY

    @property
    def is_share(self) -> bool:
        """Whether scores lie between 0 and 1."""
        return self.bounds == SHARE

    @property
    def seeds(self) -> int:
        """Number of training seeds; 1 for a mean of scores."""
        return int(self.parts.shape[1])

    def only(self, records: Ids) -> "Measure":
        """The measure restricted to ``records``, a subset of its records."""
        rows = np.searchsorted(self.records, records)
        items = self.items[rows] if len(self.items) else self.items
        return replace(self, records=records, parts=self.parts[rows], items=items)

    def value(self) -> float:
        """The measure on its records, averaged over seeds."""
        sums = self.parts.sum(axis=0, dtype=np.float64)
        if not self.is_f1:
            return float(sums[0, 0, 0] / len(self.records))
        hits, total = 2 * sums[..., 0], sums @ (2.0, 1.0, 1.0)
        return float(np.divide(hits, total, out=np.zeros_like(hits), where=total > 0).mean())


def score_measures(
    scores: pd.DataFrame,
    stage: str,
    *,
    contents: Mapping[str, str] | None = None,
    failed: Ids | None = None,
) -> dict[Key, Measure]:
    """Measures of a table of record scores (schemas.tables.metrics.SCORES), by key.

    Items of a single record each, such as questions, are averaged into one score per record. ``contents`` maps item ids
    to the text of the item, by which the items of two lineages are matched (default: by id). ``failed``: ids of records
    that were attempted and not scored; None if unknown.
    """
    measures = {}
    for key, group in _merge_items(scores, contents or {}).sort_values("record").groupby(_SCORE_KEY, sort=True):
        records = group["record"].to_numpy(np.int64)
        parts = group["value"].to_numpy(float)[:, None, None, None]
        items = group["items"].to_numpy(np.str_) if group["items"].ne("").any() else _no_items()
        key = (stage, *key)
        measures[key] = Measure(key, records, parts, items, failed)
    return measures


def question_contents(questions: pd.DataFrame) -> dict[str, str]:
    """Content of each question of schemas.tables.note_qa.QUESTIONS, by its id: wording, choices and answer."""
    columns = ["question", "wording", "choices", "answer"]
    return {row[0]: "\x1f".join(map(str, row[1:])) for row in questions[columns].itertuples(index=False)}


def _merge_items(scores: pd.DataFrame, contents: Mapping[str, str]) -> pd.DataFrame:
    """Average items of a single record each into item ``all``; the column ``items`` is a digest of their contents."""
    counts = scores.groupby(_FAMILY)["item"].transform("nunique")
    single = scores.groupby(_SCORE_KEY)["record"].transform("nunique") == 1
    merged = (counts > 1) & single.groupby([scores[name] for name in _FAMILY]).transform("all")
    if not merged.any():
        return scores.assign(items="")
    texts = scores[merged].assign(items=[contents.get(item, item) for item in scores.loc[merged, "item"]])
    means = texts.groupby(["record", *_FAMILY], as_index=False).agg(value=("value", "mean"), items=("items", _digest))
    return pd.concat([scores[~merged].assign(items=""), means.assign(item="all")], ignore_index=True)


def _digest(texts: pd.Series) -> str:
    return hashlib.sha256("\x1f".join(sorted(texts)).encode()).hexdigest()[:16]


def unscored_records(names: Collection[str], *scores: pd.DataFrame) -> Ids:
    """Record ids of the names in unscored tables: record ids, or items of ``scores`` such as patients and questions.

    Items are matched up to the first slash, because the item itself may be missing from the tables.
    """
    groups = {name.partition("/")[0] for name in names}
    found = {int(name) for name in names if name.isdecimal()}
    for table in scores:
        owners = table.loc[table["item"] != "all", ["record", "item"]].drop_duplicates()
        found |= {int(record) for record, item in owners.itertuples(index=False) if item.partition("/")[0] in groups}
    return np.array(sorted(found), dtype=np.int64)


PREDICTION_COLUMNS = ["record", *_PREDICTION_KEY, "seed", "label", "predicted"]
"""Columns of a table of predictions that F1 needs."""


def prediction_measures(predictions: pd.DataFrame, stage: str, *, failed: Ids | None = None) -> dict[Key, Measure]:
    """F1 of a table of predictions (schemas.tables.baselines.PREDICTIONS), by key; macro over classes beyond two.

    The table has one row per class of each prediction, with the same label and predicted class. Raises ValueError if a
    record lacks the prediction of a seed.
    """
    rows = predictions[PREDICTION_COLUMNS].astype(
        {name: "category" for name in [*_PREDICTION_KEY, "label", "predicted"] if predictions[name].dtype != "category"}
    )
    measures = {}
    for names, group in rows.groupby(_PREDICTION_KEY, sort=True, observed=True):
        key = (stage, *names, "f1")
        records, parts, classes = _counts(group)
        measures[key] = Measure(key, records, parts, failed=failed, classes=classes)
    return measures


def _counts(group: pd.DataFrame) -> tuple[Ids, npt.NDArray[np.float32], tuple[str, ...]]:
    """Record ids; hits, false positives and misses (records, seeds, classes, 3) of one predictor; the classes."""
    records, row = np.unique(group["record"].to_numpy(np.int64), return_inverse=True)
    seeds, column = np.unique(group["seed"].to_numpy(), return_inverse=True)
    true, guess = (np.full((len(records), len(seeds)), -1, dtype=np.int8) for _ in range(2))
    names = sorted({"yes", *group["label"].cat.categories, *group["predicted"].cat.categories})
    for place, side in ((true, "label"), (guess, "predicted")):
        code = np.array([names.index(name) for name in group[side].cat.categories], dtype=np.int8)
        place[row, column] = code[group[side].cat.codes.to_numpy()]
    if (true < 0).any():
        raise ValueError("a record lacks the prediction of some seed")
    present = {names[code] for code in np.union1d(true, guess)}
    classes = ["yes"] if present <= {"no", "yes"} else sorted(present)
    codes = [names.index(name) for name in classes]
    parts = [[(true == c) & (guess == c), (true != c) & (guess == c), (true == c) & (guess != c)] for c in codes]
    return records, np.moveaxis(np.array(parts, dtype=np.float32), (0, 1), (2, 3)), tuple(classes)
