"""Compares lineages on the same records."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.runtime.workspace import root


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="LINEAGE...", help="Two or more lineages.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the recorded lineages.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for CSV and HTML (default reports/comparisons).")] = None,
    pipeline: Annotated[Path, typer.Option(help="The dvc.yaml whose lineages are compared.")] = Path("dvc.yaml"),
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
    from flows.lineage.comparing import FOLDER, compare_lineages
    from flows.lineage.lineage import find_lineage, list_lineages

    if show_list:
        print(list_lineages())
        return
    if names is None or len(names) < 2:
        raise typer.BadParameter("name at least two lineages")
    first, *others = [find_lineage(name, pipeline) for name in names]
    for files in compare_lineages(first, others, out or root() / FOLDER, seed=seed, null=null):
        print("\nwritten: " + ", ".join(str(file) for file in files))
