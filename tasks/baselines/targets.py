"""The prediction targets: symptoms, their values, and integer labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.baselines.arrays import Floats, Integers
from tasks.network.graph import NetworkDefinition


@dataclass(frozen=True)
class Target:
    """A symptom to predict; ``values`` in the network's order, the reference ("no", "none") first."""

    symptom: str
    values: tuple[str, ...]

    @property
    def is_binary(self) -> bool:
        """Whether F1 is that of the second value; with more values it is the mean over all (macro F1)."""
        return len(self.values) == 2


def targets_of(definition: NetworkDefinition) -> list[Target]:
    """The symptoms of a network."""
    return [Target(name, definition.values(name)) for name in definition.of_type("symptom")]


def labels_of(records: pd.DataFrame, target: Target) -> Integers:
    """Labels as indices into ``target.values``, (n,)."""
    return pd.Index(target.values).get_indexer(pd.Index(records[target.symptom])).astype(np.int64)


def decide(probabilities: Floats) -> Integers:
    """The predicted value of each row of (n, values): above 0.5 for two values, the most probable of more (3.2.1)."""
    if probabilities.shape[1] == 2:
        return (probabilities[:, 1] > 0.5).astype(np.int64)
    return probabilities.argmax(axis=1).astype(np.int64)


def prediction_rows(
    records: pd.DataFrame, probabilities: Floats, target: Target, *, system: str, condition: str, seed: int
) -> pd.DataFrame:
    """PREDICTIONS rows of one model: of two values only the second is listed, of more values each."""
    labels, predicted = labels_of(records, target), decide(probabilities)
    listed: Sequence[int] = [1] if target.is_binary else range(len(target.values))
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
        pd.DataFrame({**columns, "value": target.values[value], "probability": np.clip(probabilities[:, value], 0, 1)})
        for value in listed
    ]
    return pd.concat(parts, ignore_index=True)
