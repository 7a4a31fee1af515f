"""Tabular evidence as numbers."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.baselines.targets import Definition

Matrix = npt.NDArray[np.float32]


def code_matrix(records: pd.DataFrame, columns: Sequence[str], definition: Definition) -> Matrix:
    """One column a variable, (n, columns): the place of its value (fever: none 0, low 1, high 2), or the count."""
    coded = [_codes(records, name, definition) for name in columns]
    return np.stack(coded, axis=1).astype(np.float32) if coded else np.zeros((len(records), 0), np.float32)


class TabularFeatures:
    """The numerical representation of Appendix F.4: two values as 0 and 1, more one-hot, counts standardised.

    ``fit`` takes mean and standard deviation of counts from the train records (StandardScaler). ``owner`` names the
    variable of each column of ``transform``'s result.
    """

    def __init__(self, columns: Sequence[str], definition: Definition) -> None:
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

    def transform(self, records: pd.DataFrame) -> Matrix:
        """Features of ``records``, float32 (n, width)."""
        blocks = [self._block(records, name) for name in self._columns]
        return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(records), 0), np.float32)

    def _block(self, records: pd.DataFrame, name: str) -> Matrix:
        codes = _codes(records, name, self._definition)
        if name in self._scales:
            mean, deviation = self._scales[name]
            return ((codes - mean) / deviation).astype(np.float32)[:, None]
        if self._width(name) > 1:
            return np.eye(self._width(name), dtype=np.float32)[codes.astype(np.int64)]
        return codes.astype(np.float32)[:, None]


def _codes(records: pd.DataFrame, name: str, definition: Definition) -> npt.NDArray[np.float64]:
    values = definition.values(name)
    if not values:
        return records[name].to_numpy(dtype=float)
    return pd.Index(values).get_indexer(pd.Index(records[name])).astype(float)
