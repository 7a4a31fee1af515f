"""Lists the recorded lineages and forgets old ones."""

from collections.abc import Sequence
from typing import Annotated

import typer

from flows.lineage.git import git
from flows.lineage.lineage import WORKSPACE, NamedLineage, find_lineage, list_lineages, recorded_lineages
from flows.lineage.measured import drop_runs
from flows.lineage.retention import Unused, find_unused
from flows.runtime.params import load_params
from flows.runtime.workspace import STORE, workspace
from schemas.errors import SourceError
from tasks.transport import inspection
from tasks.transport.database import exists


def list_() -> None:
    """List the recorded lineages, the newest first."""
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
    try:
        return [find_lineage(WORKSPACE)]
    except SourceError:
        return []


def _delete(unused: Unused, kept: Sequence[NamedLineage]) -> None:
    for file in unused.files:
        file.unlink()
    for tag in unused.tags:
        git("tag", "--delete", tag)
    where = load_params().runtime.store or workspace() / STORE
    if unused.keys and exists(where):
        with inspection.open_existing(where) as connection:
            inspection.delete_keys(connection, unused.keys)
    drop_runs([stage for lineage in kept for stage in lineage.lineage.stages])


SUBCOMMANDS = [list_, prune]
