"""Grows the trees of all folds and both kinds of row sampling side by side, on distinct rows.

Three facts make this the same as one fit after the other: the trees of a longer run hold those of a shorter one;
records with the same evidence fall into the same leaves, so that their gradients can be summed beforehand; and which
rows and columns a tree draws depends on the seed alone (`tasks.baselines.xgboost_draws`), so that dropped rows can be
left out of the sums. One booster then grows a tree for each fold and kind of sampling in one call, over some hundred to
two thousand distinct rows in place of 6,400.

XGBoost takes gradients in single precision and sums them in double. A sum over records is therefore handed over in two
parts, one row holding what single precision leaves over of the other: splits that gain the same in a single fit then
gain the same here, and the same one of them is taken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost as xgb

from tasks.baselines.xgboost_draws import column_draws, row_draws

Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Fold = tuple[Codes, Codes]
"""Row numbers of a fold's train and held-out records."""


@dataclass(frozen=True)
class TrainingSet:
    """Evidence (n, columns), label codes (n,), and what a record of each label weighs (values,) (Appendix F.2)."""

    evidence: Singles
    labels: Codes
    label_weights: Doubles

    @property
    def values(self) -> int:
        """Number of label values."""
        return len(self.label_weights)

    @property
    def outputs(self) -> int:
        """Trees a round: one for two values, else one for each value."""
        return 1 if self.values == 2 else self.values


@dataclass(frozen=True)
class TreeSettings:
    """Hyper-parameters that all models grown side by side share."""

    colsample_bytree: float
    gamma: float
    learning_rate: float
    max_depth: int
    min_child_weight: float


