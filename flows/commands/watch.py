"""Watches the models behind the endpoints, and rebuilds what a changed model affects."""

import os
import signal
import sys
from typing import Annotated

import typer

from flows.engine.params import load_params
from flows.engine.server import use_server
from flows.engine.workspace import root

DEPLOYMENT = "endpoints"


def serve() -> None:
    """Serve the Prefect deployment watch/endpoints on the schedule of params.yaml until interrupted.

    Rounds never overlap. A round is also started by: prefect deployment run watch/endpoints
    """
    _prepare()
    from flows.commands.watch_round import watch  # imports prefect, which reads its settings then

    schedule = load_params().watch
    when = {"cron": schedule.cron} if schedule.cron else {"interval": schedule.every_seconds}
    watch.serve(name=DEPLOYMENT, limit=1, pause_on_shutdown=True, print_starting_message=True, **when)


def once(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be rebuilt.")] = False,
) -> None:
    """Run one round now."""
    _prepare()
    from flows.commands.watch_round import watch_once

    outcome = watch_once(dry_run=dry_run)
    print(outcome)
    raise typer.Exit(1 if outcome.state == "failed" else 0)


def _prepare() -> None:
    os.chdir(root())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load_params()
    use_server()


SUBCOMMANDS = [serve, once]
