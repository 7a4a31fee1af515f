"""Watches the models behind the endpoints, and rebuilds what depends on one that changed.

``python -m flows.watch serve`` serves the Prefect deployment ``watch/endpoints`` on the project's server, on the
schedule of params.yaml; ``once`` runs it now; ``once --dry-run`` prints what would be rebuilt. A served deployment is
also set off by hand: ``prefect deployment run watch/endpoints``.
"""

import argparse
import json
import os
import signal
import sys
from dataclasses import dataclass

from flows.params import BUDGET, load_params
from flows.server import use_server
from flows.workspace import root
from schemas.errors import BusyError, VignetteError

DEPLOYMENT = "endpoints"


@dataclass(frozen=True)
class Outcome:
    """What one round came to: unchanged, would rebuild (dry run), rebuilt, failed, or skipped for another run."""

    state: str
    roles: tuple[str, ...] = ()
    detail: str = ""

    def __str__(self) -> str:
        who = f" ({', '.join(self.roles)})" if self.roles else ""
        return f"watch: {self.state}{who}" + (f": {self.detail}" if self.detail else "")


def watch_once(*, dry_run: bool = False) -> Outcome:
    """Probe every role; when one changed, rebuild through DVC, record the lineage and compare it with the last one.

    A rebuild that fails leaves the last good artefacts and fingerprints, so that the next round tries again.
    """
    from flows.rerun import exclusive

    try:
        with exclusive():
            return _round(dry_run)
    except BusyError as error:
        return Outcome("skipped", detail=str(error))


def _round(dry_run: bool) -> Outcome:
    from flows.last_good import LastGood
    from flows.lineage import current_lineage
    from flows.probe import probe_all
    from flows.rerun import MAIN, backfill, dry_run_stages, dvc_repro

    good = LastGood()
    good.keep()
    params = load_params()
    before = current_lineage()
    changed = tuple(result.role for result in probe_all(params) if result.changed)
    if not changed:
        return Outcome("unchanged")
    if dry_run:
        stages = dry_run_stages(MAIN)
        good.restore()
        return Outcome("would rebuild", changed, ", ".join(stages) or "nothing")
    os.environ[BUDGET] = json.dumps(params.watch.budget.model_dump())
    try:
        status = dvc_repro(MAIN)
    finally:
        del os.environ[BUDGET]
    if status != 0:
        good.restore()
        return Outcome("failed", changed, "the last good artefacts are back in place; the next round tries again")
    backfill()
    return Outcome("rebuilt", changed, _compare(before.id, current_lineage().id))


def _compare(before: str, after: str) -> str:
    from flows.compare import FOLDER, compare_pair
    from flows.lineages import find_lineage

    if before == after:
        return "same artefacts as before"
    try:
        files = compare_pair(find_lineage(before), find_lineage(after), root() / FOLDER, seed=0)
    except VignetteError as error:
        return f"not compared: {error}"
    return f"{before} -> {after}, comparison in {files[-1]}"


def serve() -> None:
    """Serve the deployment until interrupted; rounds never overlap."""
    from flows.watch_flow import watch  # loads prefect, which reads its settings then

    schedule = load_params().watch
    when = {"cron": schedule.cron} if schedule.cron else {"interval": schedule.every_seconds}
    watch.serve(name=DEPLOYMENT, limit=1, pause_on_shutdown=True, print_starting_message=True, **when)


def main(arguments: list[str] | None = None) -> int:
    """``python -m flows.watch {serve,once} [--dry-run]``; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m flows.watch", description=__doc__)
    parser.add_argument("command", choices=["serve", "once"])
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(arguments)
    os.chdir(root())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        load_params()
        use_server()
        if options.command == "serve":
            serve()
            return 0
        outcome = watch_once(dry_run=options.dry_run)
    except VignetteError as error:
        print(f"watch: {error}", file=sys.stderr)
        return 1
    print(outcome)
    return 1 if outcome.state == "failed" else 0


if __name__ == "__main__":
    sys.exit(main())
