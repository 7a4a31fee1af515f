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
        self.groups = [(share, fold) for share in subsamples for fold in range(len(folds))]
        self._cells, cell_of = np.unique(data.evidence, axis=0, return_inverse=True)
        self.cell_of: Codes = cell_of.ravel()
        self._base = np.stack([start_margin(data, folds[fold][0]) for _, fold in self.groups], axis=1)
        self._counts = np.zeros((data.values, len(self._cells), len(self.groups)))
        self._drawn = [group for group, (share, _) in enumerate(self.groups) if share < 1]
        self._drawn_counts = np.zeros((rounds * data.outputs, *self._counts.shape[:2], len(self._drawn)), np.uint16)
        for group, (share, fold) in enumerate(self.groups):
            self._count(group, folds[fold][0], share)
        self._split = self._cells_to_split()
        self._matrices = [self._matrix(output) for output in range(data.outputs)]

    def _matrix(self, output: int) -> xgb.QuantileDMatrix:
        """Distinct rows, those to split twice, with the margin that each group starts from."""
        rows = np.concatenate([self._cells, self._cells[self._split]])
        base = np.repeat(self._base[output][None], len(rows), axis=0)
        return xgb.QuantileDMatrix(rows, label=np.zeros(base.shape), base_margin=base, nthread=1)

    def _count(self, group: int, rows: Codes, share: float) -> None:
        """How many of a group's records of each label lie in each cell, for each tree if they are drawn."""
        place = self._data.labels[rows] * len(self._cells) + self.cell_of[rows]
        size = self._data.values * len(self._cells)
        shape = self._counts.shape[:2]
        if share >= 1:
            self._counts[:, :, group] = np.bincount(place, minlength=size).reshape(shape)
            return
        column = self._drawn.index(group)
        for tree, kept in enumerate(row_draws(len(rows), len(self._drawn_counts), share, self._seed)):
            self._drawn_counts[tree, :, :, column] = np.bincount(place[kept], minlength=size).reshape(shape)

    def _cells_to_split(self) -> Codes:
        """Cells whose sums may need more than single precision: more than two records, or of several labels."""
        counts = np.zeros((self._data.values, len(self._cells)))
        np.add.at(counts, (self._data.labels, self.cell_of), 1)
        return np.flatnonzero((counts.sum(axis=0) > 2) | ((counts > 0).sum(axis=0) > 1))

    def run(self, settings: TreeSettings, stops: Sequence[int]) -> Iterator[tuple[int, Singles]]:
        """Yield (rounds, margins) at each of ``stops``; margins have shape (outputs, distinct rows, groups)."""
        outputs = self._data.outputs
        boosters = [self._booster(settings, matrix) for matrix in self._matrices]
        columns = column_draws(
            self._cells.shape[1], self._rounds * outputs, settings.colsample_bytree, self._seed
        ).astype(np.float32)
        margins = np.repeat(self._base[:, None, :], len(self._cells), axis=1)
        for number in range(max(stops)):
            chances = _chances(margins)
            for output, (booster, matrix) in enumerate(zip(boosters, self._matrices, strict=True)):
                tree = number * outputs + output
                if settings.colsample_bytree < 1:
                    matrix.set_info(feature_weights=columns[tree])
                gradient, hessian = self._gradients(tree, output, chances[output])
                booster.boost(matrix, number, grad=gradient, hess=hessian)
                margins[output] = booster.predict(matrix, output_margin=True)[: len(self._cells)]
            if number + 1 in stops:
                yield number + 1, margins

    def _gradients(self, tree: int, output: int, chance: Singles) -> tuple[Singles, Singles]:
        """Sums of XGBoost's first and second derivatives over each cell's records, (rows of the matrix, groups)."""
        self._counts[:, :, self._drawn] = self._drawn_counts[tree]
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
        large = sums.astype(np.float32)
        cut = large[self._split]
        whole = sums[self._split]
        cut = np.where(np.abs(cut) > np.abs(whole), np.nextafter(cut, np.float32(0)), cut)
        large[self._split] = cut
        return np.concatenate([large, (whole - cut).astype(np.float32)])

    def _booster(self, settings: TreeSettings, matrix: xgb.DMatrix) -> xgb.Booster:
        shared = {"tree_method": "hist", "nthread": 1, "seed": self._seed, "base_score": 0.0}
        own = {name: getattr(settings, name) for name in TreeSettings.__dataclass_fields__}
        return xgb.Booster({**shared, **own}, [matrix])


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
