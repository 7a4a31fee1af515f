"""Arranges the papers' conclusions for the report: by paper, with the difference that decides each."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tasks.reproduction.conclusions import FAILS, HOLDS, counts_line, shown, tested, undecided

_MARKS = {HOLDS: ("pass", "✓"), FAILS: ("fail", "✗")}


def conclusions_view(table: pd.DataFrame, titles: Mapping[str, str]) -> dict[str, Any]:
    """CONCLUSIONS by paper in the order of ``titles`` (name by source), and what nothing here decides."""
    papers = []
    for source, title in titles.items():
        rows = [_row(row) for row in table[table["source"] == source].to_dict("records")]
        absent = [one for one in undecided() if one["source"] == source]
        papers.append({"title": title, "rows": rows, "absent": absent})
    return {"papers": papers, "counts": counts_line(table)}


def _row(row: Mapping[Any, Any]) -> dict[str, Any]:
    css, mark = _MARKS.get(row["verdict"], ("", "○"))
    null = "" if pd.isna(row["null_pass"]) else f"{row['null_pass']:.3f}"
    named = {name: row[name] for name in ("conclusion", "verdict", "basis", "interval")}
    counted = f"{row['n']:,}" if row["n"] else ""
    return named | {"test": tested(row), "shown": shown(row), "n": counted, "null": null, "css": css, "mark": mark}
