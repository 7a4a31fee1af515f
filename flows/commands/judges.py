"""Compares judges: precision, recall, calls and cost on planted claims and on human labels."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from flows.engine.lineage import WORKSPACE, find_lineage
from flows.engine.params import load_params
from flows.engine.workspace import be_quiet, root
from schemas.errors import SourceError
from tasks.evaluation.calibration.human_labels import label_rows, read_labels
from tasks.evaluation.calibration.judges import judges_text

TABLE = "reports/tables/judges.csv"


def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[LINEAGE]...", help="Lineages (default: the workspace).")
    ] = None,
    labels: Annotated[
        list[Path] | None, typer.Option(help="CSV with item, judged, label[, cluster]; the file's name is the judge.")
    ] = None,
) -> None:
    """Print each judge's precision and recall, calls and cost per 1,000 claims, and the errors found by kind.

    Judges are those of each lineage's judges.csv: its judge role, the rules, and the models of calibrate.nli_models.
    Precision and recall are of errors: claims that are not entailed and judged so.
    """
    be_quiet()
    tables = {name: _table(name) for name in names or [WORKSPACE]}
    for file in labels or []:
        tables[str(file)] = file_rows(file, seed=load_params().seed)
    print(judges_text(tables))


def file_rows(file: Path, *, seed: int) -> pd.DataFrame:
    """Metric rows of one file of human labels. Raises SourceError for a file that `read_labels` refuses."""
    try:
        found = read_labels(file)
    except (OSError, ValueError) as error:
        raise SourceError(str(error)) from error
    return label_rows(found, system=file.stem, seed=seed, provenance=f"human labels of {file.name}")


def _table(name: str) -> pd.DataFrame:
    if name == WORKSPACE:
        path = root() / TABLE
        if not path.exists():
            raise SourceError(f"{TABLE} is missing; run: vignette repro")
        return pd.read_csv(path)
    found = find_lineage(name)
    if TABLE not in found.outputs():
        raise SourceError(f"{name}: its lineage has no {TABLE}; it is older than the table of judges")
    return pd.read_csv(found.open_output(TABLE))
