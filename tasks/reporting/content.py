"""Gathers metric and reproduction tables into what the page shows."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tasks.reporting.figures import agreement, draw_all, svg
from tasks.reporting.page import captions
from tasks.reporting.tables_view import metric_view, reproduction_view

GROUPS = {
    "data": ("sample", "network", "export", "split"),
    "text": ("prompt", "write", "filter", "compact", "span"),
    "model": ("embed", "baseline"),
    "evaluation": ("doclens", "med_omit", "note_qa", "review", "calibrate", "overlap", "planted", "embedded"),
}


def stage_groups(stages: Mapping[str, Any]) -> dict[str, str]:
    """The colour group of each stage in the drawing of the graph."""
    return {
        name: next((group for group, heads in GROUPS.items() if name.startswith(heads)), "other") for name in stages
    }


def metric_section(stem: str, file: str, table: pd.DataFrame) -> dict[str, Any]:
    """One metric table with title, caption and figures."""
    caption = captions().get(stem, {})
    return {
        "stem": stem,
        "file": file,
        "title": caption.get("title", stem.replace("_", " ").capitalize()),
        "caption": caption.get("caption", ""),
        "stages": sorted(table["stage"].unique()),
        "provenance": "; ".join(sorted(table["provenance"].unique())),
        "view": metric_view(table),
        "figures": draw_all(stem, table),
    }


def reproduction_section(identifier: str, title: str, caption: str, rows: pd.DataFrame) -> dict[str, Any]:
    """One judged reproduction table, its counts and its figure."""
    figure = agreement(rows)
    return {
        "id": identifier,
        "title": title,
        "caption": caption,
        "counts": rows["verdict"].value_counts().to_dict(),
        "views": reproduction_view(rows),
        "figure": svg(figure) if figure else "",
    }


def tiles(
    records: pd.DataFrame, notes: pd.DataFrame, spans: pd.DataFrame, reproduction: pd.DataFrame
) -> list[dict[str, str]]:
    """The counts at the head of the page."""
    verdicts = reproduction["verdict"].value_counts()
    return [
        {"value": f"{len(records):,}", "label": "simulated records"},
        {"value": f"{len(notes):,}", "label": "notes kept"},
        {"value": f"{int((notes['attempt'] > 0).sum()):,}", "label": "of them rewritten"},
        {"value": f"{int((~notes['consistent']).sum()):,}", "label": "still inconsistent"},
        {"value": f"{len(spans):,}", "label": "symptom spans"},
        {"value": f"{verdicts.get('pass', 0):,}", "label": "published figures met"},
        {"value": f"{verdicts.get('fail', 0):,}", "label": "published figures missed"},
    ]
