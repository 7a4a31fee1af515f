"""Verdicts of a card by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from schemas.tables.verdicts import VERDICTS, verdict_table

NAMES = {"case": "unit", "factor": "condition", "task": "metric", "place": "item", "judged": "value"}
"""Columns of VERDICTS by what a card has in them."""


def card_verdicts(rows: pd.DataFrame | Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """VERDICTS of rows with the columns `NAMES`, judge, kind, document, text and truth."""
    table = pd.DataFrame(rows).rename(columns=NAMES).assign(system="planted")
    judged = table["value"].astype(object).map({True: 1.0, False: 0.0})
    table = table.assign(item=table["item"].astype(str), value=judged, truth=table["truth"].astype(float))
    return VERDICTS.validate(verdict_table(table.to_dict("records"), judge=""))
