"""Reproduction rows of SimSUM's Table 3 and span quality; shares in percent, as printed."""

from collections.abc import Mapping

import pandas as pd

from schemas.tables.columns import NOTE_VERSIONS, typed
from schemas.tables.metrics import REPRODUCTION_ROWS

_TABLE_3A = {
    "Avg. # spans / note": "spans_per_note",
    "Total % of spans": "share_of_spans",
    "Avg. # words / span": "words_per_span",
    "Avg. # chars / span": "chars_per_span",
    "% of spans in hist": "share_in_history",
    "% of spans in phys": "share_in_physical_examination",
}
_TABLE_3B = {"percent_of_notes_mentioning": "share_of_notes_mentioning", "spans_per_note": "spans_per_note"}
_WITHOUT_SPANS = {"normal": 16.3, "compact": 16.4}  # Section 2.3, percent of the notes
_RELATIVE, _POINTS = 0.15, 3.0
"""Tolerance for notes of another writer: 15% of the published figure or, for shares, at least 3 points."""


def statistics_rows(metrics: pd.DataFrame, table_3a: pd.DataFrame, table_3b: pd.DataFrame, basis: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of Table 3 and of Section 2.3's notes without spans, by `span_statistics` of one set."""
    ours = _values(metrics)
    rows = []
    for cell in table_3a.to_dict("records"):
        misprint = "printed 92.5 + 8.5 = 101" if cell["symptom"] == "cough" and "hist" in cell["statistic"] else None
        for version in NOTE_VERSIONS:
            key = (version, cell["symptom"], _TABLE_3A[cell["statistic"]])
            note = misprint if version == "normal" else None
            labels = ("Table 3a", cell["statistic"], f"{cell['symptom']}, {version}")
            rows.append(_row(*labels, cell[version], ours.get(key), basis, note))
    for cell in table_3b.to_dict("records"):
        for version in NOTE_VERSIONS:
            key = (version, cell["value"], _TABLE_3B[cell["statistic"]])
            labels = ("Table 3b", cell["statistic"], f"{cell['value']}, {version}")
            rows.append(_row(*labels, cell[version], ours.get(key), basis))
    for version, share in _WITHOUT_SPANS.items():
        key = (version, "all", "share_of_notes_without_spans")
        labels = ("Section 2.3, notes without spans", "% of notes without spans", version)
        rows.append(_row(*labels, share, ours.get(key), basis))
    return typed(rows, REPRODUCTION_ROWS)


def quality_rows(metrics: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """REPRODUCTION_ROWS of span quality (Section 2.3), to the printed digit; absent without the manual counts."""
    ours = {} if metrics.empty else _values(metrics)
    rows = []
    for line in published.to_dict("records"):
        for metric in ("precision", "recall"):
            labels = ("Section 2.3, span quality", str(line["note"]), metric)
            value = ours.get((line["note"], "all", metric))
            row = _row(*labels, line[f"{metric}_percent"], value, "exact")
            absent = {"basis": "absent", "tolerance": float("nan"), "note": "needs the manual span evaluation"}
            rows.append(row | ({"tolerance": 0.005} if ours else absent))
    return typed(rows, REPRODUCTION_ROWS)


def _values(metrics: pd.DataFrame) -> Mapping[tuple[str, str, str], float]:
    keys = zip(metrics["condition"], metrics["item"], metrics["metric"], strict=True)
    printed_in_percent = metrics["metric"].str.startswith("share_") | metrics["metric"].isin(("precision", "recall"))
    values = metrics["value"].astype(float) * printed_in_percent.map({True: 100, False: 1})
    return dict(zip(keys, values, strict=True))


def _row(
    table: str, row: str, column: str, published: float, reproduced: float | None, basis: str, note: str | None = None
) -> dict[str, object]:
    return {
        "source": "simsum",
        "table": table,
        "row": row,
        "column": column,
        "published": float(published),
        "reproduced": float("nan") if reproduced is None else reproduced,
        "tolerance": _tolerance(row, float(published), basis),
        "basis": basis,
        "note": note,
    }


def _is_share(row: str) -> bool:
    return "%" in row or row.startswith("percent")


def _tolerance(row: str, published: float, basis: str) -> float:
    if basis == "exact":
        return 0.05 if _is_share(row) else 0.005  # half a unit of the last printed digit
    relative = _RELATIVE * abs(published)
    return max(relative, _POINTS) if _is_share(row) else relative
