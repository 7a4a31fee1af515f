"""The rows and columns that XGBoost samples for each tree, so that many models can be grown together with its samples.

The samples depend on the seed and on the number of rows or columns, not on the data: they are the same for every
combination of hyper-parameters.
"""

import json
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import xgboost as xgb

from tasks.baselines.arrays import Flags

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
