"""Stage `report`: one self-contained HTML page of graph, notes, metric tables and reproduction."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flows.repository.pipeline import read_pipeline
from flows.runtime.stage import Stage
from flows.runtime.tables import read_table
from schemas.tables.baselines import RELIABILITY
from schemas.tables.columns import typed
from schemas.tables.metrics import METRICS
from tasks.network.definition import NetworkDefinition
from tasks.papers.conclusions import conclusions
from tasks.papers.printed import SIMSUM
from tasks.papers.wording import known_rows, short_titles
from tasks.reporting.dag import draw, stage_graph
from tasks.reporting.figures import reliability, svg
from tasks.reporting.notes_view import claims_view, history_view, notes_view, untrusted_metrics
from tasks.reporting.page import (
    conclusions_view,
    in_order,
    key_figures,
    metric_section,
    provenance_rows,
    render_page,
    reproduction_section,
    stage_groups,
    stage_targets,
    tiles,
)
from tasks.tracking.lineage import CODE_STAGE

PIPELINE = Path("dvc.yaml")
_NONE = typed([], METRICS)
MINE = "Values of this run and the printed values. Hover over a value for its tolerance and basis."
AT_PAPER_SCALE = "Values that need outside data or 10,000 records, from reports/published (make published)."
OF_SIMSUM = f" The tables of {SIMSUM} belong to its own domain: their rows are not about the domain of this run."
RELIABILITY_CAPTION = (
    "Observed frequency against predicted probability by bin, pooled over symptoms; marker area shows the number of "
    "predictions. A calibrated model lies on the line."
)


async def run(stage: Stage) -> None:
    """Write the page from the declared tables and from reports/published as committed."""
    definition = stage.network
    frames = {
        "records": stage.load("records"),
        "prompts": stage.load("prompts"),
        "attempts": stage.load("attempts"),
        "notes": stage.load("notes"),
        "compact": stage.load("compact_notes"),
        "spans": stage.load("spans"),
    }
    stages = {name: entry for name, entry in read_pipeline(PIPELINE).items() if name != CODE_STAGE}
    tables, not_shown = tables_in(stage.dep("reports/tables"))
    sections = _with_reliability(stage, in_order([metric_section(p.stem, str(p), t) for p, t in tables.items()]))
    outside, not_shown_outside = tables_in(stage.dep("published/tables"))
    stems = {path.stem for path in tables}
    judged = [stage.load(f"{where}/reproduction") for where in ("reports", "published")]
    page = render_page(
        notes=notes_view(**frames, count=stage.params.report.notes),
        histories=_histories(stage),
        untrusted=untrusted_metrics(next((t for p, t in tables.items() if p.stem == "history_summaries"), _NONE)),
        variables=_by_type(definition),
        record_count=len(frames["records"]),
        tiles=tiles(frames["records"], frames["notes"], frames["spans"], known_rows(judged)),
        key_figures=key_figures({path.stem: table for path, table in tables.items()}),
        dag=draw(stage_graph(stages), stage_groups(stages), stage_targets(stages, sections)),
        reproduction=_reproduction(judged, definition),
        conclusions=_conclusions(tables, outside),
        tables=sections,
        published_tables=in_order(
            [
                metric_section(p.stem, str(p), t, prefix="published", repeated=p.stem in stems)
                for p, t in outside.items()
            ]
        ),
        claims=claims_view(stage.load("recorded_claims")),
        not_shown=[*not_shown, *not_shown_outside],
        simulator_roles=[name for name, role in stage.params.roles.items() if role.base_url == "simulator"],
        fingerprints=provenance_rows(
            [stage.dep(role).read_text(encoding="utf-8") for role in sorted(stage.files.roles)]
        ),
        params=stage.params.model_dump(mode="json"),
    )
    stage.save_text("index", page)


def _histories(stage: Stage) -> list[dict[str, Any]]:
    """Patients over time beside their summaries; none in a domain without transitions."""
    stems = ("visit_notes", "history_facts", "history_summaries", "facts_stated", "statements_checked")
    return history_view(*map(stage.load, stems), patients=stage.params.report.patients)


def tables_in(folder: Path) -> tuple[dict[Path, pd.DataFrame], list[str]]:
    """The metric tables of a folder by path, without empty ones, and CSV files in a layout that no section shows.

    Metric tables are found by their columns (``METRICS``), so a new one is shown without being registered.
    """
    columns = {path: set(pd.read_csv(path, nrows=0)) for path in sorted(folder.glob("*.csv"))}
    tables = {path: read_table(path, METRICS) for path, names in columns.items() if names == set(METRICS.columns)}
    filled = {path: table for path, table in tables.items() if len(table)}
    elsewhere = set(RELIABILITY.columns)  # shown as curves
    return filled, [str(path) for path, names in columns.items() if path not in tables and names != elsewhere]


def _by_type(definition: NetworkDefinition) -> dict[str, list[str]]:
    """The variables by type, symptoms first: they are what spans mark."""
    types = dict.fromkeys(["symptom", *(definition.type_of(name) for name in definition.variables)])
    return {kind: list(definition.of_type(kind)) for kind in types}


def _reproduction(judged: Sequence[pd.DataFrame], definition: NetworkDefinition) -> list[dict[str, Any]]:
    mine, at_scale = judged
    return [
        reproduction_section("reproduction", "This run", "Reproduction of published values", MINE, mine),
        reproduction_section(
            "reproduction-published",
            "At paper scale",
            "Reproduction of published values, outside data and paper scale",
            AT_PAPER_SCALE + ("" if definition.source == SIMSUM else OF_SIMSUM),
            at_scale,
        ),
    ]


def _conclusions(tables: Mapping[Path, pd.DataFrame], outside: Mapping[Path, pd.DataFrame]) -> dict[str, Any]:
    """The papers' conclusions by the tables of this run and of reports/published; lacking rows decide nothing."""
    named = {path.stem: table for path, table in tables.items()}
    named |= {f"published/{path.stem}": table for path, table in outside.items()}
    return conclusions_view(conclusions(named, strict=False), short_titles())


def _with_reliability(stage: Stage, sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the reliability curves, drawn from a table of their own, to the predictors' section."""
    figure = reliability(read_table(stage.dep("reports/tables") / "baselines_reliability.csv", RELIABILITY))
    for section in sections:
        if section["stem"] == "baselines" and figure is not None:
            section["figures"].append({"svg": svg(figure), "caption": RELIABILITY_CAPTION})
    return sections
