"""A report page of a few made-up notes and rows."""

from typing import Any

import pandas as pd

from schemas.tables.metrics import METRICS, REPRODUCTION
from tasks.reporting.page import grouped, key_figures, render_page

NOTE = "**History**\nDry cough since Monday, no chest pain.\n\n**Physical Examination**\nLungs clear."


def metric_table(*rows: dict[str, Any]) -> pd.DataFrame:
    """METRICS rows; columns missing in ``rows`` have default values."""
    plain = {"stage": "doclens", "system": "compact notes", "condition": "json_cot", "item": "all", "value": 0.5}
    plain |= {"low": 0.4, "high": 0.6, "n": 10, "unscored": 0, "seed": "7", "provenance": "judge: rules"}
    return pd.DataFrame([plain | row for row in rows])[list(METRICS.columns)]


def reproduction_rows(*rows: dict[str, Any]) -> pd.DataFrame:
    """REPRODUCTION rows of one printed table."""
    plain = {"source": "simsum", "table": "Table 5", "row": "BN-tab", "column": "cough", "published": 0.51}
    plain |= {"reproduced": 0.512, "tolerance": 0.01, "basis": "recomputed", "note": None, "verdict": "pass"}
    return pd.DataFrame([plain | row for row in rows])[list(REPRODUCTION.columns)]


def shown_note(record: int = 4, **changes: Any) -> dict[str, Any]:
    """One note in the form of notes_view: cough is marked, and two symptoms share a stretch."""
    normal: list[list[Any]] = [["**History**\n", []], ["Dry cough", [["cough", "present"]]], [" since Monday, ", []]]
    normal += [
        ["no chest pain", [["cough", ""], ["pain", "absent"]]],
        [".\n\n**Physical Examination**\nLungs clear.", []],
    ]
    note = {"record": record, "kind": "symptoms", "facts": {"cough": "yes", "pain": "no", "asthma": "no"}}
    compact = [["Cough.", [["cough", "absent"]]]]
    note |= {"prompt": "Write a note.", "descriptors": {}, "normal": normal, "compact": compact}
    return note | {"attempts": [], "mark": ""} | changes


def page_of(notes: list[dict[str, Any]], tables: dict[str, pd.DataFrame] | None = None, **changes: Any) -> str:
    """The page with these notes and metric tables."""
    tables = tables or {}
    context: dict[str, Any] = {
        "notes": notes,
        "variables": {"symptom": ["cough", "pain"], "underlying condition": ["asthma"]},
        "record_count": 1000,
        "tiles": [{"value": "1,000", "label": "records"}],
        "key_figures": key_figures(tables),
        "tables": grouped(tables, {stem: f"{stem}.csv" for stem in tables}),
        "not_shown": [],
        "simulator_roles": ["writer", "judge"],
        "fingerprints": ['{"role": "writer", "identity": {"endpoint": "simulator", "asked": "rules"}}'],
        "params": {},
    }
    return render_page(**(context | changes))
