"""Watches the models behind the endpoints, and rebuilds what depends on one that changed.

``vignette watch serve`` serves the Prefect deployment ``watch/endpoints`` on the project's server, on the
schedule of params.yaml; ``once`` runs it now; ``once --dry-run`` prints what would be rebuilt. A served deployment is
also set off by hand: ``prefect deployment run watch/endpoints``.
"""

import hashlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.engine.params import BUDGET, load_params
from flows.engine.server import use_server
from flows.engine.workspace import root
from schemas.errors import BusyError, VignetteError
from schemas.params.llm import Budget

if TYPE_CHECKING:
    from flows.engine.last_good import LastGood

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

    A rebuild that fails leaves the last good artefacts and fingerprints, so that the next round tries again; one that
    was killed is gone on with. What scheduled runs spend counts towards ``watch.budget``.
    """
    from flows.commands.repro import exclusive
    from flows.engine.last_good import LastGood

    try:
        with exclusive(), _budget(load_params().watch.budget):
            return _round(LastGood(), dry_run)
    except BusyError as error:
        return Outcome("skipped", detail=str(error))
    except VignetteError as error:
        return Outcome("failed", detail=f"{error}; the artefacts are as before, the next round tries again")


def _round(good: "LastGood", dry_run: bool) -> Outcome:
    roles = good.unfinished()
    if not roles:
        good.keep()
    try:
        roles = tuple(dict.fromkeys([*roles, *_changed(), *_not_built()]))
        if roles and dry_run:
            return Outcome("would rebuild", roles, _plan())
    except BaseException:
        good.restore_fingerprints()  # else a change seen before the error would pass for known in the next round
        raise
    finally:
        if dry_run:
            good.restore_fingerprints()
    return _rebuild(good, roles) if roles else Outcome("unchanged")


def _changed() -> list[str]:
    from flows.commands.probe import probe_roles

    params = load_params()
    return [result.role for result in probe_roles(params, list(params.roles)) if result.changed]


def _not_built() -> list[str]:
    """Roles whose fingerprint is not the one in dvc.lock: a probe by hand, or a rerun that failed, changed it."""
    from flows.engine.lineage import FINGERPRINTS, current_lineage

    built = {path: md5 for stage in current_lineage().stages for path, md5 in stage.deps.items()}
    files = {path: Path(path) for path in built if Path(path).parent == FINGERPRINTS and Path(path).suffix == ".json"}
    now = {path: hashlib.md5(file.read_bytes()).hexdigest() for path, file in files.items() if file.exists()}
    return [Path(path).stem for path, md5 in sorted(now.items()) if md5 != built[path]]


def _plan() -> str:
    from flows.commands.repro import MAIN, print_plan

    return ", ".join(print_plan(MAIN)) or "nothing"


def _rebuild(good: "LastGood", roles: tuple[str, ...]) -> Outcome:
    from flows.commands.repro import MAIN, backfill, dvc_repro

    good.begin(roles)
    status = None
    try:
        status = dvc_repro(MAIN)
    finally:
        if status != 0:  # an interrupt ends up here too
            good.restore()
    if status != 0:
        return Outcome("failed", roles, "the last good artefacts are back in place; the next round tries again")
    good.end()
    backfill()
    return Outcome("rebuilt", roles, _compare(good))


def _compare(good: "LastGood") -> str:
    from flows.commands.compare import FOLDER, compare_pair
    from flows.engine.lineages import NamedLineage, find_lineage

    after, kept = find_lineage("workspace"), good.lineage()
    if kept.id == after.lineage.id:
        return "same artefacts as before"
    before = NamedLineage(kept.id, kept, None, good.identities())
    try:
        files = compare_pair(before, replace(after, name=after.lineage.id), root() / FOLDER, seed=0)
    except VignetteError as error:
        return f"not compared: {error}"
    return f"{kept.id} -> {after.lineage.id}, comparison in {files[-1].relative_to(root())}"


@contextmanager
def _budget(budget: Budget) -> Iterator[None]:
    """Hand the cap of scheduled runs to the probes here and to the stages that DVC starts."""
    before = os.environ.get(BUDGET)
    os.environ[BUDGET] = budget.model_dump_json()
    try:
        yield
    finally:
        if before is None:
            del os.environ[BUDGET]
        else:
            os.environ[BUDGET] = before


def serve() -> None:
    """Serve the Prefect deployment watch/endpoints, on the schedule of params.yaml, until interrupted.

    Rounds never overlap. A round is also started by: prefect deployment run watch/endpoints
    """
    _prepare()
    from flows.commands.watch_flow import watch  # loads prefect, which reads its settings then

    schedule = load_params().watch
    when = {"cron": schedule.cron} if schedule.cron else {"interval": schedule.every_seconds}
    watch.serve(name=DEPLOYMENT, limit=1, pause_on_shutdown=True, print_starting_message=True, **when)


def once(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be rebuilt.")] = False,
) -> None:
    """Run one round now: probe, and rebuild what a changed model affects."""
    _prepare()
    outcome = watch_once(dry_run=dry_run)
    print(outcome)
    raise typer.Exit(1 if outcome.state == "failed" else 0)


def _prepare() -> None:
    os.chdir(root())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load_params()
    use_server()


SUBCOMMANDS = [serve, once]
