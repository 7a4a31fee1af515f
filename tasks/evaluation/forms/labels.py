"""Returned forms as human labels of a judge's verdicts (HUMAN_LABELS), as CSV files of labels are.

A verdict says that something holds: the summary contains the fact, the note follows the instruction, the marked choice
is right, the note mentions the symptom. Several readers of an item are joined by majority; a tie counts against it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.labels import HUMAN_LABELS

Item = tuple[str, bool, bool | None, str]
"""Item, verdict, label (None without one) and cluster."""


def label_table(items: Iterable[Item], provenance: str) -> pd.DataFrame:
    """Items as a HUMAN_LABELS table; ``provenance`` names the model that gave the verdicts."""
    frame = pd.DataFrame(list(items), columns=["item", "judged", "label", "cluster"])
    return typed(frame.assign(provenance=provenance), HUMAN_LABELS)


def majority(given: pd.DataFrame, keys: Sequence[str]) -> dict[Any, bool]:
    """Whether more than half of an item's readers say that it ``holds``, by the item's ``keys`` (two or more)."""
    if given.empty:
        return {}
    shares = given.groupby(list(keys))["holds"].mean()
    return {key: bool(share > 0.5) for key, share in shares.items()}
