"""Inspects, exports and prunes the response store, and resets budget ledgers."""

import gzip
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.engine.lineage import current_lineage
from flows.engine.measured import used_by_all
from flows.engine.params import load_params
from flows.engine.workspace import FINGERPRINTS, STORE, workspace
from tasks.llm import inspection
from tasks.llm.database import Where, is_postgres
from tasks.llm.fingerprint import fingerprint_path, read_fingerprint
from tasks.llm.inspection import Which

_File = Annotated[str | None, typer.Option("--store", help="File or database (default: that of this clone).")]
_Stage = Annotated[str | None, typer.Option(help="Only replies of this stage.")]
_Role = Annotated[str | None, typer.Option(help="Only replies of this role.")]
_Before = Annotated[str | None, typer.Option(help="Only replies older than this date (2026-01-31) or time.")]


def show(store: _File = None) -> None:
    """Print what the store holds and what was spent."""
    path = store_path(store)
    connection = inspection.open_existing(path)
    print(path if isinstance(path, str) else f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    for held in inspection.holdings(connection):
        tokens = f"{held.prompt_tokens} + {held.completion_tokens} tokens"
        print(
            f"{held.stage:<16} {held.role:<10} {held.model} ({held.identity}): {held.replies} replies, {tokens}, "
            f"{held.dollars:.4f} dollars, {held.first} to {held.last}"
        )
    for name, spent in inspection.ledgers(connection).items():
        under_way = f", {spent.reserved_dollars:.4f} reserved" if spent.reserved_tokens else ""
        print(f"ledger {name}: {spent.dollars:.4f} dollars, {spent.tokens} tokens, {spent.calls} calls{under_way}")


def export(
    file: Annotated[Path | None, typer.Argument(help="File to write (default: standard output).")] = None,
    stage: _Stage = None,
    role: _Role = None,
    before: _Before = None,
    used: Annotated[bool, typer.Option("--used", help="Only replies that the lineage of this tree used.")] = False,
    store: _File = None,
) -> None:
    """Write requests and replies as JSON lines, compressed if the file's name ends in .gz."""
    keys = used_by_all(current_lineage().stages) if used else None
    lines = inspection.export(inspection.open_existing(store_path(store)), Which(stage, role, before), keys)
    if file is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    content = "".join(f"{line}\n" for line in lines).encode()
    file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


def import_(
    file: Annotated[Path, typer.Argument(help="File that `vignette store export` wrote.", exists=True, dir_okay=False)],
    store: _File = None,
) -> None:
    """Add exported replies, so that a rebuild with the same fingerprints and params makes no calls."""
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        added, held = inspection.import_replies(store_path(store), lines, str(file))
    print(f"{added} replies added, {held} were there already")


def prune(
    stage: _Stage = None,
    role: _Role = None,
    before: _Before = None,
    stale: Annotated[
        bool, typer.Option("--stale", help="Only replies of models that fingerprints/ no longer names.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only count.")] = False,
    store: _File = None,
) -> None:
    """Delete replies."""
    path = store_path(store)
    connection = inspection.open_existing(path)
    which = Which(stage, role, before, other_than=_current() if stale else None)
    if not yes:
        matching, held = (inspection.count(connection, chosen) for chosen in (which, Which()))
        print(f"{matching} of {held} replies match; repeat with --yes to delete")
        return
    deleted = inspection.prune(connection, which, path)
    print(f"{deleted} replies deleted, {inspection.count(connection, Which())} left")


def ledger(name: Annotated[str, typer.Argument(help="Name of the ledger.")], store: _File = None) -> None:
    """Set a ledger back to zero."""
    path = store_path(store)
    inspection.clear_ledger(inspection.open_existing(path), name, path)
    print(f"ledger {name}: 0 dollars, 0 tokens, 0 calls")


def store_path(store: str | None = None) -> Where:
    """The store that the user named, or that of this clone."""
    where = store or load_params().runtime.store
    if where is None:
        return workspace() / STORE
    return where if is_postgres(where) else Path(where)


def _current() -> list[str]:
    found = [read_fingerprint(fingerprint_path(FINGERPRINTS, role), role) for role in load_params().roles]
    return [fingerprint.key for fingerprint in found if fingerprint is not None]


SUBCOMMANDS = [show, export, import_, prune, ledger]
