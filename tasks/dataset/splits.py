"""Train, validation and test records of the dataset. A record's notes, prompt and spans are always in one split."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from schemas.errors import TableError
from tasks.domains.rules import variables_of

SPLITS = ("train", "validation", "test")
VALIDATION_STREAM = 47


def strata_columns(domain: str) -> list[str]:
    """Columns that validation represents in their proportions: kind of prompt, diagnoses, symptoms."""
    return ["kind", *variables_of(domain, "diagnosis"), *variables_of(domain, "symptom")]


def split_dataset(
    split: pd.DataFrame, strata: pd.DataFrame, *, validation_share: float, seed: int
) -> dict[str, list[int]]:
    """Sorted record ids of each split; a split without records is left out.

    ``split`` is the SPLIT table of the symptom predictors: its test records are the test split, so that published
    results hold for the published split. ``strata`` (record, and the columns of `strata_columns`) lists the records of
    the dataset; ``validation_share`` of them, rounded, are a stratified sample of the others, of which one at least is
    left to train on. Raises TableError for a record of ``strata`` that ``split`` lacks.
    """
    part = strata[["record"]].merge(split, on="record", how="left", validate="one_to_one")["part"]
    if part.isna().any():
        record = strata["record"].to_numpy()[part.isna().to_numpy()][0]
        raise TableError(f"record {record} is in no part of the split; rerun the split stage on these records")
    rest = strata[(part == "train").to_numpy()]
    size = min(round(len(strata) * validation_share), max(len(rest) - 1, 0))
    columns = [name for name in strata.columns if name != "record"]
    chosen = _systematic_sample(rest, columns, size, np.random.default_rng([seed, VALIDATION_STREAM]))
    train = sorted(set(rest["record"].tolist()) - set(chosen))
    test = sorted(strata["record"][(part == "test").to_numpy()].tolist())
    return {name: members for name, members in zip(SPLITS, (train, chosen, test), strict=True) if members}


def _systematic_sample(
    frame: pd.DataFrame, columns: Sequence[str], size: int, generator: np.random.Generator
) -> list[int]:
    """``size`` records at equal steps through the rows sorted by ``columns``, ties in random order.

    Systematic sampling of a sorted list is proportional in each stratum to within one record (Cochran 1977, Chapter 8).
    """
    shuffled = frame.sort_values("record").iloc[generator.permutation(len(frame))]
    ordered = shuffled.sort_values(list(columns), kind="stable")["record"].to_numpy()
    places = np.floor((np.arange(size) + generator.uniform()) * len(ordered) / max(size, 1)).astype(int)
    return sorted(ordered[places].tolist())
