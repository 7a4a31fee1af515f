"""A difference from a snapshot is named by table, row and column; the last digits of a number are none."""

import numpy as np
import pandas as pd

from tests.snapshots.tables import differences, summary, written

TABLE = pd.DataFrame({"item": ["a", "b"], "value": [0.123456, 1234.5], "low": [np.nan, 0.0], "n": [10, 2000]})
KEPT = "item,value,low,n\na,0.123,,10\nb,1230,0,2000\n"


def changed(row: int, **cells: float) -> list[str]:
    table = TABLE.copy()
    for column, value in cells.items():
        table.loc[row, column] = value
    return differences("t", KEPT, table)


def test_a_snapshot_has_three_digits_and_whole_counts() -> None:
    assert written(TABLE) == KEPT and differences("t", KEPT, TABLE) == []
    assert changed(0, value=0.1238) == changed(1, value=1239.0) == changed(1, low=1e-9) == []


def test_differences_name_table_row_and_column() -> None:
    assert changed(0, value=0.1242) == ["t, row a, column value: 0.1242, expected 0.123"]
    assert changed(0, value=-0.123) == ["t, row a, column value: -0.123, expected 0.123"]
    assert changed(0, value=np.nan) == ["t, row a, column value: , expected 0.123"]
    assert changed(0, low=0.0) == ["t, row a, column low: 0, expected "]
    assert changed(1, n=2001) == ["t, row b, column n: 2001, expected 2000"]
    assert differences("t", KEPT, TABLE.iloc[:1]) == ["t, row b: missing"]
    assert differences("t", KEPT, TABLE.iloc[[0, 1, 1]]) == ["t, row b (2): not expected"]
    assert differences("t", KEPT, TABLE.drop(columns="n")) == [
        "t: columns item, value, low; expected item, value, low, n"
    ]


def test_of_a_long_table_some_rows_are_kept_and_sums_notice_every_other() -> None:
    rows = 600
    about = {"condition": np.repeat(["c", "d"], rows // 2), "item": [f"i{n}" for n in range(rows)], "metric": "m"}
    long = pd.DataFrame({**about, "value": np.linspace(0.1, 0.9, rows), "n": 5})
    snapshot = written(long)
    lines = snapshot.splitlines()
    assert len(lines) == 1 + 150 + 2 and lines[-2:] == ["c,sum of 300 rows,m,89.9,1500", "d,sum of 300 rows,m,210,1500"]
    assert differences("t", snapshot, long) == []
    for column, cell in (("value", -0.9), ("n", 4)):
        assert (
            len(differences("t", snapshot, long.assign(**{column: long[column].where(long.index != 598, cell)}))) == 1
        )
    assert differences("t", snapshot, long.drop(index=1))


def test_tables_between_stages_are_summed_up(tmp_path) -> None:
    pd.DataFrame({"text": ["a", "bcd", None], "right": [True, False, True]}).to_parquet(tmp_path / "t.parquet")
    assert written(summary([tmp_path / "t.parquet"])) == (
        "table,column,rows,missing,distinct,mean\nt,text,3,1,3,2\nt,right,3,0,2,0.667\n"
    )
