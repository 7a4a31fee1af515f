"""What is predicted: the symptoms, their values, and labels as codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Definition(Protocol):
    """What the baselines need to know of a network definition."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in order."""
        ...

    def values(self, name: str) -> tuple[str, ...]:
        """The values of a variable in order; empty for a count."""
        ...

    def of_type(self, *types: str) -> tuple[str, ...]:
        """The variables of these types."""
        ...

    def type_of(self, name: str) -> str:
        """The type of a variable."""
        ...

    def is_recorded(self, name: str) -> bool:
        """Whether a realistic record would hold a variable."""
        ...


@dataclass(frozen=True)
class Target:
    """A symptom to predict; ``values`` in the network's order, the reference ("no", "none") first."""

    symptom: str
    values: tuple[str, ...]

    @property
    def is_binary(self) -> bool:
        """Whether F1 is that of the second value; with more values it is the mean over all (macro F1)."""
        return len(self.values) == 2


def targets_of(definition: Definition) -> list[Target]:
    """The symptoms of a network."""
    return [Target(name, definition.values(name)) for name in definition.of_type("symptom")]


def codes_of(records: pd.DataFrame, target: Target) -> Codes:
    """Labels as places in ``target.values``, (n,)."""
    return pd.Index(target.values).get_indexer(pd.Index(records[target.symptom])).astype(np.int64)


def decide(probabilities: Floats) -> Codes:
    """The predicted value of each row of (n, values): above 0.5 for two values, the most probable of more (3.2.1)."""
    if probabilities.shape[1] == 2:
        return (probabilities[:, 1] > 0.5).astype(np.int64)
    return probabilities.argmax(axis=1).astype(np.int64)


def prediction_rows(
    records: pd.DataFrame, probabilities: Floats, target: Target, *, system: str, condition: str, seed: int
) -> pd.DataFrame:
    """PREDICTIONS rows of one model: for two values only that of the second, for more values one row each."""
    labels, predicted = codes_of(records, target), decide(probabilities)
    shown: Sequence[int] = [1] if target.is_binary else range(len(target.values))
    names = np.array(target.values, dtype=object)
    columns = {
        "record": records["record"].to_numpy(dtype=np.int64),
        "system": system,
        "condition": condition,
        "symptom": target.symptom,
        "seed": np.int64(seed),
        "label": names[labels],
        "predicted": names[predicted],
    }
    parts = [
        pd.DataFrame({**columns, "value": target.values[code], "probability": np.clip(probabilities[:, code], 0, 1)})
        for code in shown
    ]
    return pd.concat(parts, ignore_index=True)
