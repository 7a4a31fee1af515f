"""Checks the response store, copies its replies, and shows and sets budget ledgers."""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from flows.repository.params import COLLECT, load_params, response_store
from flows.repository.pipeline import MAIN
from flows.repository.workspace import FINGERPRINTS
from flows.runtime.folders import require_new_file, write_new_file
from schemas.errors import ParamsError, StoreError, did_you_mean
from tasks.progress import number_of
from tasks.transport.shown import printable, public_params

if TYPE_CHECKING:
    from schemas.params.llm import RoleName
    from tasks.transport.database import Where

_File = Annotated[str | None, typer.Option("--store", help="File or database (default: that of this clone).")]
_Stage = Annotated[str | None, typer.Option(help="Only replies of this stage.")]
_Role = Annotated[str | None, typer.Option(help="Only replies of this role.")]
EXPORT, MISSING = "vignette store export", "vignette store missing"


def check(
    drop: Annotated[bool, typer.Option("--drop", help="Delete the replies that cannot be read.")] = False,
    store: _File = None,
) -> None:
    """Check the database, every reply, and the ledgers against the costs of the replies."""
    from tasks.transport import inspection

    path = store_path(store)
    with inspection.open_existing(path) as connection:
        found = inspection.check(connection)
        print(f"{number_of(found.replies, 'reply', 'replies')}, of which {len(found.unreadable)} cannot be read")
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
        raise StoreError(
            f"{public_params(str(path))}: {len(found.unreadable)} replies cannot be read; delete them with --drop"
        )


def export(
    file: Annotated[Path | None, typer.Argument(help="File to write (default: standard output).")] = None,
    stage: _Stage = None,
    role: _Role = None,
    used: Annotated[bool, typer.Option("--used", help="Only replies that the lineage of this tree used.")] = False,
    store: _File = None,
) -> None:
    """Write requests and replies as JSON lines, compressed if the file's name ends in .gz."""
    from flows.lineage.lineage import current_lineage
    from flows.repository.kept_runs import used_keys
    from tasks.transport import inspection

    require_new_file(file, EXPORT)
    keys = used_keys(current_lineage().stages) if used else None
    with inspection.open_existing(store_path(store)) as connection:
        lines = inspection.export(connection, stage, role, keys)
        if file is None:
            sys.stdout.writelines(f"{line}\n" for line in lines)
            return
        content = "".join(f"{line}\n" for line in lines).encode()
    write_new_file(file, gzip.compress(content, mtime=0) if file.suffix == ".gz" else content, EXPORT)


def missing(
    out: Annotated[Path, typer.Option(help="File to write; further models have their own.")],
    stages: Annotated[list[str] | None, typer.Argument(help="Stages to rebuild (default: all).")] = None,
    pipeline: Annotated[Path, typer.Option(help="The dvc.yaml to rebuild.")] = MAIN,
) -> None:
    """Rebuild as far as stored replies go, send nothing, and write the requests that are missing for a batch API."""
    from flows.commands.repro import main as repro
    from tasks.transport import inspection
    from tasks.transport.database import exists
    from tasks.transport.missing import batch_files

    require_new_file(out, MISSING)
    out, begun, status, os.environ[COLLECT] = out.resolve(), time.time(), 0, "1"
    try:
        repro(stages, pipeline, probe=False, dry_run=False, yes=True, keep_server=False)
    except typer.Exit as ended:
        status = ended.exit_code
    files: list[tuple[str, list[str]]] = []
    if exists(store_path()):
        with inspection.open_existing(store_path()) as connection:
            files = list(batch_files(connection, begun))
    for number, (role, lines) in enumerate(files, 1):
        file = out if number == 1 else out.with_stem(f"{out.stem}-{number}")
        write_new_file(file, "".join(f"{line}\n" for line in lines).encode(), MISSING)
        print(f"{file}: {number_of(len(lines), 'request')} to the {role}; import the results, then run this again")
    if not files and status == 0:
        print("no request is missing")
    raise typer.Exit(0 if files else status)


def import_(
    file: Annotated[Path, typer.Argument(help="Exported replies or a batch's results.", exists=True, dir_okay=False)],
    store: _File = None,
) -> None:
    """Add exported replies, so that a rebuild makes no calls, or a batch's results for what `missing` wrote."""
    from tasks.transport import inspection
    from tasks.transport.fingerprint import parse_fingerprint
    from tasks.transport.missing import import_results
    from tasks.transport.untrusted import json_lines

    first = next((row for _, row in json_lines(file)), None)
    if isinstance(first, dict) and "custom_id" in first:
        params = load_params()
        files = [one for role in params.roles for one in FINGERPRINTS.rglob(f"{role}.json")]
        models = [parse_fingerprint(one.read_text(encoding="utf-8"), cast("RoleName", one.stem)) for one in files]
        found = import_results(store_path(store), file, params.budget.ledger, params.prices, models)
        print(f"{number_of(found.added, 'reply', 'replies')} added, booked at {found.dollars:.4f} dollars")
        for problem in found.problems:
            print(f"{file}: {problem}", file=sys.stderr)
        return
    added, held = inspection.import_replies(store_path(store), file)
    print(f"{number_of(added, 'reply', 'replies')} added, already there: {held}")


def ledger(
    name: Annotated[str | None, typer.Argument(help="Ledger (default: print all).")] = None,
    dollars: Annotated[
        float | None, typer.Option(help="Set the ledger to what the provider says was spent, or to 0.", min=0.0)
    ] = None,
    store: _File = None,
) -> None:
    """Print what was spent, or set a ledger to what the provider says, or back to zero."""
    from tasks.transport import inspection

    if dollars is not None and name is None:
        raise ParamsError("--dollars: name the ledger to set")
    with inspection.open_existing(store_path(store)) as connection:
        if name is not None and dollars is not None:
            inspection.set_ledger(connection, name, dollars)
        held = inspection.ledgers(connection)
        if name is not None and name not in held:
            raise ParamsError(f"ledger {name}: none; found {', '.join(held) or 'none'}{did_you_mean(name, held)}")
        for one, spent in held.items() if name is None else [(name, held[name])]:
            line = f"ledger {one}: {spent.dollars:.4f} dollars, {spent.tokens} tokens, {number_of(spent.calls, 'call')}"
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


SUBCOMMANDS = [check, missing, export, import_, ledger]
