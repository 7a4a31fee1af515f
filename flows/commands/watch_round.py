"""One round of the watch, as a function and as the Prefect flow that `vignette watch serve` and prefect.yaml run."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.commands.compare import FOLDER, compare_pair
from flows.commands.probe import probe_roles
from flows.commands.repro import backfill, dvc_repro, exclusive, print_plan
from flows.engine.last_good import LastGood
from flows.engine.lineage import NamedLineage, current_lineage, find_lineage
from flows.engine.params import BUDGET, load_params
from flows.engine.pipeline import MAIN
from flows.engine.workspace import FINGERPRINTS, root
from schemas.errors import BusyError, VignetteError
from schemas.params.llm import Budget


@dataclass(frozen=True)
class Outcome:
    """Result of one round: unchanged, would rebuild (dry run), rebuilt, failed, or skipped because of another run."""

    state: str
    roles: tuple[str, ...] = ()
    detail: str = ""

    def __str__(self) -> str:
        who = f" ({', '.join(self.roles)})" if self.roles else ""
        return f"watch: {self.state}{who}" + (f": {self.detail}" if self.detail else "")


@flow(name="watch", persist_result=False)
def watch(dry_run: bool = False) -> State[Any]:
    """Run one round; the outcome is the message of the run's state."""
    outcome = watch_once(dry_run=dry_run)
    print(outcome, flush=True)
    return Failed(message=str(outcome)) if outcome.state == "failed" else Completed(message=str(outcome))


def watch_once(*, dry_run: bool = False) -> Outcome:
    """Probe every role; when a model changed, rebuild through DVC, record the lineage and compare it with the last one.

    A failed rebuild restores the last good artefacts and fingerprints, so that the next round tries again; an
    interrupted one is resumed. What scheduled runs spend counts towards ``watch.budget``.
    """
    try:
        with exclusive(), _budget(load_params().watch.budget):
            return _round(LastGood(), dry_run)
    except BusyError as error:
        return Outcome("skipped", detail=str(error))
    except VignetteError as error:
        return Outcome("failed", detail=f"{error}; the artefacts are unchanged, the next round tries again")


def _round(good: LastGood, dry_run: bool) -> Outcome:
    roles = good.unfinished()
    if not roles:
        good.keep()
    try:
        roles = tuple(dict.fromkeys([*roles, *_changed(), *_not_built()]))
        if roles and dry_run:
            return Outcome("would rebuild", roles, ", ".join(print_plan(MAIN)) or "nothing")
    except BaseException:
        good.restore_fingerprints()  # else the next round would not see a change that was found before the error
        raise
    finally:
        if dry_run:
            good.restore_fingerprints()
    return _rebuild(good, roles) if roles else Outcome("unchanged")


def _changed() -> list[str]:
    params = load_params()
    return [result.role for result in probe_roles(params, list(params.roles)) if result.changed]


def _not_built() -> list[str]:
    """Roles whose fingerprint differs from the one in dvc.lock, after a probe by hand or a failed rebuild."""
    built = {path: md5 for stage in current_lineage().stages for path, md5 in stage.deps.items()}
    roles = []
    for path, md5 in sorted(built.items()):
        file = Path(path)
        recorded = file.parent == FINGERPRINTS and file.suffix == ".json" and file.exists()
        if recorded and hashlib.md5(file.read_bytes()).hexdigest() != md5:
            roles.append(file.stem)
    return roles


def _rebuild(good: LastGood, roles: tuple[str, ...]) -> Outcome:
    good.begin(roles)
    status = None
    try:
        status = dvc_repro(MAIN)
    finally:
        if status != 0:  # also after an interrupt
            good.restore()
    if status != 0:
        return Outcome("failed", roles, "the last good artefacts are restored; the next round tries again")
    good.end()
    backfill()
    return Outcome("rebuilt", roles, _compare(good))


def _compare(good: LastGood) -> str:
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
    """Apply the cap of scheduled runs to the probes in this process and to the stages that DVC starts."""
    before = os.environ.get(BUDGET)
    os.environ[BUDGET] = budget.model_dump_json()
    try:
        yield
    finally:
        if before is None:
            del os.environ[BUDGET]
        else:
            os.environ[BUDGET] = before
