"""Columns shared by several tables, each defined once. Stage schemas are composed of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

SYMPTOM_VALUES = ("no", "yes")
NOTE_VERSIONS = ("normal", "compact")
SECTIONS = ("history", "physical_examination", "other")


def text(*, nullable: bool = False, **checks: Any) -> pa.Column:
    """A string column."""
    return pa.Column(str, nullable=nullable, **checks)


def category(*values: str, nullable: bool = False) -> pa.Column:
    """A string column that takes only ``values``."""
    return pa.Column(str, pa.Check.isin(values), nullable=nullable)


def number(*, nullable: bool = False, low: float | None = None, high: float | None = None) -> pa.Column:
    """A float column within ``[low, high]``."""
    checks = []
    if low is not None:
        checks.append(pa.Check.ge(low))
    if high is not None:
        checks.append(pa.Check.le(high))
    return pa.Column(float, checks, nullable=nullable)


def count(*, nullable: bool = False) -> pa.Column:
    """A column of integers from 0 up."""
    return pa.Column("int64", pa.Check.ge(0), nullable=nullable)


def flag() -> pa.Column:
    """A boolean column."""
    return pa.Column(bool)


def table(columns: dict[str, pa.Column], *, key: list[str] | None = None, name: str) -> pa.DataFrameSchema:
    """A strict schema: no other columns, no coercion, rows unique in ``key``."""
    return pa.DataFrameSchema(columns, strict=True, coerce=False, ordered=True, unique=key, name=name)


def typed(rows: Sequence[Mapping[str, Any]] | pd.DataFrame, schema: pa.DataFrameSchema) -> pd.DataFrame:
    """Rows as a table with the schema's columns, in order and typed, even without rows."""
    types = {name: str(column.dtype) for name, column in schema.columns.items()}
    frame = rows[list(types)] if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows), columns=list(types))
    return frame.astype({name: "str" if kind.startswith("string") else kind for name, kind in types.items()})


RECORD = count()
"""Record id, 0-based and unique among the records of a lineage."""
SYMPTOM = text()
"""A symptom's name as the network definition spells it."""
NOTE_VERSION = category(*NOTE_VERSIONS)
SECTION = category(*SECTIONS)
PROVENANCE = text()
"""What made the text or number: the model asked, or the embedded rules."""
ATTEMPT = count()
"""0 for the first note of a record; 1, 2, ... for regenerated ones."""