class Lockstep:
    """All models of one classifier's cross-validation that share their `TreeSettings`.

    A group is one (subsample, fold). ``cell_of`` gives each record's distinct row.
    """

    def __init__(
        self, data: TrainingSet, folds: Sequence[Fold], subsamples: Sequence[float], rounds: int, seed: int
    ) -> None:
        self._data, self._rounds, self._seed = data, rounds, seed
        self.groups = [(share, fold) for share in sorted(subsamples) for fold in range(len(folds))]
        self._cells, self.cell_of, self._splits = _distinct_rows(data)
        self._base = np.stack([start_margin(data, folds[fold][0]) for _, fold in self.groups], axis=1)
        self._counts = np.zeros((data.values, len(self._cells), len(self.groups)))
        drawn = sum(share < 1 for share, _ in self.groups)  # they stand first
        self._drawn_counts = np.zeros((rounds * data.outputs, *self._counts.shape[:2], drawn), np.uint16)
        for group, (share, fold) in enumerate(self.groups):
            self._count(group, folds[fold][0], share)
        self._alone = [self._matrix([output]) for output in range(data.outputs)]
        self._together = self._matrix(range(data.outputs))

    def _matrix(self, outputs: Sequence[int]) -> xgb.QuantileDMatrix:
        """Distinct rows, those to split twice, with the margin that each group of ``outputs`` starts from."""
        rows = np.concatenate([self._cells, self._cells[: self._splits]])
        base = np.repeat(self._base[outputs].reshape(1, -1), len(rows), axis=0)
        return xgb.QuantileDMatrix(rows, label=np.zeros(base.shape), base_margin=base, nthread=1)

    def _count(self, group: int, rows: Codes, share: float) -> None:
        """How many of a group's records of each label lie in each cell, for each tree if they are drawn."""
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
            chances = _chances(margins)
            for part, booster, matrix in grown:
                if settings.colsample_bytree < 1:
                    matrix.set_info(feature_weights=columns[number * outputs + part[0]])
                gradient, hessian = self._gradients(number, part, chances)
                booster.boost(matrix, number, grad=gradient, hess=hessian)
                raised = booster.predict(matrix, output_margin=True, validate_features=False)[: len(self._cells)]
                margins[part] = raised.reshape(len(raised), len(part), -1).swapaxes(0, 1)
            if number + 1 in stops:
                yield number + 1, margins

    def _grown(self, settings: TreeSettings) -> list[tuple[list[int], xgb.Booster, xgb.QuantileDMatrix]]:
        """Which outputs a booster grows: all, or, where each tree draws columns of its own, one."""
        outputs = list(range(self._data.outputs))
        if settings.colsample_bytree < 1:
            return [([o], self._booster(settings, self._alone[o]), self._alone[o]) for o in outputs]
        return [(outputs, self._booster(settings, self._together), self._together)]

    def _gradients(self, number: int, outputs: Sequence[int], chances: Singles) -> tuple[Singles, Singles]:
        """`_gradient` of each of ``outputs``, side by side."""
        pairs = [self._gradient(number * self._data.outputs + output, output, chances[output]) for output in outputs]
        first, second = zip(*pairs, strict=True)
        return pairs[0] if len(pairs) == 1 else (np.hstack(first), np.hstack(second))

    def _gradient(self, tree: int, output: int, chance: Singles) -> tuple[Singles, Singles]:
        """Sums of XGBoost's first and second derivatives over each cell's records, (rows of the matrix, groups)."""
        drawn = self._drawn_counts[tree]
        self._counts[:, :, : drawn.shape[2]] = drawn
        several = self._data.outputs > 1
        curvature = chance * (1 - chance)
        if several:
            curvature = 2 * curvature  # as XGBoost does it (src/objective/multiclass_obj.cu)
        first, second = np.zeros(chance.shape), np.zeros(chance.shape)
        for label, weight in enumerate(self._data.label_weights.astype(np.float32)):
            wanted = np.float32(label == (output if several else 1))
            first += self._counts[label] * ((chance - wanted) * weight)
            second += self._counts[label] * (curvature * weight)
        return self._in_two_parts(first), self._in_two_parts(second)

    def _in_two_parts(self, sums: Doubles) -> Singles:
        """Sums in single precision, and below them what is left over; with the same sign, as none may be negative."""
        rows, split = len(sums), self._splits
        parts = np.empty((rows + split, sums.shape[1]), np.float32)
        parts[:rows] = sums
        cut, whole = parts[:split], sums[:split]
        np.nextafter(cut, np.float32(0), out=cut, where=np.abs(cut) > np.abs(whole))
        np.subtract(whole, cut, out=parts[rows:], casting="same_kind")
        return parts

    def _booster(self, settings: TreeSettings, matrix: xgb.DMatrix) -> xgb.Booster:
        shared = {"tree_method": "hist", "nthread": 1, "seed": self._seed, "base_score": 0.0}
        own = {name: getattr(settings, name) for name in TreeSettings.__dataclass_fields__}
        return xgb.Booster({**shared, **own}, [matrix])


def _distinct_rows(data: TrainingSet) -> tuple[Singles, Codes, int]:
    """Distinct rows, each record's distinct row, and how many of them, the first ones, are to be split.

    To be split are those whose sums may need more than single precision: of more than two records, or several labels.
    """
    cells, cell_of = np.unique(data.evidence, axis=0, return_inverse=True)
    counts = np.zeros((data.values, len(cells)))
    np.add.at(counts, (data.labels, cell_of.ravel()), 1)
    split = (counts.sum(axis=0) > 2) | ((counts > 0).sum(axis=0) > 1)
    order = np.argsort(~split, kind="stable")
    return cells[order], np.argsort(order)[cell_of.ravel()], int(split.sum())


def _chances(margins: Singles) -> Singles:
    if len(margins) == 1:
        return (1 / (1 + np.exp(-margins))).astype(np.float32)
    raised = np.exp(margins - margins.max(axis=0))
    return (raised / raised.sum(axis=0)).astype(np.float32)


def balance_of(data: TrainingSet, rows: Codes) -> tuple[dict[str, float], Doubles | None]:
    """Class balance as XGBoost takes it: scale_pos_weight for two values, else a weight for each record."""
    if data.values == 2:
        return {"scale_pos_weight": float(data.label_weights[1])}, None
    return {}, data.label_weights[data.labels[rows]]


def start_margin(data: TrainingSet, rows: Codes) -> Singles:
    """The margin that XGBoost starts from on these records, (outputs,): of a model whose one tree counts nothing."""
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
