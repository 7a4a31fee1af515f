"""Looks into the response store: ``vignette store show | export | prune | ledger``."""

import argparse
import sys
from pathlib import Path

from flows.engine.clients import FINGERPRINTS, STORE
from flows.engine.params import load_params
from flows.engine.workspace import workspace
from schemas.errors import VignetteError
from tasks.llm.fingerprint import fingerprint_path, read_fingerprint
from tasks.llm.inspection import (
    Which,
    clear_ledger,
    count,
    export,
    holdings,
    ledgers,
    open_existing,
    prune,
)


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options, options.store or workspace() / STORE)
    except VignetteError as error:
        print(f"store: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vignette store", description=__doc__)
    parser.add_argument("--store", type=Path, help="its file (default: this clone's)")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("show", help="what it holds and what was spent").set_defaults(run=_show)
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--stage")
    chosen.add_argument("--role")
    chosen.add_argument("--before", help="only replies older than this date (2026-01-31) or time")
    exporting = commands.add_parser("export", parents=[chosen], help="requests and replies as JSON lines")
    exporting.add_argument("file", type=Path, nargs="?", help="default: standard output")
    exporting.set_defaults(run=_export)
    pruning = commands.add_parser("prune", parents=[chosen], help="delete replies")
    pruning.add_argument("--stale", action="store_true", help="only of identities that fingerprints/ no longer names")
    pruning.add_argument("--yes", action="store_true", help="delete; without it, only say how many")
    pruning.set_defaults(run=_prune)
    ledger = commands.add_parser("ledger", help="set a ledger back to zero")
    ledger.add_argument("name")
    ledger.set_defaults(run=_ledger)
    return parser


def _show(options: argparse.Namespace, path: Path) -> None:
    connection = open_existing(path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    for held in holdings(connection):
        tokens = f"{held.prompt_tokens} + {held.completion_tokens} tokens"
        print(
            f"{held.stage:<16} {held.role:<10} {held.model} ({held.identity}): {held.replies} replies, {tokens}, "
            f"{held.dollars:.4f} dollars, {held.first} to {held.last}"
        )
    for name, spent in ledgers(connection).items():
        under_way = f", {spent.reserved_dollars:.4f} reserved" if spent.reserved_tokens else ""
        print(f"ledger {name}: {spent.dollars:.4f} dollars, {spent.tokens} tokens, {spent.calls} calls{under_way}")


def _export(options: argparse.Namespace, path: Path) -> None:
    lines = export(open_existing(path), _which(options))
    if options.file is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    with options.file.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _prune(options: argparse.Namespace, path: Path) -> None:
    connection = open_existing(path)
    which = _which(options, other_than=_current() if options.stale else None)
    if not options.yes:
        print(f"{count(connection, which)} of {count(connection, Which())} replies fit; repeat with --yes to delete")
        return
    print(f"{prune(connection, which, path)} replies deleted, {count(connection, Which())} left")


def _ledger(options: argparse.Namespace, path: Path) -> None:
    clear_ledger(open_existing(path), options.name, path)
    print(f"ledger {options.name}: 0 dollars, 0 tokens, 0 calls")


def _which(options: argparse.Namespace, other_than: list[str] | None = None) -> Which:
    return Which(options.stage, options.role, options.before, other_than=other_than)


def _current() -> list[str]:
    found = [read_fingerprint(fingerprint_path(FINGERPRINTS, role), role) for role in load_params().roles]
    return [fingerprint.key for fingerprint in found if fingerprint is not None]


if __name__ == "__main__":
    sys.exit(main())
