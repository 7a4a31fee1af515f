"""The report: sections from metric and reproduction tables, and the page, one HTML file without outside resources."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tasks.measures import described
from tasks.measures.report import report
from tasks.papers.conclusions import FAILS, HOLDS, undecided
from tasks.papers.wording import ABSENT_TABLES, CLASSES, class_counts, counts_line, shown, tested
from tasks.reporting.display import number, percent, read_template, render, script_json, settings, words
from tasks.reporting.figures import agreement, draw_all, svg
from tasks.reporting.tables_view import by_basis, metric_view, reproduction_view
from tasks.transport.shown import public_params

MODEL_RATER = "model"
"""System of the rows of expert review that a model rated."""
OTHER_TABLES = "Other tables"
_UNITS = ("days", "weeks", "months", "years")
"""First words of outcomes that are counts of time."""
_MARKS = {HOLDS: ("pass", "✓"), FAILS: ("fail", "✗")}


def captions() -> dict[str, dict[str, Any]]:
    """The entries of captions.yaml by file stem, in page order: group, title, caption; some have metrics or percent.

    The tables of measures come first of their group.
    """
    loaded: dict[str, dict[str, Any]] = settings("captions.yaml")
    groups = [entry["group"] for entry in loaded.values()]
    found = {stem: entry for tables in report("tables").values() for stem, entry in tables.items()} | loaded
    return dict(sorted(found.items(), key=lambda one: groups.index(one[1]["group"])))


def meanings(stem: str) -> dict[str, str]:
    """Description of each metric of a table, by metric."""
    columns = settings("columns.yaml")
    common: dict[str, str] = columns["names"] | columns["metrics"]
    return common | described.meanings(stem) | captions().get(stem, {}).get("metrics", {})


def percent_metrics(stem: str) -> set[str]:
    """Metrics of a table that are stored in 0-1 and shown as percent."""
    return {*settings("columns.yaml")["percent"], *described.percent(), *captions().get(stem, {}).get("percent", ())}


def stage_groups(stages: Mapping[str, Any]) -> dict[str, str]:
    """Colour group of each stage in the stage graph: that of the longest start of its name in stages.yaml."""
    starts = {one.name: "evaluation" for one in described.DECLARED}
    starts |= {start: group for group, names in settings("stages.yaml")["groups"].items() for start in names}
    found = {name: max((s for s in starts if name.startswith(s)), key=len, default="") for name in stages}
    return {name: starts.get(start, "other") for name, start in found.items()}


def metric_section(
    stem: str, file: str, table: pd.DataFrame, *, prefix: str = "table", repeated: bool = False
) -> dict[str, Any]:
    """One metric table with title, caption and figures. ``repeated``: at paper scale, and shown above for the run."""
    caption = captions().get(stem, {})
    measured = table[table["value"].notna()]
    made_by = sorted((measured if len(measured) else table)["provenance"].unique())
    alone = caption.get("without_people", "") if set(table["system"]) == {MODEL_RATER} else ""
    return {
        "id": f"{prefix}-{stem}",
        "stem": stem,
        "file": file,
        "group": caption.get("group", OTHER_TABLES),
        "title": caption.get("title", words(stem).capitalize()) + (", paper scale" if repeated else ""),
        "caption": f"{alone.format(rater='; '.join(made_by))} {caption.get('caption', '')}".strip(),
        "stages": sorted(table["stage"].unique()),
        "provenance": made_by,
        "view": metric_view(table, meanings(stem), percent_metrics(stem), own_systems=False),
        "figures": draw_all(stem, table),
    }


def in_order(sections: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort sections in the order of `captions`; tables without a caption come last, by name."""
    order = {stem: place for place, stem in enumerate(captions())}
    return sorted(sections, key=lambda section: (order.get(section["stem"], len(order)), section["stem"]))


