"""Agreement of several judges, takes or people on the same units (VERDICTS)."""

from collections.abc import Sequence

import pandas as pd

from tasks.statistics.metric_rows import Row
from tasks.statistics.paired_verdicts import Board, agreement_rows

UNIT = ["document", "system", "condition", "item", "metric", "unit"]
"""What identifies a unit, whoever judges it."""


def agreement(verdicts: pd.DataFrame, judges: Sequence[str], together: str | None = None) -> list[Row]:
    """`agreement_rows` of every two judges in yes-or-no VERDICTS, by metric or ``together``, clustered by document."""
    named = verdicts["metric"] if together is None else pd.Series(together, index=verdicts.index)
    parts = verdicts.groupby(named, sort=True)
    return agreement_rows([_board(str(item), rows, judges) for item, rows in parts])


def _board(item: str, verdicts: pd.DataFrame, judges: Sequence[str]) -> Board:
    votes = verdicts.pivot(index=UNIT, columns="judge", values="value").astype("boolean").reindex(columns=list(judges))
    truth = verdicts.drop_duplicates(UNIT).set_index(UNIT)["truth"].reindex(votes.index)
    documents = pd.Series(votes.index.get_level_values("document"), index=votes.index)
    return Board(item, votes, documents, None if truth.isna().any() else truth)
