"""Rows of the unscored table: what could not be written or checked, and why."""

from collections.abc import Iterable

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED


def unscored_row(record: int | str, step: str, reason: str, detail: str | None = None) -> dict[str, str | None]:
    """One row; ``detail`` is the raw reply, when there was one."""
    return {"record": str(record), "step": step, "reason": reason, "detail": detail}


def unscored_table(rows: Iterable[dict[str, str | None]]) -> pd.DataFrame:
    """The rows as a table, with the right types when there are none."""
    return typed(list(rows), UNSCORED)
