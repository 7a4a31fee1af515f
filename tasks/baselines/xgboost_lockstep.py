"""Grows the trees of all folds and both kinds of row sampling side by side, on distinct rows with weights.

Three facts make this the same as one fit after the other, up to rounding of the gradients (about 1e-6 in the margins):
the trees of a longer run hold those of a shorter one; records with the same evidence fall into the same leaves, so that
their gradients can be summed beforehand; and which rows and columns a tree draws depends on the seed alone
(`tasks.baselines.xgboost_draws`), so that dropped rows can be left out of the sums. One booster then grows a tree for
each fold and kind of sampling in one call, over some hundred to two thousand distinct rows in place of 6,400.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost as xgb

from tasks.baselines.xgboost_draws import column_draws, row_draws

Singles = npt.NDArray[np.float32]
Fold = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Row numbers of a fold's train and held-out records."""


@dataclass(frozen=True)
class TrainingSet:
    """Evidence (n, columns), label codes (n,), the number of label values; how classes are balanced (Appendix F.2).

    ``positive_weight`` is XGBoost's scale_pos_weight, for two values; ``weights`` (n,) are for more values.
    """

    evidence: Singles
    labels: npt.NDArray[np.int64]
    values: int
    positive_weight: float
    weights: npt.NDArray[np.float64] | None

    @property
    def outputs(self) -> int:
        """Trees a round: one for two values, else one for each value."""
        return 1 if self.values == 2 else self.values

    def weights_of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """What each of these records weighs in the gradient, however it came about."""
        if self.weights is not None:
            return self.weights[rows]
        return np.where(self.labels[rows] == 1, self.positive_weight, 1.0)


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
        cells, cell_of = np.unique(data.evidence, axis=0, return_inverse=True)
        self.cell_of = cell_of.ravel()
        self._cells = cells
        self._matrix = xgb.QuantileDMatrix(cells, label=np.zeros((len(cells), len(self.groups))), nthread=1)
        trees = rounds * data.outputs
        self._weight = np.empty((trees, len(cells), len(self.groups)), dtype=np.float32)
        self._positive = np.empty_like(self._weight)
        self._base = np.empty((data.outputs, len(self.groups)), dtype=np.float32)
        for group, (share, fold) in enumerate(self.groups):
            self._sum_weights(group, folds[fold][0], share)
            self._base[:, group] = start_margin(data, folds[fold][0])

    def _sum_weights(self, group: int, rows: npt.NDArray[np.int64], share: float) -> None:
        data, cells = self._data, len(self._cells)
        cell, label, weight = self.cell_of[rows], data.labels[rows], data.weights_of(rows)
        if share >= 1:
            self._weight[:, :, group] = np.bincount(cell, weights=weight, minlength=cells)
            for output in range(data.outputs):
                positive = np.bincount(cell, weights=weight * self._is_positive(label, output), minlength=cells)
                self._positive[output :: data.outputs, :, group] = positive
            return
        for tree, kept in enumerate(row_draws(len(rows), len(self._weight), share, self._seed)):
            at, drawn = cell[kept], weight[kept]
            mine = self._is_positive(label[kept], tree % data.outputs)
            self._weight[tree, :, group] = np.bincount(at, weights=drawn, minlength=cells)
            self._positive[tree, :, group] = np.bincount(at[mine], weights=drawn[mine], minlength=cells)

    def _is_positive(self, labels: npt.NDArray[np.int64], output: int) -> npt.NDArray[np.bool_]:
        return labels == (1 if self._data.values == 2 else output)

    def run(self, settings: TreeSettings, stops: Sequence[int]) -> Iterator[tuple[int, Singles]]:
        """Yield (rounds, margins) at each of ``stops``; margins have shape (outputs, distinct rows, groups)."""
        outputs = self._data.outputs
        boosters = [self._booster(settings) for _ in range(outputs)]
        columns = column_draws(
            self._cells.shape[1], self._rounds * outputs, settings.colsample_bytree, self._seed
        ).astype(np.float32)
        margins = np.repeat(self._base[:, None, :], len(self._cells), axis=1)
        for number in range(max(stops)):
            chances = _chances(margins)
            for output, booster in enumerate(boosters):
                tree = number * outputs + output
                if settings.colsample_bytree < 1:
                    self._matrix.set_info(feature_weights=columns[tree])
                gradient, hessian = self._gradients(tree, chances[output])
                booster.boost(self._matrix, number, grad=gradient, hess=hessian)
                margins[output] = self._base[output] + booster.predict(self._matrix, output_margin=True)
            if number + 1 in stops:
                yield number + 1, margins

    def _gradients(self, tree: int, chance: Singles) -> tuple[Singles, Singles]:
        weight = self._weight[tree]
        # XGBoost doubles the softmax's second derivative (src/objective/multiclass_obj.cu).
        curvature = chance * (1 - chance) * (1 if self._data.outputs == 1 else 2)
        return weight * chance - self._positive[tree], weight * curvature

    def _booster(self, settings: TreeSettings) -> xgb.Booster:
        shared = {"tree_method": "hist", "nthread": 1, "seed": self._seed, "base_score": 0.0}
        own = {name: getattr(settings, name) for name in TreeSettings.__dataclass_fields__}
        return xgb.Booster({**shared, **own}, [self._matrix])


def _chances(margins: Singles) -> Singles:
    if len(margins) == 1:
        return (1 / (1 + np.exp(-margins))).astype(np.float32)
    raised = np.exp(margins - margins.max(axis=0))
    return (raised / raised.sum(axis=0)).astype(np.float32)


def start_margin(data: TrainingSet, rows: npt.NDArray[np.int64]) -> Singles:
    """The margin that XGBoost starts from on these records, (outputs,): of a model whose one tree counts nothing."""
    weights = None if data.weights is None else data.weights[rows]
    matrix = xgb.QuantileDMatrix(data.evidence[rows], label=data.labels[rows], weight=weights, nthread=1)
    settings: dict[str, Any] = {"learning_rate": 0, "max_depth": 1, "nthread": 1, **objective_of(data)}
    booster = xgb.train(settings, matrix, 1)
    margin: Singles = booster.predict(xgb.DMatrix(data.evidence[:1], nthread=1), output_margin=True)
    return margin.reshape(-1)


def objective_of(data: TrainingSet) -> dict[str, Any]:
    """Objective and class balance as XGBoost's parameters."""
    if data.values == 2:
        return {"objective": "binary:logistic", "scale_pos_weight": data.positive_weight}
    return {"objective": "multi:softprob", "num_class": data.values}
