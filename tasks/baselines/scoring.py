"""Metrics of all models from their predictions: F1, precision, recall, Brier score, log loss, calibration error.

Each metric is a function of sums of per-record terms, so that bootstrap intervals of all metrics need one product of
resampling counts and terms.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.tables.baselines import RELIABILITY
from schemas.tables.columns import typed
from tasks.baselines.targets import Floats, Integers, Target, decide
from tasks.statistics.bootstrap import percentile_interval, resamples
from tasks.statistics.metric_rows import Row, metric_row, metric_table

STAGE = "baselines"
METRICS = ("f1", "precision", "recall", "brier", "calibration_error", "log_loss")

Sums = Mapping[str, Floats]


@dataclass(frozen=True)
class Resampling:
    """Bootstrap draws of test records behind intervals, and the bins of calibration errors."""

    seed: int
    draws: int
    bins: int

    def counts(self, n: int) -> Floats:
        """How often each of ``n`` records is in each resample, (draws, n)."""
        counts = np.zeros((self.draws, n))
        np.add.at(counts, (np.arange(self.draws)[:, None], resamples(n, seed=self.seed, draws=self.draws)), 1)
        return counts


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

    def sums(self, bins: int, *counts: Floats) -> list[list[Sums]]:
        """For each of ``counts`` (draws, n), the sums (draws,) of each seed's terms, by the terms' names."""
        terms = [terms_of(self.labels, probabilities, bins) for probabilities in self.probabilities]
        stacked = [np.stack(list(term.values()), axis=1) for term in terms]
        return [[dict(zip(terms[0], (one @ values).T, strict=True)) for values in stacked] for one in counts]

    def metric(self, name: str, sums: Sequence[Sums]) -> Floats:
        """A metric's mean over seeds, (draws,)."""
        averaged: Floats = np.mean([metric_of(name, of_seed, len(self.target.values)) for of_seed in sums], axis=0)
        return averaged


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


def terms_of(labels: Integers, probabilities: Floats, bins: int) -> dict[str, Floats]:
    """Terms (n,) of all metrics for labels (n,) and probabilities (n, values)."""
    n, values = probabilities.shape
    predicted = decide(probabilities)
    one_hot = np.eye(values)[labels]
    terms: dict[str, Floats] = {"n": np.ones(n)}
    for value in _scored(values):
        is_true, is_predicted = labels == value, predicted == value
        terms[f"hit{value}"] = (is_true & is_predicted) * 1.0
        terms[f"true{value}"] = is_true * 1.0
        terms[f"predicted{value}"] = is_predicted * 1.0
        gap, bin_of = probabilities[:, value] - one_hot[:, value], bin_numbers(probabilities[:, value], bins)
        for number in range(bins):
            terms[f"gap{value}/{number}"] = np.where(bin_of == number, gap, 0.0)
    brier_values = slice(1, 2) if values == 2 else slice(None)
    terms["brier"] = ((probabilities - one_hot)[:, brier_values] ** 2).sum(axis=1)
    terms["log_loss"] = -np.log(np.clip(probabilities[np.arange(n), labels], 1e-12, 1))
    return terms


def bin_numbers(probabilities: Floats, bins: int) -> Integers:
    """The bin of each probability (n,) among ``bins`` equally wide ones; 1 falls in the last."""
    return np.minimum((probabilities * bins).astype(np.int64), bins - 1)


def _scored(values: int) -> range:
    return range(1, 2) if values == 2 else range(values)


def metric_of(name: str, sums: Sums, values: int) -> Floats:
    """A metric from sums, (draws,). With more than two values F1, precision and recall are macro averages.

    ``brier`` is the mean squared distance to the label (0-1 for two values, 0-2 for more); ``calibration_error`` is
    the expected calibration error over equally wide bins, averaged over values. A ratio with denominator 0 is 0.
    """
    if name in ("brier", "log_loss"):
        return sums[name] / sums["n"]
    by_value: Callable[[int], Floats] = {
        "f1": lambda v: _ratio(2 * sums[f"hit{v}"], sums[f"true{v}"] + sums[f"predicted{v}"]),
        "precision": lambda v: _ratio(sums[f"hit{v}"], sums[f"predicted{v}"]),
        "recall": lambda v: _ratio(sums[f"hit{v}"], sums[f"true{v}"]),
        "calibration_error": lambda v: _calibration_error(sums, v),
    }[name]
    averaged: Floats = np.mean([by_value(value) for value in _scored(values)], axis=0)
    return averaged


def _calibration_error(sums: Sums, value: int) -> Floats:
    gaps = [np.abs(gap) for key, gap in sums.items() if key.startswith(f"gap{value}/")]
    return sum(gaps, np.zeros_like(sums["n"])) / sums["n"]


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def metric_rows(
    predictions: pd.DataFrame,
    targets: Sequence[Target],
    resampling: Resampling,
    provenance: Mapping[str, str],
    unscored: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """METRICS rows of every model: the mean over seeds, with a bootstrap interval over test records.

    ``provenance`` and ``unscored`` (number of test records without a prediction) are by system.
    """
    rows: list[Row] = []
    for model in models_in(predictions, targets):
        n = len(model.labels)
        whole, drawn = model.sums(resampling.bins, np.ones((1, n)), resampling.counts(n))
        keys: Row = {
            "system": model.system,
            "condition": model.condition,
            "item": model.target.symptom,
            "n": n,
            "unscored": (unscored or {}).get(model.system, 0),
            "seed": f"training {','.join(map(str, model.seeds))}; bootstrap {resampling.seed}",
            "provenance": provenance[model.system],
        }
        for name in METRICS:
            low, high = percentile_interval(model.metric(name, drawn))
            rows.append(metric_row(name, float(model.metric(name, whole)[0]), low, high, **keys))
    return metric_table(rows, stage=STAGE)


def reliability_rows(predictions: pd.DataFrame, targets: Sequence[Target], *, bins: int) -> pd.DataFrame:
    """RELIABILITY rows: mean predicted probability and observed frequency in equally wide bins.

    The seeds of a model are pooled; empty bins are absent.
    """
    rows = []
    for model in models_in(predictions, targets):
        for value in model.target.values[1 if model.target.is_binary else 0 :]:
            label = model.target.values.index(value)
            predicted = np.concatenate([probabilities[:, label] for probabilities in model.probabilities])
            observed = np.tile(model.labels == label, len(model.seeds))
            bin_of = bin_numbers(predicted, bins)
            for number in np.unique(bin_of):
                inside = bin_of == number
                rows.append(
                    {
                        "system": model.system,
                        "condition": model.condition,
                        "symptom": model.target.symptom,
                        "value": value,
                        "bin": np.int64(number),
                        "predicted": float(predicted[inside].mean()),
                        "observed": float(observed[inside].mean()),
                        "n": np.int64(inside.sum()),
                    }
                )
    return typed(rows, RELIABILITY)
