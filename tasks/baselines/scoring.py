"""Metrics of all models from their predictions: F1, precision, recall, Brier score, log loss, calibration error.

All but the last are means over values and training seeds of a ratio of two sums over records, so that one
linearisation gives the interval of each (`tasks.statistics.intervals.linearised_interval`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.tables.baselines import RELIABILITY
from schemas.tables.columns import typed
from tasks.baselines.calibration import bin_numbers, calibration_error
from tasks.baselines.targets import Floats, Integers, Target, decide
from tasks.statistics.intervals import COUNT, FEWEST, SHARE, Bounds, linearised_interval
from tasks.statistics.metric_rows import Row, metric_row, metric_table

STAGE = "baselines"
METRICS = ("f1", "precision", "recall", "brier", "calibration_error", "log_loss")
MACRO, FEWEST_OF_MACRO = ("f1", "precision", "recall"), 8
"""Means over values, whose intervals hold the true value too seldom for fewer records (docs/statistics.md)."""


@dataclass(frozen=True)
class Scored:
    """One model's predictions on the test records: one entry of ``probabilities`` (n, values) per seed."""

    system: str
    condition: str
    target: Target
    records: Integers
    labels: Integers
    seeds: tuple[int, ...]
    probabilities: tuple[Floats, ...]

    def terms(self, metric: str) -> tuple[Floats, Floats]:
        """Parts and wholes of `terms_of` for each seed, both (n, seeds * columns)."""
        parts, wholes = zip(*(terms_of(metric, self.labels, one) for one in self.probabilities), strict=True)
        return np.hstack(parts), np.hstack(wholes)

    def interval(self, metric: str, bins: int) -> tuple[float, float, float]:
        """Value of a metric, low and high; no interval of a macro average of fewer than `FEWEST_OF_MACRO` records."""
        if metric == "calibration_error":
            return calibration_error(self.labels, self.probabilities, bins)
        value, low, high = ratio_mean(*self.terms(metric), bounds=self._bounds(metric))
        few = metric in MACRO and not self.target.is_binary and len(self.labels) < FEWEST_OF_MACRO
        return (value, np.nan, np.nan) if few else (value, low, high)

    def _bounds(self, metric: str) -> Bounds:
        if metric == "brier":
            return (0.0, 1.0 if self.target.is_binary else 2.0)
        return COUNT if metric == "log_loss" else SHARE


def models_in(predictions: pd.DataFrame, targets: Sequence[Target]) -> Iterator[Scored]:
    """The models of a PREDICTIONS table, in order of system, condition, symptom."""
    by_symptom = {target.symptom: target for target in targets}
    for (system, condition, symptom), rows in predictions.groupby(["system", "condition", "symptom"], sort=True):
        target = by_symptom[str(symptom)]
        wide = rows.pivot(index=["seed", "record"], columns="value", values="probability").sort_index()
        if target.is_binary:
            wide[target.values[0]] = 1 - wide[target.values[1]]
        labels = rows.drop_duplicates("record").set_index("record")["label"].sort_index()
        seeds = tuple(int(seed) for seed in wide.index.levels[0])
        yield Scored(
            str(system),
            str(condition),
            target,
            labels.index.to_numpy(dtype=np.int64),
            pd.Index(target.values).get_indexer(pd.Index(labels)).astype(np.int64),
            seeds,
            tuple(wide.loc[seed, list(target.values)].to_numpy(dtype=float) for seed in seeds),
        )


def terms_of(metric: str, labels: Integers, probabilities: Floats) -> tuple[Floats, Floats]:
    """Parts and wholes (n, columns) of ``metric`` for labels (n,) and probabilities (n, values).

    With more than two values F1, precision and recall have a column for each value (macro averages). ``brier`` is the
    squared distance to the label (0-1 for two values, 0-2 for more).
    """
    n, values = probabilities.shape
    if metric == "log_loss":
        loss = -np.log(np.clip(probabilities[np.arange(n), labels], 1e-12, 1))
        return loss[:, None], np.ones((n, 1))
    one_hot, scored = np.eye(values)[labels], slice(1, 2) if values == 2 else slice(None)
    if metric == "brier":
        return ((probabilities - one_hot)[:, scored] ** 2).sum(axis=1, keepdims=True), np.ones((n, 1))
    true, predicted = one_hot[:, scored], np.eye(values)[decide(probabilities)][:, scored]
    wholes = {"f1": true + predicted, "precision": predicted, "recall": true}[metric]
    return true * predicted * (2 if metric == "f1" else 1), wholes


def ratio_mean(parts: Floats, wholes: Floats, *, bounds: Bounds = SHARE) -> tuple[float, float, float]:
    """Mean over columns of the ratio of column sums of ``parts`` and ``wholes`` (n, columns), with its interval.

    A ratio with denominator 0 is 0. The interval is that of a value which nothing is known of where hardly any record
    counts, such as F1 without a true or a predicted case.
    """
    ratios = ratio(parts.sum(axis=0), wholes.sum(axis=0))
    influence = influence_of(parts, wholes, ratios)
    value, counts = float(ratios.mean()), (wholes > 0).any(axis=1)
    if counts.sum() < FEWEST <= len(parts):
        return value, *bounds
    return value, *linearised_interval(value, influence[counts], bounds=bounds)


def influence_of(parts: Floats, wholes: Floats, ratios: Floats) -> Floats:
    """What each record adds to the mean of ``ratios`` (columns,) of the sums of ``parts`` and ``wholes``, (n,)."""
    totals = np.broadcast_to(wholes.sum(axis=0), parts.shape)
    return np.asarray(ratio(parts - ratios * wholes, totals).mean(axis=1))


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator, dtype=float), where=denominator > 0)


def metric_rows(
    predictions: pd.DataFrame,
    targets: Sequence[Target],
    bins: int,
    provenance: Mapping[str, str],
    unscored: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """METRICS rows of every model: the mean over seeds, with an interval over test records.

    ``bins`` are those of calibration errors. ``provenance`` and ``unscored`` (number of test records without a
    prediction) are by system.
    """
    rows: list[Row] = []
    for model in models_in(predictions, targets):
        keys: Row = {
            "system": model.system,
            "condition": model.condition,
            "item": model.target.symptom,
            "n": len(model.labels),
            "unscored": (unscored or {}).get(model.system, 0),
            "seed": f"training {','.join(map(str, model.seeds))}",
            "provenance": provenance[model.system],
        }
        rows += [metric_row(name, *model.interval(name, bins), **keys) for name in METRICS]
    return metric_table(rows, stage=STAGE)


def reliability_rows(predictions: pd.DataFrame, targets: Sequence[Target], *, bins: int) -> pd.DataFrame:
    """RELIABILITY rows: mean predicted probability and observed frequency in equally wide bins.

    The seeds of a model are pooled; empty bins are absent.
    """
    parts = list[pd.DataFrame]()
    for model in models_in(predictions, targets):
        keys = {"system": model.system, "condition": model.condition, "symptom": model.target.symptom}
        for value in model.target.values[1 if model.target.is_binary else 0 :]:
            label = model.target.values.index(value)
            predicted = np.concatenate([probabilities[:, label] for probabilities in model.probabilities])
            observed = np.tile(model.labels == label, len(model.seeds)).astype(float)
            both = pd.DataFrame({"bin": bin_numbers(predicted, bins), "predicted": predicted, "observed": observed})
            grouped = both.groupby("bin")
            parts.append(grouped.mean().assign(n=grouped.size(), value=value, **keys).reset_index())
    return typed(pd.concat(parts, ignore_index=True) if parts else [], RELIABILITY)
