"""Tabular evidence as numbers: indices for trees; 0 and 1, one-hot and standardised columns for networks."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tasks.baselines.targets import Floats, Singles
from tasks.network.graph import NetworkDefinition


def ordinal_features(records: pd.DataFrame, columns: Sequence[str], definition: NetworkDefinition) -> Singles:
    """One column per variable, (n, columns): the index of its value (none 0, low 1, high 2), or the count."""
    indices = [_indices(records, name, definition) for name in columns]
    return np.stack(indices, axis=1).astype(np.float32) if indices else np.zeros((len(records), 0), np.float32)


class TabularFeatures:
    """The features of Appendix F.4: variables of two values as 0 and 1, of more one-hot, counts standardised.

    ``fit`` takes mean and standard deviation of counts from the train records (StandardScaler). ``owner`` names the
    variable of each column that ``transform`` returns.
    """

    def __init__(self, columns: Sequence[str], definition: NetworkDefinition) -> None:
        self._columns, self._definition = list(columns), definition
        self._scales: dict[str, tuple[float, float]] = {}
        self.owner = [name for name in columns for _ in range(self._width(name))]

    def _width(self, name: str) -> int:
        values = self._definition.values(name)
        return len(values) if len(values) > 2 else 1

    def fit(self, train: pd.DataFrame) -> "TabularFeatures":
        """Learn the scales of counts; returns itself."""
        for name in self._columns:
            if not self._definition.values(name):
                counts = train[name].to_numpy(dtype=float)
                self._scales[name] = (float(counts.mean()), float(counts.std()) or 1.0)
        return self

    def transform(self, records: pd.DataFrame) -> Singles:
        """Features of ``records``, (n, width)."""
        blocks = [self._block(records, name) for name in self._columns]
        return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(records), 0), np.float32)

    def _block(self, records: pd.DataFrame, name: str) -> Singles:
        indices = _indices(records, name, self._definition)
        if name in self._scales:
            mean, deviation = self._scales[name]
            return ((indices - mean) / deviation).astype(np.float32)[:, None]
        if self._width(name) > 1:
            return np.eye(self._width(name), dtype=np.float32)[indices.astype(np.int64)]
        return indices.astype(np.float32)[:, None]


def _indices(records: pd.DataFrame, name: str, definition: NetworkDefinition) -> Floats:
    values = definition.values(name)
    if not values:
        return records[name].to_numpy(dtype=float)
    return pd.Index(values).get_indexer(pd.Index(records[name])).astype(float)
