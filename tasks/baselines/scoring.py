"""Metric and reliability tables from predictions, the same for all models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.baselines.arrays import Floats, Integers
from tasks.baselines.classification_metrics import METRICS, Terms, bin_numbers, metric_of, terms_of
from tasks.baselines.targets import Target
from tasks.statistics.bootstrap import LEVEL, resamples
from tasks.statistics.metric_rows import Row, metric_row, metric_table

STAGE = "baselines"


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

    def terms(self, bins: int) -> list[Terms]:
        """Per-record terms of each seed."""
        return [terms_of(self.labels, probabilities, bins) for probabilities in self.probabilities]


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


def draw_counts(n: int, *, seed: int, draws: int) -> Floats:
    """How often each of ``n`` records is in each bootstrap resample, (draws, n)."""
    rows = resamples(n, seed=seed, draws=draws)
    counts = np.zeros((draws, n))
    np.add.at(counts, (np.arange(draws)[:, None], rows), 1)
    return counts


def seed_mean(terms: Sequence[Terms], name: str, values: int, counts: Floats) -> Floats:
    """A metric's mean over seeds for each row of ``counts``, (draws,)."""
    averaged: Floats = np.mean([metric_of(name, t.sums(counts), values) for t in terms], axis=0)
    return averaged


def metric_rows(
    predictions: pd.DataFrame,
    targets: Sequence[Target],
    *,
    seed: int,
    draws: int,
    bins: int,
    provenance: Mapping[str, str],
    unscored: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """METRICS rows of every model: the mean over seeds, with a bootstrap interval over test records.

    ``provenance`` and ``unscored`` (number of test records without a prediction) are by system.
    """
    rows: list[Row] = []
    for model in models_in(predictions, targets):
        keys = {
            "system": model.system,
            "condition": model.condition,
            "item": model.target.symptom,
            "n": len(model.labels),
            "unscored": (unscored or {}).get(model.system, 0),
            "seed": f"training {','.join(map(str, model.seeds))}; bootstrap {seed}",
            "provenance": provenance[model.system],
        }
        rows += [{**row, **keys} for row in _estimates(model, seed, draws, bins)]
    return metric_table(rows, stage=STAGE)


def _estimates(model: Scored, seed: int, draws: int, bins: int) -> list[Row]:
    n, values, terms = len(model.labels), len(model.target.values), model.terms(bins)
    whole, drawn = np.ones((1, n)), draw_counts(n, seed=seed, draws=draws)
    sums_whole, sums_drawn = [t.sums(whole) for t in terms], [t.sums(drawn) for t in terms]
    rows = []
    for name in METRICS:
        value = float(np.mean([metric_of(name, sums, values) for sums in sums_whole]))
        spread = np.mean([metric_of(name, sums, values) for sums in sums_drawn], axis=0)
        low, high = np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        rows.append(metric_row(name, value, low, high, n=n))
    return rows


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
    return pd.DataFrame(rows)
