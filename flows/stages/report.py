"""Stages `headlines`, `reproduce`, `reproduce_published` and `report`: what the tables of a run come to."""

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from flows.repository.workspace import write_atomically
from flows.runtime.stage import Stage
from flows.runtime.tables import CSV_FLOAT, read_table
from schemas.tables.baselines import RELIABILITY
from schemas.tables.columns import typed
from schemas.tables.metrics import METRICS
from tasks.network.definition import NetworkDefinition
from tasks.papers.conclusions import conclusions
from tasks.papers.printed import SIMSUM
from tasks.papers.reproduction import PUBLISHED, judged, known_rows, tables_needed
from tasks.reporting.display import paragraph
from tasks.reporting.headlines import headlines, mean_f1, reliability_curves, shares
from tasks.reporting.notes_view import claims_view, history_view, notes_view, untrusted_metrics
from tasks.reporting.page import (
    by_rules,
    grouped,
    in_order,
    key_figures,
    metric_section,
    printed_tiles,
    render_page,
    render_papers,
    tiles,
)
from tasks.reporting.papers_page import conclusions_section, reproduction_section

CURVES = "baselines_reliability"


async def run_headlines(stage: Stage) -> None:
    """Write reports/metrics.json for ``dvc metrics`` and ``dvc exp``, and the tables behind ``dvc plots``."""
    stems = [stem for stem, path in stage.files.deps.items() if path.parent.name == "tables" and stem != CURVES]
    tables = {stem: stage.load_metrics(stem) for stem in stems}
    figures = headlines(tables)
    stage.save_text("metrics", json.dumps(figures, indent=1) + "\n")
    _save(stage, "f1", mean_f1(tables["baselines"]))
    _save(stage, "reliability", reliability_curves(stage.load(CURVES)))
    _save(stage, "shares", shares(figures))


def _save(stage: Stage, stem: str, table: pd.DataFrame) -> None:
    write_atomically(stage.out(stem), lambda to: table.to_csv(to, index=False, float_format=CSV_FLOAT))


async def run_reproduce(stage: Stage) -> None:
    """Judge the figures that tables of the main pipeline answer."""
    stage.save("reproduction", judged({name: stage.load_metrics(name) for name in tables_needed()}))


async def run_reproduce_published(stage: Stage) -> None:
    """Judge the figures that tables of this pipeline answer, with a row of basis ``absent`` for what lacks figures."""
    tables = {name: stage.load_metrics(name.rpartition("/")[2]) for name in tables_needed(PUBLISHED)}
    stage.save("reproduction", judged(tables, PUBLISHED))


_NONE = typed([], METRICS)


async def run_report(stage: Stage) -> None:
    """Write the page of the run from the declared tables, and that of the papers with those of reports/published."""
    definition = stage.network
    stems = {"records": "records", "prompts": "prompts", "attempts": "attempts", "notes": "notes",
             "compact": "compact_notes", "spans": "spans"}  # fmt: skip
    over_time = ("visit_notes", "history_facts", "history_summaries", "facts_stated", "statements_checked")
    frames = {name: stage.load(stem) for name, stem in stems.items()}
    found, not_shown = tables_in(stage.dep("reports/tables"))
    tables = {path.stem: table for path, table in found.items()}
    page = render_page(
        notes=notes_view(**frames, count=stage.params.report.notes),
        histories=history_view(*map(stage.load, over_time), patients=stage.params.report.patients),
        untrusted=untrusted_metrics(tables.get("history_summaries", _NONE)),
        variables=_by_type(definition),
        record_count=len(frames["records"]),
        source=stage.params.write.source,
        tiles=tiles(frames["records"], frames["notes"], frames["spans"]),
        key_figures=key_figures(tables),
        tables=grouped(tables, {path.stem: str(path) for path in found}),
        not_shown=not_shown,
        simulator_roles=by_rules(stage.params),
        fingerprints=[stage.dep(role).read_text(encoding="utf-8") for role in sorted(stage.files.roles)],
        params=stage.params.model_dump(mode="json"),
    )
    stage.save_text("index", page)
    stage.save_text("papers", _papers(stage, tables))


def _papers(stage: Stage, tables: Mapping[str, pd.DataFrame]) -> str:
    """The page of the papers; rows that are lacking decide no conclusion."""
    mine, at_scale = (stage.load(f"{where}/reproduction") for where in ("reports", "published"))
    outside, _ = tables_in(stage.dep("published/tables"))
    files = {path.stem: (str(path), table) for path, table in outside.items()}
    named = {**tables, **{f"published/{stem}": table for stem, (_, table) in files.items()}}
    other = "" if stage.network.source == SIMSUM else paragraph("of_simsum", source=SIMSUM)
    return render_papers(
        [
            reproduction_section("reproduction", "Printed figures, by this run", mine),
            reproduction_section(
                "reproduction-published", "Printed figures, by outside data and paper scale", at_scale, other
            ),
        ],
        conclusions_section(conclusions(named, strict=False)),
        [metric_section(stem, *files[stem], prefix="published", repeated=stem in tables) for stem in in_order(files)],
        claims_view(stage.load("recorded_claims")),
        printed_tiles(known_rows([mine, at_scale])),
    )


def tables_in(folder: Path) -> tuple[dict[Path, pd.DataFrame], list[str]]:
    """The metric tables of a folder by path, without empty ones, and CSV files in a layout that no section shows.

    Metric tables are found by their columns (``METRICS``), so a new one is shown without being registered.
    """
    columns = {path: set(pd.read_csv(path, nrows=0)) for path in sorted(folder.glob("*.csv"))}
    tables = {path: read_table(path, METRICS) for path, names in columns.items() if names == set(METRICS.columns)}
    filled = {path: table for path, table in tables.items() if len(table)}
    elsewhere = set(RELIABILITY.columns)  # drawn by `dvc plots`
    return filled, [str(path) for path, names in columns.items() if path not in tables and names != elsewhere]


def _by_type(definition: NetworkDefinition) -> dict[str, list[str]]:
    """The variables by type, symptoms first: they are what spans mark."""
    types = dict.fromkeys(["symptom", *(definition.type_of(name) for name in definition.variables)])
    return {kind: list(definition.of_type(kind)) for kind in types}
