"""What is predicted and from what: symptoms, their labels, the split, features of tables, rows of prediction tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import TableError
from schemas.tables.baselines import PREDICTIONS
from schemas.tables.columns import typed
from tasks.network.graph import NetworkDefinition

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

Fold = tuple[Integers, Integers]
"""Row numbers of the train records that a fold keeps and holds out."""

SPLIT_STREAM = 31


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


@dataclass(frozen=True)
class Parts:
    """The network's definition, train records and test records, each sorted by id."""

    definition: NetworkDefinition
    train: pd.DataFrame
    test: pd.DataFrame

    @property
    def targets(self) -> list[Target]:
        """The symptoms to predict."""
        return targets_of(self.definition)

    def only(self, records: set[int]) -> "Parts":
        """The parts without records that are not among ``records``."""
        kept = [part[part["record"].isin(records)].reset_index(drop=True) for part in (self.train, self.test)]
        return Parts(self.definition, *kept)


def split_records(records: pd.DataFrame, *, test_share: float, seed: int) -> pd.DataFrame:
    """A SPLIT table: ``test_share`` of the records, rounded, are test records (0.2 in SimSUM, Section 3.2.1).

    Of two records or more, each part has one at least; a single record is a train record.
    """
    ids = np.sort(records["record"].to_numpy(dtype=np.int64))
    tests = min(max(1, round(len(ids) * test_share)), len(ids) - 1)
    order = np.random.default_rng([seed, SPLIT_STREAM]).permutation(len(ids))
    part = np.full(len(ids), "train", dtype=object)
    part[order[:tests]] = "test"
    return pd.DataFrame({"record": ids, "part": part.astype(str)})


def parts_of(definition: NetworkDefinition, records: pd.DataFrame, split: pd.DataFrame) -> Parts:
    """The records divided by a SPLIT table. Raises TableError for a record that it lacks."""
    part = records[["record"]].merge(split, on="record", how="left", validate="one_to_one")["part"]
    if part.isna().any():
        missing = records["record"].to_numpy()[part.isna().to_numpy()][0]
        raise TableError(f"record {missing} is in no part of the split; rerun the split stage on these records")
    by_name = [records[(part == name).to_numpy()] for name in ("train", "test")]
    return Parts(definition, *(frame.sort_values("record", ignore_index=True) for frame in by_name))


def lacking(parts: Parts, *, records: int = 1, values: int = 0, each: int = 0) -> dict[str, str]:
    """Why a predictor cannot be fitted, by symptom; symptoms that it can be fitted to are left out.

    It needs a test record, ``records`` train records, and among these ``values`` different values of the symptom and
    ``each`` records of every value.
    """
    train, found = len(parts.train), {}
    for target in parts.targets:
        counts = np.bincount(labels_of(parts.train, target), minlength=len(target.values))
        rarest = int(counts.argmin())
        if train < records or parts.test.empty:
            found[target.symptom] = f"{train} train records and {len(parts.test)} test records; needs {records} and 1"
        elif (counts > 0).sum() < values:
            only = target.values[counts.argmax()]
            found[target.symptom] = f"{only} in all {train} train records; needs {values} values"
        elif counts[rarest] < each:
            value = target.values[rarest]
            found[target.symptom] = f"{value} in {counts[rarest]} of {train} train records; needs {each} of each value"
    return found


def fitted_targets(parts: Parts, lacking: Mapping[str, str]) -> list[Target]:
    """The symptoms that a predictor is fitted to."""
    return [target for target in parts.targets if target.symptom not in lacking]


def prediction_table(rows: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """A PREDICTIONS table, empty where no predictor could be fitted."""
    return pd.concat(rows, ignore_index=True) if rows else typed([], PREDICTIONS)


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


def ordinal_features(records: pd.DataFrame, columns: Sequence[str], definition: NetworkDefinition) -> Singles:
    """One column per variable, (n, columns): the index of its value (none 0, low 1, high 2), or the count."""
    indices = [_indices(records, name, definition) for name in columns]
    return np.stack(indices, axis=1).astype(np.float32) if indices else np.zeros((len(records), 0), np.float32)


def tabular_features(columns: Sequence[str], parts: Parts) -> list[Singles]:
    """Features of Appendix F.4 of the train and the test records, (n, width) each.

    Variables of two values are 0 and 1, those of more one-hot; counts are standardised by the train records.
    """
    blocks: list[list[Singles]] = [[np.zeros((len(part), 0), np.float32)] for part in (parts.train, parts.test)]
    for name in columns:
        train, test = (_indices(part, name, parts.definition) for part in (parts.train, parts.test))
        values = len(parts.definition.values(name))
        mean, deviation = (0.0, 1.0) if values else (float(train.mean()), float(train.std()) or 1.0)
        for found, indices in zip(blocks, (train, test), strict=True):
            one_hot = np.eye(values, dtype=np.float32)[indices.astype(np.int64)] if values > 2 else None
            found.append(((indices - mean) / deviation).astype(np.float32)[:, None] if one_hot is None else one_hot)
    return [np.concatenate(found, axis=1) for found in blocks]


def _indices(records: pd.DataFrame, name: str, definition: NetworkDefinition) -> Floats:
    values = definition.values(name)
    if not values:
        return records[name].to_numpy(dtype=float)
    return pd.Index(values).get_indexer(pd.Index(records[name])).astype(float)
