"""Grows the trees of all folds and subsample ratios of one classifier's grid search together, on distinct rows.

This is equivalent to separate fits for three reasons: a longer run begins with the trees of a shorter one; records with
the same evidence fall into the same leaves, so their gradients can be summed beforehand; and the rows and columns that
a tree samples depend only on the seed and on their number, so they are the same for every combination of
hyper-parameters and dropped rows can be left out of the sums.
One booster then grows a tree for each fold and subsample ratio in one call, over a hundred to two thousand distinct
rows instead of 6,400.

XGBoost takes gradients in single precision and sums them in double. A sum over records is therefore passed in two rows,
the second holding the rounding error of the first: splits with equal gain in a single fit then have equal gain here,
and the same split is chosen.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost as xgb

from tasks.baselines.targets import Flags, Floats, Fold, Integers, Singles

_MULTIPLIER, _MODULUS = 16807, 1 << 63  # of XGBoost's row sampler (src/common/random.h, RandomReplace)


@lru_cache(maxsize=4)
def _powers(rows: int) -> npt.NDArray[np.uint64]:
    powers, power = np.empty(rows, dtype=np.uint64), 1
    for row in range(rows):
        power = power * _MULTIPLIER % _MODULUS
        powers[row] = power
    return powers


def row_draws(rows: int, trees: int, share: float, seed: int) -> Flags:
    """The rows that each tree keeps with ``subsample=share``, (trees, rows).

    Each tree takes one number of a Mersenne twister seeded with ``seed`` (the first number goes to the column sampler)
    to seed a congruential generator, which draws one number per row (libstdc++'s bernoulli_distribution, doubles).
    """
    if share >= 1:
        return np.ones((trees, rows), dtype=bool)
    starts = np.random.RandomState(seed).randint(0, 2**32, size=trees + 1, dtype=np.uint32)[1:].astype(np.uint64)
    kept = np.empty((trees, rows), dtype=bool)
    threshold = float(np.float32(share))
    for tree, start in enumerate(starts):
        drawn = (_powers(rows) * start) & np.uint64(_MODULUS - 1)
        kept[tree] = (drawn.astype(np.float64) - 1) / float(_MODULUS - 1) < threshold
    return kept


@lru_cache(maxsize=64)
def column_draws(columns: int, trees: int, share: float, seed: int) -> Flags:
    """The columns that each tree may split on with ``colsample_bytree=share``, (trees, columns).

    Measured on XGBoost itself: on two rows that differ in column j only, a tree splits if and only if it drew column j.
    """
    if share >= 1:
        return np.ones((trees, columns), dtype=bool)
    return np.stack([_trees_that_split(columns, column, trees, share, seed) for column in range(columns)], axis=1)


def _trees_that_split(columns: int, column: int, trees: int, share: float, seed: int) -> Flags:
    rows = np.zeros((2, columns), dtype=np.float32)
    rows[1, column] = 1
    data = xgb.DMatrix(rows, label=np.zeros((2, 1)), nthread=1)
    settings = {"max_depth": 1, "colsample_bytree": share, "seed": seed, "nthread": 1, "tree_method": "hist"}
    booster = xgb.Booster({**settings, "min_child_weight": 0, "base_score": 0.0}, [data])
    gradient, hessian = np.array([1, -1], dtype=np.float32), np.ones(2, dtype=np.float32)
    for tree in range(trees):
        booster.boost(data, tree, grad=gradient, hess=hessian)
    grown = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]["trees"]
    return np.array([len(tree["left_children"]) > 1 for tree in grown])


@dataclass(frozen=True)
class TrainingSet:
    """Evidence (n, columns), labels (n,), and the weight of a record by label (values,) (Appendix F.2)."""

    evidence: Singles
    labels: Integers
    label_weights: Floats

    @property
    def values(self) -> int:
        """Number of label values."""
        return len(self.label_weights)

    @property
    def outputs(self) -> int:
        """Trees per round: one for two values, otherwise one for each value."""
        return 1 if self.values == 2 else self.values


@dataclass(frozen=True)
class TreeSettings:
    """Hyper-parameters shared by all models that are grown together."""

    colsample_bytree: float
    gamma: float
    learning_rate: float
    max_depth: int
    min_child_weight: int


class Lockstep:
    """All models of one classifier's cross-validation with the same `TreeSettings`.

    A group is one (subsample, fold). ``cell_of`` is each record's distinct row.
    """

    def __init__(
        self, data: TrainingSet, folds: Sequence[Fold], subsamples: Sequence[float], rounds: int, seed: int
    ) -> None:
        self._data, self._rounds, self._seed = data, rounds, seed
        self.groups = [(share, fold) for share in sorted(subsamples) for fold in range(len(folds))]
        self._cells, self.cell_of, self._splits = _distinct_rows(data)
        self._base = np.stack([initial_margin(data, folds[fold][0]) for _, fold in self.groups], axis=1)
        self._counts = np.zeros((data.values, len(self._cells), len(self.groups)))
        drawn = sum(share < 1 for share, _ in self.groups)  # these groups come first
        self._drawn_counts = np.zeros((rounds * data.outputs, *self._counts.shape[:2], drawn), np.uint16)
        for group, (share, fold) in enumerate(self.groups):
            self._count(group, folds[fold][0], share)
        self._separate = [self._matrix([output]) for output in range(data.outputs)]
        self._joint = self._matrix(range(data.outputs))

    def _matrix(self, outputs: Sequence[int]) -> xgb.QuantileDMatrix:
        """Distinct rows, the split ones twice, with the initial margin of each group of ``outputs``."""
        rows = np.concatenate([self._cells, self._cells[: self._splits]])
        base = np.repeat(self._base[outputs].reshape(1, -1), len(rows), axis=0)
        return xgb.QuantileDMatrix(rows, label=np.zeros(base.shape), base_margin=base, nthread=1)

    def _count(self, group: int, rows: Integers, share: float) -> None:
        """Count a group's records by label and cell, per tree where rows are sampled."""
        place = self._data.labels[rows] * len(self._cells) + self.cell_of[rows]
        size = self._data.values * len(self._cells)
        shape = self._counts.shape[:2]
        if share >= 1:
            self._counts[:, :, group] = np.bincount(place, minlength=size).reshape(shape)
            return
        for tree, kept in enumerate(row_draws(len(rows), len(self._drawn_counts), share, self._seed)):
            self._drawn_counts[tree, :, :, group] = np.bincount(place[kept], minlength=size).reshape(shape)

    def run(self, settings: TreeSettings, stops: Sequence[int]) -> Iterator[tuple[int, Singles]]:
        """Yield (rounds, margins) at each of ``stops``; margins have shape (outputs, distinct rows, groups)."""
        outputs = self._data.outputs
        grown = self._grown(settings)
        columns = column_draws(
            self._cells.shape[1], self._rounds * outputs, settings.colsample_bytree, self._seed
        ).astype(np.float32)
        margins = np.repeat(self._base[:, None, :], len(self._cells), axis=1)
        for number in range(max(stops)):
            probabilities = _probabilities(margins)
            for part, booster, matrix in grown:
                if settings.colsample_bytree < 1:
                    matrix.set_info(feature_weights=columns[number * outputs + part[0]])
                gradient, hessian = self._gradients(number, part, probabilities)
                booster.boost(matrix, number, grad=gradient, hess=hessian)
                raised = booster.predict(matrix, output_margin=True, validate_features=False)[: len(self._cells)]
                margins[part] = raised.reshape(len(raised), len(part), -1).swapaxes(0, 1)
            if number + 1 in stops:
                yield number + 1, margins

    def _grown(self, settings: TreeSettings) -> list[tuple[list[int], xgb.Booster, xgb.QuantileDMatrix]]:
        """The outputs of each booster: all, or one where columns are sampled for each tree."""
        outputs = list(range(self._data.outputs))
        if settings.colsample_bytree < 1:
            return [([o], self._booster(settings, self._separate[o]), self._separate[o]) for o in outputs]
        return [(outputs, self._booster(settings, self._joint), self._joint)]

    def _gradients(self, number: int, outputs: Sequence[int], probabilities: Singles) -> tuple[Singles, Singles]:
        """`_gradient` of each of ``outputs``, concatenated."""
        pairs = [
            self._gradient(number * self._data.outputs + output, output, probabilities[output]) for output in outputs
        ]
        first, second = zip(*pairs, strict=True)
        return pairs[0] if len(pairs) == 1 else (np.hstack(first), np.hstack(second))

    def _gradient(self, tree: int, output: int, probability: Singles) -> tuple[Singles, Singles]:
        """Sums of XGBoost's first and second derivatives over each cell's records, (rows of the matrix, groups)."""
        drawn = self._drawn_counts[tree]
        self._counts[:, :, : drawn.shape[2]] = drawn
        several = self._data.outputs > 1
        curvature = probability * (1 - probability)
        if several:
            curvature = 2 * curvature  # as in XGBoost (src/objective/multiclass_obj.cu)
        first, second = np.zeros(probability.shape), np.zeros(probability.shape)
        for label, weight in enumerate(self._data.label_weights.astype(np.float32)):
            target = np.float32(label == (output if several else 1))
            first += self._counts[label] * ((probability - target) * weight)
            second += self._counts[label] * (curvature * weight)
        return self._in_two_parts(first), self._in_two_parts(second)

    def _in_two_parts(self, sums: Floats) -> Singles:
        """Sums rounded to single precision, then their remainders, of the same sign: a hessian is never negative."""
        rows, split = len(sums), self._splits
        parts = np.empty((rows + split, sums.shape[1]), np.float32)
        parts[:rows] = sums
        cut, whole = parts[:split], sums[:split]
        np.nextafter(cut, np.float32(0), out=cut, where=np.abs(cut) > np.abs(whole))
        np.subtract(whole, cut, out=parts[rows:], casting="same_kind")
        return parts

    def _booster(self, settings: TreeSettings, matrix: xgb.DMatrix) -> xgb.Booster:
        shared = {"tree_method": "hist", "nthread": 1, "seed": self._seed, "base_score": 0.0}
        return xgb.Booster({**shared, **asdict(settings)}, [matrix])


def _distinct_rows(data: TrainingSet) -> tuple[Singles, Integers, int]:
    """Distinct rows, each record's distinct row, and the number of distinct rows to split, which come first.

    A row is split where its sums may need more than single precision: more than two records, or several labels.
    """
    cells, cell_of = np.unique(data.evidence, axis=0, return_inverse=True)
    counts = np.zeros((data.values, len(cells)))
    np.add.at(counts, (data.labels, cell_of.ravel()), 1)
    split = (counts.sum(axis=0) > 2) | ((counts > 0).sum(axis=0) > 1)
    order = np.argsort(~split, kind="stable")
    return cells[order], np.argsort(order)[cell_of.ravel()], int(split.sum())


def _probabilities(margins: Singles) -> Singles:
    if len(margins) == 1:
        return (1 / (1 + np.exp(-margins))).astype(np.float32)
    raised = np.exp(margins - margins.max(axis=0))
    return (raised / raised.sum(axis=0)).astype(np.float32)


def balance_of(data: TrainingSet, rows: Integers) -> tuple[dict[str, float], Floats | None]:
    """Class balance as XGBoost arguments: scale_pos_weight for two values, otherwise a weight for each record."""
    if data.values == 2:
        return {"scale_pos_weight": float(data.label_weights[1])}, None
    return {}, data.label_weights[data.labels[rows]]


def initial_margin(data: TrainingSet, rows: Integers) -> Singles:
    """XGBoost's initial margin on these records, (outputs,): that of a model whose only tree has learning rate 0."""
    balance, weights = balance_of(data, rows)
    matrix = xgb.QuantileDMatrix(data.evidence[rows], label=data.labels[rows], weight=weights, nthread=1)
    settings: dict[str, Any] = {"learning_rate": 0, "max_depth": 1, "nthread": 1, **balance}
    if data.values == 2:
        settings["objective"] = "binary:logistic"
    else:
        settings |= {"objective": "multi:softprob", "num_class": data.values}
    booster = xgb.train(settings, matrix, 1)
    margin: Singles = booster.predict(xgb.DMatrix(data.evidence[:1], nthread=1), output_margin=True)
    return margin.reshape(-1)
