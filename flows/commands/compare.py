"""Compares lineages, or lists the recorded ones."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.repository.workspace import root
from tasks.progress import number_of

_NAMED = 4
"""Stages that are named."""


def main(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LINEAGE...]", help="Two or more lineages; without any, the recorded ones are listed."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for CSV and HTML (default reports/comparisons).")] = None,
    pipeline: Annotated[Path, typer.Option(help="The dvc.yaml whose lineages are compared.")] = Path("dvc.yaml"),
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
    if names and len(names) < 2:
        raise typer.BadParameter("name at least two lineages, or none to list the recorded ones")
    from flows.lineage.comparing import FOLDER, compare_lineages
    from flows.lineage.lineage import WORKSPACE, find_lineage, list_lineages
    from flows.rebuild.plan import stages_to_run
    from flows.repository.code import StageCode

    if not names:
        print(list_lineages())
        return
    first, *others = [find_lineage(name, pipeline) for name in names]
    if WORKSPACE in names and (waiting := stages_to_run(pipeline)):
        shown = ", ".join(waiting[:_NAMED]) + (", ..." if len(waiting) > _NAMED else "")
        code = sorted({path.stem for path in StageCode().changed()} & {name.partition("@")[0] for name in waiting})
        cause = f"; the code of {', '.join(code)} changed" if code else ""
        print(
            f"workspace: compared as dvc.lock says; {number_of(len(waiting), 'stage')} ({shown}) did not run here, or "
            f"not with the present code, params and inputs{cause}: run vignette repro --pipeline {pipeline} first\n"
        )
    for files in compare_lineages(first, others, out or root() / FOLDER, null=null):
        print("\nwritten: " + ", ".join(str(file) for file in files))
