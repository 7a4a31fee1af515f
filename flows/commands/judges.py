"""Compares judges: precision, recall, calls and cost on planted claims and on human labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.repository.params import load_params
from flows.repository.pipeline import maker_of
from flows.repository.workspace import root
from schemas.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

TABLE, LABELS = "reports/tables/judges.csv", "reports/tables/human_labels.csv"


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
    Precision and recall are of errors: claims that are not entailed and judged so. Human labels from returned forms and
    files follow, where a lineage has any.
    """
    from flows.lineage.lineage import WORKSPACE
    from tasks.judges.judges_compared import judges_text

    tables = {name: _table(name) for name in names or [WORKSPACE]}
    for file in labels or []:
        tables[str(file)] = _labelled(file, load_params().seed)
    print(judges_text(tables))
    print(
        "errors are the positive cases: sensitivity is the share of errors found, specificity that of the others passed"
    )


def _labelled(file: Path, seed: int) -> pd.DataFrame:
    """Metric rows of one file of human labels. Raises SourceError for a file that `read_labels` refuses."""
    from tasks.judges.human_labels import file_rows

    try:
        return file_rows(file, seed=seed)
    except (OSError, ValueError) as error:
        raise SourceError(str(error)) from error


def _table(name: str) -> pd.DataFrame:
    """The judges of a lineage on planted claims and, in lineages that have it, on human labels."""
    import pandas as pd

    from flows.lineage.lineage import WORKSPACE, find_lineage

    if name == WORKSPACE:
        if not (root() / TABLE).exists():
            raise SourceError(f"{TABLE}: no such file; {maker_of(root() / TABLE)}")
        return pd.concat([pd.read_csv(root() / path) for path in (TABLE, LABELS) if (root() / path).exists()])
    found = find_lineage(name)
    if TABLE not in found.outputs():
        raise SourceError(f"{name}: its lineage has no {TABLE}; it is older than the table of judges")
    return pd.concat([pd.read_csv(found.open_output(path)) for path in (TABLE, LABELS) if path in found.outputs()])
