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
from flows.repository.params import load_params
from flows.repository.workspace import root
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
            print("watch: no rounds are started; starting again", file=sys.stderr, flush=True)
            while not (is_own or server_answers()):
                time.sleep(CHECK_S)
            if is_own:
                os.environ["PREFECT_API_URL"] = _own_server_again()
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
    answered, was_deployed = time.monotonic(), False
    while process.poll() is None and time.monotonic() - answered < SILENCE_S:
        time.sleep(CHECK_S)
        if server_answers():
            answered = time.monotonic()
            deployed = _is_deployed()
            if was_deployed and deployed is False:
                print(f"watch: the deployment watch/{DEPLOYMENT} was deleted", file=sys.stderr, flush=True)
                return
            was_deployed = was_deployed or deployed is True
        elif is_own_server() and not own_server_runs():
            return


def _is_deployed() -> bool | None:
    """Whether the server knows the deployment; None when it does not tell."""
    import httpx

    user, _, token = os.environ.get("PREFECT_API_AUTH_STRING", "").partition(":")
    url = f"{os.environ['PREFECT_API_URL']}/deployments/name/watch/{DEPLOYMENT}"
    try:
        status = httpx.get(url, auth=(user, token) if token else None, timeout=CHECK_S).status_code
    except httpx.HTTPError:
        return None
    return {200: True, 404: False}.get(status)


def _own_server_again() -> str:
    """Start the server of this clone again, however long that takes."""
    while True:
        try:
            return ensure_server()
        except VignetteError as error:
            print(f"watch: {error}; trying again", file=sys.stderr, flush=True)
            time.sleep(RETRY_S)


def status() -> None:
    """Show the last lineage and what is still to be pushed, since when."""
    os.chdir(root())
    params = load_params().watch
    from flows.lineage.lineage import find_lineage
    from flows.rebuild.watch_tree import WatchTree

    tree = WatchTree(params)
    tip = tree.tip()
    last = "none yet" if tip is None else f"{find_lineage(tip).lineage.id}, commit {tip[:10]}"
    print(f"last lineage: {last} of branch {params.lineages}")
    print(f"to be pushed: {len(tree.pending()) or 'nothing'}")
    for tag, since in tree.pending().items():
        print(f"  {tag} since {since}")


SUBCOMMANDS = [serve, once, poll, status]
