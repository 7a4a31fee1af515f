"""The dataset's splits: test records of the predictors, a stratified validation sample, nothing in two splits."""

import numpy as np
import pytest

from schemas.errors import TableError
from tasks.baselines.targets import split_records
from tasks.dataset.export import split_dataset, strata_columns
from tests.support.records import random_records

RECORDS = random_records(600, seed=5)
STRATIFIED = RECORDS.assign(kind=np.where(RECORDS["record"] % 3 == 0, "unrelated", "symptoms"))[
    ["record", *strata_columns("respiratory")]
]
SPLIT = split_records(RECORDS, test_share=0.2, seed=7)
SPLITS = split_dataset(SPLIT, STRATIFIED, validation_share=0.1, seed=7)


def test_every_record_is_in_one_split_and_test_is_that_of_the_predictors() -> None:
    assert sorted(record for members in SPLITS.values() for record in members) == list(range(600))
    assert SPLITS["test"] == SPLIT["record"][SPLIT["part"] == "test"].tolist()
    assert {name: len(members) for name, members in SPLITS.items()} == {"train": 420, "validation": 60, "test": 120}


def test_validation_has_its_share_of_each_kind_and_nearly_of_each_value() -> None:
    rest = STRATIFIED[~STRATIFIED["record"].isin(SPLITS["test"])]
    chosen = rest[rest["record"].isin(SPLITS["validation"])]
    for column in strata_columns("respiratory"):
        expected = rest[column].value_counts() * len(chosen) / len(rest)
        found = chosen[column].value_counts().reindex(expected.index, fill_value=0)
        assert (found - expected).abs().max() <= (1 if column == "kind" else 6)


def test_a_record_without_note_leaves_its_split_and_moves_no_other_test_record() -> None:
    left = STRATIFIED[STRATIFIED["record"] != SPLITS["test"][0]]
    assert split_dataset(SPLIT, left, validation_share=0.1, seed=7)["test"] == SPLITS["test"][1:]


def test_a_record_of_another_split_table_is_named() -> None:
    with pytest.raises(TableError, match="record 599 is in no part"):
        split_dataset(SPLIT[SPLIT["record"] < 599], STRATIFIED, validation_share=0.1, seed=7)


@pytest.mark.parametrize(
    ("tests", "others", "share", "sizes"),
    [
        (1, 2, 0.1, {"train": 2, "test": 1}),
        (0, 1, 0.9, {"train": 1}),
        (1, 4, 0.9, {"train": 1, "validation": 3, "test": 1}),
    ],
)
def test_few_records_have_the_splits_that_they_can_fill(
    tests: int, others: int, share: float, sizes: dict[str, int]
) -> None:
    few = STRATIFIED[STRATIFIED["record"].isin(SPLITS["test"][:tests] + SPLITS["train"][:others])]
    found = split_dataset(SPLIT, few, validation_share=share, seed=7)
    assert {name: len(members) for name, members in found.items()} == sizes
