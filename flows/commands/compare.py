"""Compares lineages on the same records."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import pyarrow.parquet as pq
import typer

from flows.engine.lineage import NamedLineage, find_lineage, recorded_costs, recorded_lineages
from flows.engine.tables import CSV_FLOAT, write_atomically
from flows.engine.workspace import be_quiet, root
from tasks.reporting.comparison_page import render_comparison, terminal_text
from tasks.tracking.comparison import PairedMeasure, compare, pair
from tasks.tracking.differences import changed_stages, cost_table, differing_inputs
from tasks.tracking.measures import PREDICTION_COLUMNS, Key, Measure, prediction_measures, score_measures

FOLDER = Path("reports/comparisons")
_READERS: dict[str, tuple[Callable[[pd.DataFrame, str], dict[Key, Measure]], list[str] | None]] = {
    "predictions": (prediction_measures, PREDICTION_COLUMNS),
    "scores": (score_measures, None),
}
"""Function that computes measures from a table, and the columns it reads (None: all), by a word in the table's name."""


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="LINEAGE...", help="Two or more lineages.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the recorded lineages.")] = False,
    out: Annotated[Path | None, typer.Option(help=f"Folder for CSV and HTML (default {FOLDER}).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
) -> None:
    """Compare each lineage with the first: inputs that differ, stages that changed, measures that moved beyond chance.

    A lineage is named by a git revision, a DVC experiment, a recorded lineage id (or its start), or ``workspace``.
    """
    be_quiet()
    if show_list:
        print(pd.DataFrame(recorded_lineages().overview()).to_string(index=False))
        return
    if names is None or len(names) < 2:
        raise typer.BadParameter("name at least two lineages")
    lineages = [find_lineage(name) for name in names]
    for other in lineages[1:]:
        files = compare_pair(lineages[0], other, out or root() / FOLDER, seed)
        print("\nwritten: " + ", ".join(str(file) for file in files))


def compare_pair(a: NamedLineage, b: NamedLineage, folder: Path, seed: int) -> list[Path]:
    """Compare two lineages, print the result and write it as CSV and HTML; returns the files."""
    inputs = differing_inputs(a.lineage, b.lineage, a.identities, b.identities)
    stages = changed_stages(a.lineage, b.lineage)
    measures = compare(list(paired_measures(a, b)), seed=seed)
    costs = cost_table(recorded_costs(a.lineage), recorded_costs(b.lineage))
    print(terminal_text(a.name, b.name, inputs, stages, costs, measures))
    stem = f"{_slug(a.name)}__{_slug(b.name)}"
    table, page = folder / f"{stem}.csv", folder / f"{stem}.html"
    write_atomically(table, lambda to: measures.to_csv(to, index=False, float_format=CSV_FLOAT))
    html = render_comparison(a.name, b.name, inputs, stages, costs, measures)
    write_atomically(page, lambda to: to.write_text(html, encoding="utf-8"))
    return [table, page]


def paired_measures(a: NamedLineage, b: NamedLineage) -> Iterator[PairedMeasure]:
    """Pair the measures that both lineages have, from per-record tables that differ."""
    of_a, of_b = a.outputs(), b.outputs()
    for path in sorted(set(of_a) & set(of_b)):
        reader, columns = next((found for word, found in _READERS.items() if word in Path(path).stem), (None, None))
        if reader is None or of_a[path][1] == of_b[path][1]:
            continue
        stage = of_b[path][0]
        left, right = (reader(_read(side.open_output(path), columns), stage) for side in (a, b))
        for key in sorted(set(left) & set(right)):
            yield pair(left[key], right[key])


def _read(path: Path, columns: list[str] | None) -> pd.DataFrame:
    """Read a table with text columns as categories, because few texts are distinct."""
    texts = None if columns is None else [name for name in columns if name not in ("record", "seed")]
    return pq.read_table(path, columns=columns, read_dictionary=texts).to_pandas()


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
