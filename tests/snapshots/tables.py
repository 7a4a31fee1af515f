"""Tables as snapshots: three significant digits in CSV, and what differs from them, by table, row and column."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

DIGITS = 3
NOTHING = 1e-6
"""Numbers that are smaller are zero."""
SHOWN = 8
"""Differences of a table that are listed; the others are counted."""


def as_text(column: pd.Series, digits: int = DIGITS) -> pd.Series:
    """Cells as a snapshot holds them: counts and words whole, other numbers with that many significant digits."""
    if pd.api.types.is_float_dtype(column):
        texts = column.map(partial(_digits, digits=digits), na_action="ignore").astype(object)
        return texts.where(column.notna(), "")
    return column.astype(object).where(column.notna(), "").map(str)


def _digits(value: float, digits: int) -> str:
    if not np.isfinite(value):
        return str(value)
    rounded = 0.0 if abs(value) < NOTHING else float(value)
    return np.format_float_positional(rounded, digits, unique=False, fractional=False, trim="-")


LONG, LISTED = 500, 150
"""Rows of a table that is not kept whole, and about how many of its rows are."""


def shortened(table: pd.DataFrame) -> pd.DataFrame:
    """A table as it is kept: of a long one, every n-th row, and the sums of all its rows.

    They are by condition, metric and, of at most five, system. A row that is missing or has another sign, value or
    denominator changes a sum. Numbers are added as they are kept.
    """
    if len(table) <= LONG or "condition" not in table:
        return table
    numbers = table.select_dtypes("number")
    kept = numbers.apply(as_text).apply(pd.to_numeric).astype(numbers.dtypes)
    by = ["condition", "metric", *(["system"] if "system" in table and table["system"].nunique() <= 5 else [])]
    groups = kept.groupby([table[name] for name in by])
    sums = groups.sum().reset_index()
    sums["item"] = [f"sum of {size} rows" for size in groups.size()]
    return pd.concat([table.iloc[:: len(table) // LISTED], sums]).reindex(columns=table.columns)


def written(table: pd.DataFrame) -> str:
    """The snapshot of a table."""
    return shortened(table).apply(as_text).to_csv(index=False, lineterminator="\n")


def differences(name: str, snapshot: str, table: pd.DataFrame) -> list[str]:
    """A line for each cell of a table that differs from its snapshot, and for each row that only one of them has.

    A number may differ by one in its third digit: half of that is the rounding of the snapshot.
    """
    expected = pd.read_csv(StringIO(snapshot), dtype=str, keep_default_na=False)
    if list(expected) != list(table):
        return [f"{name}: columns {', '.join(table)}; expected {', '.join(expected)}"]
    names = _names(expected)
    table = shortened(table)
    rows, kept = _rows(table.apply(as_text, digits=6), names), _rows(expected, names)
    lines = [f"{name}, row {row}: missing" for row in kept if row not in rows]
    lines += [f"{name}, row {row}: not expected" for row in rows if row not in kept]
    exact = [not pd.api.types.is_float_dtype(table[column]) for column in table]
    for row in (row for row in kept if row in rows):
        lines += [
            f"{name}, row {row}, column {column}: {found}, expected {before}"
            for column, whole, found, before in zip(table, exact, rows[row], kept[row], strict=True)
            if found != before and (whole or not _close(found, before))
        ]
    return lines


def _names(table: pd.DataFrame) -> list[str]:
    """The first columns that tell rows apart, none of which is of numbers; none if there are no such columns."""
    words = [column for column in table if pd.to_numeric(table[column], errors="coerce").isna().all()]
    for count in range(1, len(words) + 1):
        if list(table)[:count] == words[:count] and not table.duplicated(words[:count]).any():
            return words[:count]
    return []


def _rows(table: pd.DataFrame, names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Cells of each row by its name: its words, with a number from the second time on, or its number."""
    found: dict[str, tuple[str, ...]] = {}
    times = Counter[str]()
    for number, cells in enumerate(table.itertuples(index=False, name=None), 1):
        name = " / ".join(cells[: len(names)]) or str(number)
        times[name] += 1
        found[name if times[name] == 1 else f"{name} ({times[name]})"] = cells
    return found


def _close(found: str, expected: str) -> bool:
    try:
        difference, size = abs(float(found) - float(expected)), abs(float(expected))
    except ValueError:
        return False
    unit = 10.0 ** (np.floor(np.log10(size)) - DIGITS + 1) if size else NOTHING
    return bool(difference <= 1.001 * unit)


def changed(folder: Path, tables: Mapping[str, pd.DataFrame]) -> dict[str, list[str]]:
    """What differs from the snapshots in a folder, by the names of the tables that differ."""
    kept = {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.csv"))}
    found = {name: differences(name, kept[name], tables[name]) for name in kept if name in tables}
    found |= {name: [f"{name}: no stage writes it"] for name in kept if name not in tables}
    found |= {name: [f"{name}: has no snapshot"] for name in tables if name not in kept}
    return {name: lines for name, lines in found.items() if lines}


OF_TEXTS = ("recorded_claims",)
"""CSV files that hold texts, not numbers."""


def metric_tables(files: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """The tables and figures of reports, by name."""
    found = {file.stem: pd.read_csv(file) for file in files if file.suffix == ".csv" and file.stem not in OF_TEXTS}
    for file in (file for file in files if file.suffix == ".json" and file.parts[0] == "reports"):
        figures = pd.json_normalize(json.loads(file.read_text(encoding="utf-8"))).iloc[0]
        found[file.stem] = pd.DataFrame({"figure": figures.index, "value": figures.astype(float).to_numpy()})
    return found


def summary(files: Sequence[Path]) -> pd.DataFrame:
    """What the tables between stages hold: for each column its rows, gaps, distinct values, and their mean.

    The mean of texts is that of their lengths.
    """
    rows = []
    for file in sorted(file for file in files if file.suffix == ".parquet" or file.stem in OF_TEXTS):
        table = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)
        for name, column in table.items():
            values = column.dropna()
            numbers = values if pd.api.types.is_numeric_dtype(column) else values.map(lambda value: len(str(value)))
            found = {"rows": len(column), "missing": len(column) - len(values), "distinct": column.map(str).nunique()}
            rows.append({"table": file.stem, "column": name} | found | {"mean": numbers.astype(float).mean()})
    return pd.DataFrame(rows)
