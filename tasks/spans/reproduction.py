"""Reproduction rows of SimSUM's Table 3 and span quality; shares in percent, as printed."""

from collections.abc import Mapping

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.reproduction.published import Cell, printed_cells

_METRICS = {
    "Avg. # spans / note": "spans_per_note",
    "Total % of spans": "share_of_spans",
    "Avg. # words / span": "words_per_span",
    "Avg. # chars / span": "chars_per_span",
    "% of spans in hist": "share_in_history",
    "% of spans in phys": "share_in_physical_examination",
    "percent_of_notes_mentioning": "share_of_notes_mentioning",
    "spans_per_note": "spans_per_note",
    "% of notes without spans": "share_of_notes_without_spans",
}
"""Our metric of each printed statistic."""
_RELATIVE, _POINTS = 0.15, 3.0
"""Tolerance for notes of another writer: 15% of the published figure or, for shares, at least 3 points."""


def statistics_rows(metrics: pd.DataFrame, table_3a: pd.DataFrame, table_3b: pd.DataFrame, basis: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of Table 3 and of Section 2.3's notes without spans, by `span_statistics` of one set."""
    ours = _values(metrics)
    cells = [
        *printed_cells("simsum", "Table 3a", table_3a),
        *printed_cells("simsum", "Table 3b", table_3b),
        *printed_cells("simsum", "Section 2.3, notes without spans"),
    ]
    rows = []
    for cell in cells:
        item = cell.labels.get("symptom") or cell.labels.get("value") or "all"
        value = ours.get((cell.figure, item, _METRICS[cell.row]))
        rows.append(cell.reproduced(value, basis, tolerance=None if basis == "recomputed" else _tolerance(cell)))
    return typed(rows, REPRODUCTION_ROWS)


def quality_rows(metrics: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """REPRODUCTION_ROWS of span quality (Section 2.3), to the printed digit; absent without the manual counts."""
    cells = printed_cells("simsum", "Section 2.3, span quality", published)
    if metrics.empty:
        return typed([cell.absent("needs the manual span evaluation") for cell in cells], REPRODUCTION_ROWS)
    ours = _values(metrics)
    return typed([cell.reproduced(ours[cell.row, "all", cell.column]) for cell in cells], REPRODUCTION_ROWS)


def _values(metrics: pd.DataFrame) -> Mapping[tuple[str, str, str], float]:
    keys = zip(metrics["condition"], metrics["item"], metrics["metric"], strict=True)
    printed_in_percent = metrics["metric"].str.startswith("share_") | metrics["metric"].isin(("precision", "recall"))
    values = metrics["value"].astype(float) * printed_in_percent.map({True: 100, False: 1})
    return dict(zip(keys, values, strict=True))


def _tolerance(cell: Cell) -> float:
    relative = _RELATIVE * abs(cell.published)
    return max(relative, _POINTS) if "%" in cell.row or cell.row.startswith("percent") else relative