def stage_targets(stages: Mapping[str, Any], sections: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Page element that each stage of the graph links to: its first table, or the section that shows its output."""
    targets = {stage: section["id"] for section in reversed(sections) for stage in section["stages"]}
    targets |= {name: "table-baselines" for name in stages if name.startswith("baseline_") and "baselines" in targets}
    known: dict[str, str] = settings("stages.yaml")["targets"]
    return {name: target for name, target in (known | targets).items() if name in stages}


def reproduction_section(identifier: str, short: str, title: str, caption: str, rows: pd.DataFrame) -> dict[str, Any]:
    """One judged reproduction table, its counts and its figure."""
    names = settings("published.yaml")
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


def conclusions_view(table: pd.DataFrame, titles: Mapping[str, str]) -> dict[str, Any]:
    """CONCLUSIONS by paper in the order of ``titles`` (name by source), and what nothing here decides."""
    papers = []
    for source, title in titles.items():
        rows = [_conclusion(row) for row in table[table["source"] == source].to_dict("records")]
        absent = [one for one in undecided(table) if one["source"] == source]
        papers.append({"title": title, "rows": rows, "absent": absent})
    return {"papers": papers, "counts": counts_line(table)}


def _conclusion(row: Mapping[Any, Any]) -> dict[str, Any]:
    css, mark = _MARKS.get(row["verdict"], ("", "○"))
    named = {name: row[name] for name in ("conclusion", "verdict", "basis", "interval")}
    counted = f"{row['n']:,}" if row["n"] else ""
    return named | {"test": tested(row), "shown": shown(row), "n": counted, "css": css, "mark": mark}


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
) -> list[dict[str, Any]]:
    """Counts at the top of the page; ``printed``: of figures that the papers print."""
    counted = [
        (len(records), "simulated patient records"),
        (len(notes), "notes kept"),
        (int((notes["attempt"] > 0).sum()), "of them rewritten after a check"),
        (int((~notes["consistent"]).sum()), "kept that did not pass the check"),
        (len(spans), "symptom spans"),
    ]
    listed: list[dict[str, Any]] = [{"value": f"{count:,}", "label": label} for count, label in counted]
    for basis, (met, told) in (class_counts(reproduction) if len(reproduction) else {}).items():
        listed.append({"value": f"{met:,} of {told:,}", "label": CLASSES[basis], "printed": True})
    if absent := int((reproduction["verdict"] == "absent").sum()):
        listed.append({"value": f"{absent:,}", "label": ABSENT_TABLES, "printed": True})
    return listed


def key_figures(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, str]]:
    """Rows of ``tables`` (by stem) that `key_rows` selects; rows without a value are skipped."""
    found = []
    for wanted in key_rows():
        table = tables.get(wanted["table"])
        if table is None:
            continue
        keys = [key for key in ("system", "condition", "item", "metric") if key in wanted]
        rows = table[
            (table[keys] == pd.Series({key: wanted[key] for key in keys})).all(axis=1) & table["value"].notna()
        ]
        if len(rows):
            found.append(_key_figure(rows.iloc[0], wanted))
    return found


def key_rows() -> list[dict[str, Any]]:
    """The rows that are key figures: those of key_figures.yaml, then those of measures."""
    return settings("key_figures.yaml") + [row for rows in report("key_figures").values() for row in rows]


def _key_figure(row: Any, wanted: Mapping[str, Any]) -> dict[str, str]:
    write = percent if wanted.get("percent") else number
    interval = "" if pd.isna(row["low"]) else f"95% interval {write(row['low'])} to {write(row['high'])}"
    outcome = row["item"].rpartition(" on ")[2] if row["metric"] == "effect" else ""
    unit = next((word for word in _UNITS if outcome.startswith(word)), "")
    n = f"n\u00a0=\u00a0{row['n']:,}" if row["n"] else "exact"
    return {
        "value": write(row["value"]) + (f" {unit}" if unit else ""),
        "label": wanted["label"].format(item=words(row["item"])),
        "interval": ", ".join(part for part in (interval, n) if part),
        "target": f"table-{wanted['table']}",
    }


def render_page(
    *,
    notes: Sequence[Mapping[str, Any]],
    variables: Mapping[str, Sequence[str]],
    histories: Sequence[Mapping[str, Any]] = (),
    untrusted: Sequence[str] = (),
    claims: Mapping[str, Any] | None = None,
    params: Mapping[str, Any],
    **context: Any,
) -> str:
    """Fill the template. Everything except the page's CSS, script and figures is escaped.

    ``variables``: names of the record's variables by type, in display order; symptoms are highlighted in the notes.
    ``histories``: patients over time (`tasks.reporting.notes_view`). ``untrusted``: metrics that do not follow truth.
    ``claims``: of outside documents, with a recorded model's verdicts.
    """
    symptoms = list(variables.get("symptom", ()))
    record = {"symptoms": symptoms, "variables": {kind: list(names) for kind, names in variables.items()}}
    return render(
        "report.html",
        style=read_template("report.css"),
        script=read_template("tables.js") + read_template("report.js"),
        notes_json=script_json(record | {"notes": list(notes)}),
        symptoms=symptoms,
        kinds=sorted({note["kind"] for note in notes}),
        note_count=len(notes),
        histories=list(histories),
        untrusted=list(untrusted),
        claims_json=script_json(claims) if claims else "",
        params=json.dumps(public_params(params), indent=1),
        **context,
    )
