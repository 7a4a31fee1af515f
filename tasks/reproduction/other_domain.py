"""Printed tables about the domain of their source: absent in a run on another domain."""

from collections.abc import Sequence

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS

SIMSUM = "SimSUM"
"""``source`` of the network that SimSUM's printed tables are about."""


def other_domain_rows(tables: Sequence[str], domain: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of basis ``absent`` for SimSUM's ``tables`` in a run on ``domain``."""
    nan = float("nan")
    note = f"{SIMSUM}'s tables are about another domain than {domain}"
    rows = [
        {"source": "simsum", "table": table, "row": "all", "column": "all", "published": nan, "reproduced": nan,
         "tolerance": nan, "basis": "absent", "note": note}
        for table in tables
    ]  # fmt: skip
    return typed(rows, REPRODUCTION_ROWS)
