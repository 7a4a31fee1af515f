"""Compares lineages on the same records."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import pyarrow.parquet as pq
import typer

from flows.engine.lineage import (
    NamedLineage,
    fetch_outputs,
    find_lineage,
    is_recorded,
    recorded_costs,
    recorded_lineages,
)
from flows.engine.pipeline import MAIN
from flows.engine.tables import CSV_FLOAT, write_atomically
from flows.engine.workspace import root
from schemas.errors import SourceError
from tasks.reporting.comparison_page import render_comparison, terminal_text
from tasks.tracking.comparison import compare, compare_all
from tasks.tracking.differences import changed_stages, cost_table, differing_inputs, is_redraw
from tasks.tracking.measures import (
    PREDICTION_COLUMNS,
    Key,
    Measure,
    prediction_measures,
    question_contents,
    score_measures,
    unscored_records,
)
from tasks.tracking.pairing import PairedMeasure, pair

FOLDER = Path("reports/comparisons")
UNSCORED = "unscored_"
QUESTIONS = "questions.parquet"
"""The table that holds the contents of the items of a score table in the same folder."""


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="LINEAGE...", help="Two or more lineages.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the recorded lineages.")] = False,
    out: Annotated[Path | None, typer.Option(help=f"Folder for CSV and HTML (default {FOLDER}).")] = None,
    pipeline: Annotated[Path, typer.Option(help="The dvc.yaml whose lineages are compared.")] = MAIN,
    seed: Annotated[int, typer.Option(help="Seed of the sign flips.")] = 0,
    null: Annotated[
        Literal["records", "redraws"],
        typer.Option(
            help="Noise to allow for: of records and seeds, or also of recorded redraws of the first lineage."
        ),
    ] = "records",
) -> None:
    """Compare each lineage with the first: differing inputs, changed stages, and measures that changed beyond chance.

    A lineage is named by a git revision, a DVC experiment, a recorded lineage id (or its start), or ``workspace``.
    """
    if show_list:
        print(pd.DataFrame(recorded_lineages().overview()).to_string(index=False))
        return
    if names is None or len(names) < 2:
        raise typer.BadParameter("name at least two lineages")
    first, *others = [find_lineage(name, pipeline) for name in names]
    redraws = find_redraws(first) if null == "redraws" else []
    pairs = [list(paired_measures(first, other, redraws)) for other in others]
    for other, measures in zip(others, compare_all(pairs, seed=seed), strict=True):
        files = show(first, other, measures, out or root() / FOLDER)
        print("\nwritten: " + ", ".join(str(file) for file in files))


def compare_pair(a: NamedLineage, b: NamedLineage, folder: Path, seed: int) -> list[Path]:
    """Compare two lineages, print the result and write it as CSV and HTML; returns the files."""
    return show(a, b, compare(list(paired_measures(a, b)), seed=seed), folder)


def show(a: NamedLineage, b: NamedLineage, measures: pd.DataFrame, folder: Path) -> list[Path]:
    """Print a comparison and write it as CSV and HTML; returns the files."""
    inputs = differing_inputs(a.lineage, b.lineage, a.identities, b.identities)
    stages = changed_stages(a.lineage, b.lineage)
    costs = cost_table(recorded_costs(a.lineage), recorded_costs(b.lineage))
    print(terminal_text(a.name, b.name, inputs, stages, costs, measures))
    stem = f"{_slug(a.name)}__{_slug(b.name)}"
    table, page = folder / f"{stem}.csv", folder / f"{stem}.html"
    write_atomically(table, lambda to: measures.to_csv(to, index=False, float_format=CSV_FLOAT))
    html = render_comparison(a.name, b.name, inputs, stages, costs, measures)
    write_atomically(page, lambda to: to.write_text(html, encoding="utf-8"))
    if is_recorded(b.lineage):
        recorded_lineages().attach(b.lineage.id, page, "comparisons")
    return [table, page]


def paired_measures(a: NamedLineage, b: NamedLineage, redraws: Sequence[NamedLineage] = ()) -> Iterator[PairedMeasure]:
    """Pair the measures that both lineages have, from per-record tables that differ."""
    of_a, of_b = a.outputs(), b.outputs()
    sides = [a, b, *redraws]
    fetch_outputs(_read_by_comparison(sides))
    unscored = [_unscored(side) for side in sides]
    for path in sorted(set(of_a) & set(of_b)):
        if of_a[path][1] != of_b[path][1]:
            left, right, *drawn = _measures(path, sides, unscored)
            for key in sorted(set(left) & set(right)):
                yield pair(left[key], right[key], [measures[key] for measures in drawn if key in measures])


def _read_by_comparison(sides: Sequence[NamedLineage]) -> list[tuple[NamedLineage, str]]:
    """The tables that a comparison reads: differing scores and predictions, their questions, and unscored rows."""
    outputs = [side.outputs() for side in sides]
    differing = {path for path in outputs[0] if len({found[path][1] for found in outputs if path in found}) > 1}
    scores = {path for path in differing if _kind(path) is not None}
    questions = {f"{Path(path).parent}/{QUESTIONS}" for path in scores}
    return [
        (side, path)
        for side, found in zip(sides, outputs, strict=True)
        for path in found
        if path in scores | questions or Path(path).name.startswith(UNSCORED)
    ]


def _kind(path: str) -> str | None:
    """What a table holds that is compared; None for other tables."""
    return next((word for word in ("predictions", "scores") if word in Path(path).stem), None)


def _measures(path: str, sides: Sequence[NamedLineage], unscored: Sequence[set[str]]) -> list[dict[Key, Measure]]:
    """Measures of a table in each lineage; none if it holds neither predictions nor scores."""
    kind = _kind(path)
    if kind is None:
        return [{} for _ in sides]
    stage = sides[0].outputs()[path][0]
    columns = PREDICTION_COLUMNS if kind == "predictions" else None
    tables = [_read(side.open_output(path), columns) for side in sides]
    failed = [unscored_records(names, *(tables if kind == "scores" else ())) for names in unscored]
    if kind == "predictions":
        return [prediction_measures(table, stage, failed=ids) for table, ids in zip(tables, failed, strict=True)]
    contents = [_contents(side, path) for side in sides]
    given = zip(tables, contents, failed, strict=True)
    return [score_measures(table, stage, contents=texts, failed=ids) for table, texts, ids in given]


def find_redraws(lineage: NamedLineage) -> list[NamedLineage]:
    """Recorded lineages that are redraws of ``lineage``; raises SourceError when there is none."""
    recorded = [find_lineage(row["lineage"]) for row in recorded_lineages().overview()]
    found = [other for other in recorded if is_redraw(lineage.lineage, other.lineage)]
    if not found:
        raise SourceError(
            f"{lineage.name}: no recorded lineage is a redraw of it; make some with: "
            "dvc exp run -n redraw-1 -S '+roles.writer.redraw=1'"
        )
    return found


def _contents(side: NamedLineage, path: str) -> dict[str, str] | None:
    """Contents of the questions next to a score table, if there are any."""
    questions = f"{Path(path).parent}/{QUESTIONS}"
    return question_contents(_read(side.open_output(questions), None)) if questions in side.outputs() else None


def _unscored(side: NamedLineage) -> set[str]:
    """Ids of the records and items that any stage of the lineage attempted and failed to score."""
    paths = [path for path in side.outputs() if Path(path).name.startswith(UNSCORED)]
    return {str(record) for path in paths for record in _read(side.open_output(path), ["record"])["record"]}


def _read(path: Path, columns: list[str] | None) -> pd.DataFrame:
    """Read a table with text columns as categories, because few texts are distinct."""
    texts = None if columns is None else [name for name in columns if name not in ("record", "seed")]
    return pq.read_table(path, columns=columns, read_dictionary=texts).to_pandas()


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
