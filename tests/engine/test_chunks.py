"""All tables are split into chunks by the same values, and results come back in order."""

import pandas as pd

from flows.engine.chunks import cut, join


def test_tables_are_cut_by_the_same_records() -> None:
    notes = pd.DataFrame({"record": [4, 0, 2], "note": ["e", "a", "c"]})
    spans = pd.DataFrame({"record": [2, 2, 4], "start": [1, 5, 3]})
    first, second = cut({"notes": notes, "spans": spans}, "record", 2)
    assert sorted(first["notes"]["record"]) == [0, 2]
    assert list(first["spans"]["start"]) == [1, 5]
    assert list(second["notes"]["note"]) == ["e"]


def test_no_rows_still_make_one_chunk_with_the_columns() -> None:
    (only,) = cut({"notes": pd.DataFrame({"record": pd.Series([], dtype="int64")})}, "record", 5)
    assert list(only["notes"].columns) == ["record"]


def test_an_empty_part_does_not_change_column_types() -> None:
    empty = pd.DataFrame({"record": pd.Series([], dtype="object")})
    joined = join([{"spans": empty}, {"spans": pd.DataFrame({"record": [3]})}])
    assert joined["spans"]["record"].tolist() == [3]
    assert joined["spans"]["record"].dtype == "int64"
