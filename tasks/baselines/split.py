"""The random split into train and test records (8,000/2,000 in SimSUM, Section 3.2.1)."""

import numpy as np
import pandas as pd

from schemas.errors import TableError

SPLIT_STREAM = 31


def split_records(records: pd.DataFrame, *, test_share: float, seed: int) -> pd.DataFrame:
    """A SPLIT table: ``test_share`` of the records, rounded, are test records.

    Raises TableError when either part would be empty.
    """
    ids = np.sort(records["record"].to_numpy(dtype=np.int64))
    tests = round(len(ids) * test_share)
    if not 0 < tests < len(ids):
        raise TableError(f"{len(ids)} records cannot be split with test_share {test_share:g}; sample more records")
    order = np.random.default_rng([seed, SPLIT_STREAM]).permutation(len(ids))
    part = np.full(len(ids), "train", dtype=object)
    part[order[:tests]] = "test"
    return pd.DataFrame({"record": ids, "part": part.astype(str)})


def parts_of(records: pd.DataFrame, split: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train and test records, each sorted by id."""
    part = records[["record"]].merge(split, on="record", how="left", validate="one_to_one")["part"]
    if part.isna().any():
        missing = records["record"].to_numpy()[part.isna().to_numpy()][0]
        raise TableError(f"record {missing} is in no part of the split; rerun the split stage on these records")
    train, test = (
        records[(part == name).to_numpy()].sort_values("record", ignore_index=True) for name in ("train", "test")
    )
    return train, test
