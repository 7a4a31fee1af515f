"""Checks the response store, copies its replies, and shows and sets budget ledgers."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.repository.params import load_params, response_store
from flows.runtime.folders import require_new_file, write_new_file
from schemas.errors import StoreError
from tasks.transport.shown import printable

if TYPE_CHECKING:
    from tasks.transport.database import Where

_File = Annotated[str | None, typer.Option("--store", help="File or database (default: that of this clone).")]
_Stage = Annotated[str | None, typer.Option(help="Only replies of this stage.")]
_Role = Annotated[str | None, typer.Option(help="Only replies of this role.")]
EXPORT = "vignette store export"


def check(
    drop: Annotated[bool, typer.Option("--drop", help="Delete the replies that cannot be read.")] = False,
    store: _File = None,
) -> None:
    """Check the database, every reply, and the ledgers against the costs of the replies."""
    from tasks.transport import inspection

    path = store_path(store)
    with inspection.open_existing(path) as connection:
        found = inspection.check(connection)
        print(f"{found.replies} replies, of which {len(found.unreadable)} cannot be read")
        print(f"{found.dollars:.4f} dollars paid for them, {found.booked:.4f} in all ledgers")
        if found.dollars > found.booked + 1e-6:
            print("the ledgers hold less than the replies cost: a ledger was set back, or its store was copied")
        if drop and found.unreadable:
            inspection.delete_keys(connection, found.unreadable)
            print(f"{len(found.unreadable)} replies deleted; the next run asks for them again")
    if found.damage:
        problems = "; ".join(found.damage[:3])
        raise StoreError(f"{path} is damaged ({problems}); put back a copy, or move it away and ask the models again")
    if found.unreadable and not drop:
        raise StoreError(f"{path}: {len(found.unreadable)} replies cannot be read; delete them with --drop")


def export(
    file: Annotated[Path | None, typer.Argument(help="File to write (default: standard output).")] = None,
    stage: _Stage = None,
    role: _Role = None,
    used: Annotated[bool, typer.Option("--used", help="Only replies that the lineage of this tree used.")] = False,
    store: _File = None,
) -> None:
    """Write requests and replies as JSON lines, compressed if the file's name ends in .gz."""
    from flows.lineage.lineage import current_lineage
    from flows.repository.kept_runs import used_by_all
    from tasks.transport import inspection

    require_new_file(file, EXPORT)
    keys = used_by_all(current_lineage().stages) if used else None
    with inspection.open_existing(store_path(store)) as connection:
        lines = inspection.export(connection, stage, role, keys)
        if file is None:
            sys.stdout.writelines(f"{line}\n" for line in lines)
            return
        content = "".join(f"{line}\n" for line in lines).encode()
    write_new_file(file, gzip.compress(content, mtime=0) if file.suffix == ".gz" else content, EXPORT)


def import_(
    file: Annotated[Path, typer.Argument(help="File that `vignette store export` wrote.", exists=True, dir_okay=False)],
    store: _File = None,
) -> None:
    """Add exported replies, so that a rebuild with the same fingerprints and params makes no calls."""
    from tasks.transport import inspection

    added, held = inspection.import_replies(store_path(store), file)
    print(f"{added} replies added, {held} were there already")


def ledger(
    name: Annotated[str | None, typer.Argument(help="Ledger to set (default: print all).")] = None,
    dollars: Annotated[float, typer.Option(help="What the provider says was spent.", min=0.0)] = 0.0,
    store: _File = None,
) -> None:
    """Print what was spent, or set a ledger back to zero or to what the provider says."""
    from tasks.transport import inspection

    with inspection.open_existing(store_path(store)) as connection:
        if name is not None:
            inspection.set_ledger(connection, name, dollars)
        for one, spent in inspection.ledgers(connection).items():
            line = f"ledger {one}: {spent.dollars:.4f} dollars, {spent.tokens} tokens, {spent.calls} calls"
            if spent.unknown:
                line += f", of which {spent.unknown} of unknown outcome (at most {spent.unknown_dollars:.4f} dollars)"
            if spent.reserved_tokens:
                line += f", {spent.reserved_dollars:.4f} reserved"
            print(printable(line))


def store_path(store: str | None = None) -> Where:
    """The store that the user named, or that of this clone."""
    from tasks.transport.database import is_postgres

    where = store or response_store(load_params())
    return where if is_postgres(where) else Path(where)


SUBCOMMANDS = [check, export, import_, ledger]
