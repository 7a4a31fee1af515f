"""Columns shared by several tables, each defined once. Stage schemas are composed of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

NOTE_VERSIONS = ("normal", "compact")
SECTIONS = ("history", "physical_examination", "other")


def text(*, nullable: bool = False, **more: Any) -> pa.Column:
    """A string column; ``more`` goes to pandera, such as the ``description`` that the reference shows."""
    return pa.Column(str, nullable=nullable, **more)


def category(*values: str, nullable: bool = False, **more: Any) -> pa.Column:
    """A string column that takes only ``values``."""
    return pa.Column(str, pa.Check.isin(values), nullable=nullable, **more)


def number(*, nullable: bool = False, low: float | None = None, high: float | None = None, **more: Any) -> pa.Column:
    """A float column within ``[low, high]``."""
    checks = [check(bound) for check, bound in ((pa.Check.ge, low), (pa.Check.le, high)) if bound is not None]
    return pa.Column(float, checks, nullable=nullable, **more)


def count(**more: Any) -> pa.Column:
    """A column of integers from 0 up."""
    return pa.Column("int64", pa.Check.ge(0), **more)


def flag(**more: Any) -> pa.Column:
    """A boolean column."""
    return pa.Column(bool, **more)


def table(
    columns: dict[str, pa.Column], *, key: list[str] | None = None, description: str | None = None
) -> pa.DataFrameSchema:
    """A strict schema: no other columns, no coercion, rows unique in ``key``."""
    return pa.DataFrameSchema(columns, strict=True, coerce=False, ordered=True, unique=key, description=description)


def typed(rows: Sequence[Mapping[str, Any]] | pd.DataFrame, schema: pa.DataFrameSchema) -> pd.DataFrame:
    """Rows as a table with the schema's columns, in order and typed, even without rows."""
    types = {name: str(column.dtype) for name, column in schema.columns.items()}
    frame = rows[list(types)] if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows), columns=list(types))
    return frame.astype({name: "str" if kind.startswith("string") else kind for name, kind in types.items()})


RECORD = count(description="Record id, 0-based and unique among the records of a lineage.")
SYMPTOM = text(description="A symptom's name as the network definition spells it.")
NOTE_VERSION = category(*NOTE_VERSIONS)
SECTION = category(*SECTIONS)
PROVENANCE = text(description="What made the text or number: the model asked, or the simulator's rules.")
ATTEMPT = count(description="0 for the first note of a record; 1, 2, ... for regenerated ones.")
PATIENT = count(description="Number of a simulated patient with several visits, 0-based.")
VISIT = pa.Column("int64", pa.Check.in_range(1, 99), description="Number of the patient's visit, from 1 to 99.")
VISIT_RECORD = count(description="Id of a visit: patient * 100 + visit.")
DAY = count(description="Days since the patient's first visit.")
