"""Lists the recorded lineages and forgets old ones; compares lineages (`vignette compare`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from flows.repository.git import git
from flows.repository.params import load_params, response_store
from flows.repository.workspace import root
from schemas.errors import SourceError

if TYPE_CHECKING:
    from flows.lineage.lineage import NamedLineage
    from flows.lineage.retention import Unused

_NAMED = 4
"""Stages that are named."""


def list_() -> None:
    """List the recorded lineages, the newest first."""
    from flows.lineage.lineage import list_lineages

    print(list_lineages())


def prune(
    keep: Annotated[int, typer.Option(min=1, help="Number of lineages to keep, the newest ones.")],
    keep_name: Annotated[list[str] | None, typer.Option(help="A further lineage to keep; may be repeated.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only count.")] = False,
) -> None:
    """Forget old lineages: their runs in MLflow, tags, files in DVC's cache and replies that no other lineage uses.

    The lineage of the working tree and those of branches, experiments and other tags keep their files. DVC's remote is
    left as it is. Ledgers stay: the money is spent.
    """
    from flows.lineage.lineage import find_lineage, recorded_lineages
    from flows.lineage.retention import find_unused

    store = recorded_lineages()
    ids = [row["lineage"] for row in store.overview()]
    named = [find_lineage(name) for name in keep_name or ()]
    kept_ids = {*ids[:keep], *(lineage.lineage.id for lineage in [*named, *_working_tree()])}
    forgotten = [find_lineage(name) for name in ids if name not in kept_ids]
    kept = [find_lineage(name) for name in ids if name in kept_ids] + [*named, *_working_tree()]
    unused = find_unused(forgotten, kept)
    print(
        f"{len(forgotten)} of {len(ids)} lineages, {len(unused.files)} cached files ({unused.megabytes:.1f} MB), "
        f"{len(unused.keys)} replies" + ("" if yes else "; repeat with --yes to delete")
    )
    if yes:
        for lineage in forgotten:
            store.remove(lineage.lineage.id)
        _delete(unused, kept)


def _working_tree() -> list[NamedLineage]:
    from flows.lineage.lineage import WORKSPACE, find_lineage

    try:
        return [find_lineage(WORKSPACE)]
    except SourceError:
        return []


def _delete(unused: Unused, kept: Sequence[NamedLineage]) -> None:
    from flows.repository.kept_runs import drop_runs
    from tasks.transport import inspection
    from tasks.transport.database import exists

    for file in unused.files:
        file.unlink()
    for tag in unused.tags:
        git("tag", "--delete", tag)
    where = response_store(load_params())
    if unused.keys and exists(where):
        with inspection.open_existing(where) as connection:
            inspection.delete_keys(connection, unused.keys)
    drop_runs([stage for lineage in kept for stage in lineage.lineage.stages])


def compare(
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
    from flows.lineage.lineage import WORKSPACE, find_lineage, list_lineages
    from flows.rebuild.plan import stages_to_run

    if show_list:
        print(list_lineages())
        return
    if names is None or len(names) < 2:
        raise typer.BadParameter("name at least two lineages")
    first, *others = [find_lineage(name, pipeline) for name in names]
    if WORKSPACE in names and (waiting := stages_to_run(pipeline)):
        shown = ", ".join(waiting[:_NAMED]) + (", ..." if len(waiting) > _NAMED else "")
        stages = "1 stage" if len(waiting) == 1 else f"{len(waiting)} stages"
        print(
            f"workspace: compared as it last ran; {stages} ({shown}) did not run with the present code, params and "
            "inputs: run vignette repro first\n"
        )
    for files in compare_lineages(first, others, out or root() / FOLDER, seed=seed, null=null):
        print("\nwritten: " + ", ".join(str(file) for file in files))


SUBCOMMANDS = [list_, prune]
