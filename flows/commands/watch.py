"""Watches the models behind the endpoints, and rebuilds what a changed model affects."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated

import typer

from flows.rebuild.server import (
    ensure_server,
    is_own_server,
    own_server_runs,
    prefect_environment,
    server_answers,
    stop_if_unused,
    use_server,
)
from flows.runtime.params import load_params
from flows.runtime.workspace import root
from schemas.errors import VignetteError

DEPLOYMENT = "endpoints"
CHECK_S = 5.0
SILENCE_S = 300.0
"""After this time without an answer, a server that runs counts as dead; a busy machine takes minutes."""
RETRY_S = 30.0
STOP_S = 20.0


def serve() -> None:
    """Serve the Prefect deployment watch/endpoints on the schedule of params.yaml until interrupted.

    Rounds never overlap. In another terminal, in this folder, `prefect deployment run watch/endpoints` starts a round.
    A Prefect server that died is started again.
    """
    _prepare()
    use_server()
    is_own = is_own_server()
    try:
        while True:
            with _polling() as process:
                _wait(process)
            print("watch: the Prefect server or the polling process died; starting again", file=sys.stderr, flush=True)
            if is_own:
                os.environ["PREFECT_API_URL"] = _own_server_again()
            else:
                _wait_for_server()
    finally:
        stop_if_unused()


def poll() -> None:
    """Poll the server for rounds that are due and run them; `serve` starts this and restarts it when it ends."""
    _prepare()
    from prefect.schedules import Cron, Interval  # prefect reads its settings when it is imported

    from flows.commands.watch_round import watch

    params = load_params().watch
    schedule = Cron(params.cron, timezone=params.timezone) if params.cron else Interval(params.every_seconds)
    watch.serve(name=DEPLOYMENT, limit=1, pause_on_shutdown=True, print_starting_message=True, schedule=schedule)


def once(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be rebuilt.")] = False,
) -> None:
    """Run one round now."""
    _prepare()
    for name, value in prefect_environment().items():
        os.environ.setdefault(name, value)
    from flows.commands.watch_round import watch_once  # prefect reads its settings when it is imported

    outcome = watch_once(dry_run=dry_run)
    print(outcome)
    stop_if_unused()
    raise typer.Exit(1 if outcome.state == "failed" else 0)


def _prepare() -> None:
    os.chdir(root())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load_params()


@contextmanager
def _polling() -> Iterator[subprocess.Popen[bytes]]:
    quiet = ["-W", "ignore::RuntimeWarning"]  # Prefect's runner leaves a coroutine behind when it is stopped
    command = [sys.executable, *quiet, "-m", "flows.commands.cli", "watch", "poll"]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Return when the process, or that of the clone's server, has ended, or the server is silent for SILENCE_S."""
    answered = time.monotonic()
    while process.poll() is None and time.monotonic() - answered < SILENCE_S:
        time.sleep(CHECK_S)
        if server_answers():
            answered = time.monotonic()
        elif is_own_server() and not own_server_runs():
            return


def _own_server_again() -> str:
    """Start the server of this clone again, however long that takes."""
    while True:
        try:
            return ensure_server()
        except VignetteError as error:
            print(f"watch: {error}; trying again", file=sys.stderr, flush=True)
            time.sleep(RETRY_S)


def _wait_for_server() -> None:
    while not server_answers():
        time.sleep(CHECK_S)


SUBCOMMANDS = [serve, once, poll]
