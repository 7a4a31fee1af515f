"""Builds the sections of the report page from metric and reproduction tables."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import pandas as pd
import yaml

from tasks.reporting.figures import agreement, draw_all, svg
from tasks.reporting.numbers import number, percent
from tasks.reporting.reproduction_view import by_basis, reproduction_view
from tasks.reporting.tables_view import metric_view

GROUPS = {
    "data": ("sample", "network", "export", "split"),
    "text": ("prompt", "write", "filter", "compact", "span"),
    "model": ("embed", "baseline"),
    "evaluation": (
        "doclens",
        "med_omit",
        "note_qa",
        "ehrnoteqa",
        "review",
        "calibrate",
        "human_labels",
        "overlap",
        "planted",
    ),
}
OTHER_TABLES = "Other tables"


@lru_cache
def _template(name: str) -> Any:
    return yaml.safe_load(files("tasks.reporting").joinpath("templates", name).read_text(encoding="utf-8"))


def captions() -> dict[str, dict[str, Any]]:
    """The entries of captions.yaml by file stem, in page order: group, title, caption; some have metrics or percent."""
    loaded: dict[str, dict[str, Any]] = _template("captions.yaml")
    return loaded


def meanings(stem: str) -> dict[str, str]:
    """Description of each metric of a table, by metric."""
    common: dict[str, str] = _template("columns.yaml")["metrics"]
    return common | captions().get(stem, {}).get("metrics", {})


def percent_metrics(stem: str) -> set[str]:
    """Metrics of a table that are stored in 0-1 and shown as percent."""
    return {*_template("columns.yaml")["percent"], *captions().get(stem, {}).get("percent", ())}


def stage_groups(stages: Mapping[str, Any]) -> dict[str, str]:
    """Colour group of each stage in the stage graph."""
    special = {"embedded_quality": "evaluation"}  # evaluates the simulator; the prefix embed is for embeddings
    return {
        name: special.get(name) or next((group for group, heads in GROUPS.items() if name.startswith(heads)), "other")
        for name in stages
    }


def metric_section(stem: str, file: str, table: pd.DataFrame, *, prefix: str = "table") -> dict[str, Any]:
    """One metric table with title, caption and figures."""
    caption = captions().get(stem, {})
    measured = table[table["value"].notna()]
    return {
        "id": f"{prefix}-{stem}",
        "stem": stem,
        "file": file,
        "group": caption.get("group", OTHER_TABLES),
        "title": caption.get("title", stem.replace("_", " ").capitalize()),
        "caption": caption.get("caption", ""),
        "stages": sorted(table["stage"].unique()),
        "provenance": sorted((measured if len(measured) else table)["provenance"].unique()),
        "view": metric_view(table, meanings(stem), percent_metrics(stem)),
        "figures": draw_all(stem, table),
    }


def in_order(sections: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort sections in the order of captions.yaml; tables without a caption come last, by name."""
    order = {stem: place for place, stem in enumerate(captions())}
    return sorted(sections, key=lambda section: (order.get(section["stem"], len(order)), section["stem"]))


def stage_targets(stages: Mapping[str, Any], sections: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Page element that each stage of the graph links to: its first table, or the section that shows its output."""
    known = {"sample": "notes", "prompt": "notes", "write": "notes", "compact": "notes", "reproduce": "reproduction"}
    targets = {stage: section["id"] for section in reversed(sections) for stage in section["stages"]}
    targets |= {name: "table-baselines" for name in stages if name.startswith("baseline_") and "baselines" in targets}
    return {name: target for name, target in (known | targets).items() if name in stages}


def reproduction_section(identifier: str, short: str, title: str, caption: str, rows: pd.DataFrame) -> dict[str, Any]:
    """One judged reproduction table, its counts and its figure."""
    names = _template("published.yaml")
    figure = agreement(rows)
    return {
        "id": identifier,
        "short": short,
        "title": title,
        "caption": caption,
        "counts": rows["verdict"].value_counts().to_dict(),
        "bases": by_basis(rows, names),
        "views": reproduction_view(rows, names),
        "figure": svg(figure) if figure else "",
    }


def provenance_rows(fingerprints: Sequence[str]) -> list[dict[str, str]]:
    """Role, endpoint, model and remaining identity fields, from the JSON text of each role's fingerprint file."""
    rows = []
    for loaded in map(json.loads, fingerprints):
        identity = loaded["identity"]
        model = identity.get("answered") or identity["asked"]
        known = {"role": loaded["role"], "endpoint": identity["endpoint"], "model": model}
        rest = {key: value for key, value in identity.items() if key not in ("endpoint", "answered")}
        rows.append(known | {"identity": "; ".join(f"{key} {value}" for key, value in sorted(rest.items()))})
    return rows


def tiles(
    records: pd.DataFrame, notes: pd.DataFrame, spans: pd.DataFrame, reproduction: pd.DataFrame
) -> list[dict[str, str]]:
    """Counts at the top of the page."""
    counted = [
        (len(records), "simulated patient records"),
        (len(notes), "notes kept"),
        (int((notes["attempt"] > 0).sum()), "of them rewritten after a check"),
        (int((~notes["consistent"]).sum()), "kept though still inconsistent"),
        (len(spans), "symptom spans"),
    ]
    shown = [{"value": f"{count:,}", "label": label} for count, label in counted]
    for basis, label in (
        ("exact", "printed figures recomputed exactly"),
        ("fitted", "printed figures met by notes fitted to them"),
    ):
        judged = reproduction[reproduction["basis"] == basis]
        if len(judged):
            met = int((judged["verdict"] == "pass").sum())
            shown.append({"value": f"{met:,} of {len(judged):,}", "label": label})
    return shown


def key_figures(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, str]]:
    """Rows of ``tables`` (by stem) that key_figures.yaml selects; rows without a value are skipped."""
    shown = []
    for wanted in _template("key_figures.yaml"):
        table = tables.get(wanted["table"])
        if table is None:
            continue
        keys = [key for key in ("system", "condition", "item", "metric") if key in wanted]
        rows = table[
            (table[keys] == pd.Series({key: wanted[key] for key in keys})).all(axis=1) & table["value"].notna()
        ]
        if len(rows):
            shown.append(_key_figure(rows.iloc[0], wanted))
    return shown


def _key_figure(row: Any, wanted: Mapping[str, Any]) -> dict[str, str]:
    write = percent if wanted.get("percent") else number
    interval = "" if pd.isna(row["low"]) else f"95% interval {write(row['low'])} to {write(row['high'])}"
    n = f"n\u00a0=\u00a0{row['n']:,}" if row["n"] else "exact"
    return {
        "value": write(row["value"]),
        "label": wanted["label"],
        "interval": ", ".join(part for part in (interval, n) if part),
        "target": f"table-{wanted['table']}",
    }
