"""The table in which somebody judged units of texts: claims, statements, citations, facts, answers."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from schemas.tables.columns import number, table, text, typed

Judgement = bool | None
"""Yes, no, or failed."""
LOST = "lost"
"""Unit of a text or section that is missing, or not all of whose units are known: what these are cannot be judged."""
PERSON = "person"
"""Kind of verdicts of people where a model is labelled by them."""

VERDICTS = table(
    {
        "document": text(description="record id, or the id of an outside document"),
        "system": text(description="whose text was judged"),
        "condition": text(description="how it was judged: evaluator, evidence, variant; as in METRICS"),
        "item": text(description='section, or "all" for texts judged as a whole'),
        "metric": text(description="what was asked of the unit"),
        "unit": text(
            description='number or name of the unit in its text; "lost" if the text or others of it are missing'
        ),
        "text": text(description='claim, statement, fact, ...; "" where it is not known which there are'),
        "value": number(nullable=True, description="a share, unless the metric has other bounds; null: failed"),
        "verdict": text(nullable=True, description="the judge's word, where it says more than the value"),
        "weight": number(nullable=True, low=0, description="what the unit counts; null: unknown"),
        "truth": number(nullable=True, low=0, high=1, description="the right value, of cases that have one"),
        "kind": text(nullable=True, description="of case, where there are several"),
        "judge": text(description="the model that judged, or the judge's name"),
        "reason": text(nullable=True, description="the judge's explanation, if it gave one"),
    },
    key=["document", "system", "condition", "item", "metric", "unit", "judge"],
    description="One judgement of one unit a row; every figure of a measure is computed from these.",
)
_DEFAULTS: Mapping[str, Any] = dict.fromkeys(("verdict", "truth", "kind", "reason")) | {"weight": 1.0}


def verdict_table(rows: Iterable[Mapping[str, Any]], *, judge: str) -> pd.DataFrame:
    """Rows as VERDICTS of one judge. By default a unit counts 1, and has neither truth, kind, reason nor a word."""
    return typed([{**_DEFAULTS, "judge": judge, **row} for row in rows], VERDICTS)


def in_order(verdicts: pd.DataFrame) -> pd.DataFrame:
    """VERDICTS by text and metric, and numbered units by number: 2 before 10."""
    columns = list(VERDICTS.unique or [])
    return verdicts.sort_values(columns, ignore_index=True, kind="stable", key=by_number)


def by_number(column: pd.Series) -> pd.Series:
    """Numbered units of a column so that they sort by number; other columns as they are."""
    if column.name != "unit" or column.empty:
        return column
    return column.mask(column.str.isdigit(), column.str.rjust(int(column.str.len().max()), "0"))
