"""One round of the watch, as a function and as the Prefect flow that `vignette watch serve` and prefect.yaml run."""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from filelock import FileLock, Timeout
from prefect import flow, task
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.runtime import task_run
from prefect.states import Completed, Failed

from flows.lineage.comparing import FOLDER, compare_lineages
from flows.lineage.lineage import current_lineage, find_lineage, recorded_lineages, run_name
from flows.rebuild.flow_run import PARENT_TASK
from flows.rebuild.watch_tree import WatchTree
from flows.repository.params import load_params
from flows.repository.workspace import root, workspace
from schemas.errors import BusyError, VignetteError, explained
from schemas.params import Params
from schemas.params.runtime import Notify, OutcomeState

CLI = "flows.commands.cli"
TIMEOUT_S = 30


@dataclass(frozen=True)
class RoundOutcome:
    """Result of one round. ``causes``: roles whose model changed, and the branch if it has new commits."""

    state: OutcomeState
    causes: tuple[str, ...] = ()
    detail: str = ""
    lineage: str = ""

    def __str__(self) -> str:
        who = f" ({', '.join(self.causes)})" if self.causes else ""
        return f"watch: {self.state}{who}" + (f": {self.detail}" if self.detail else "")


@flow(name="watch", persist_result=False)
def watch(dry_run: bool = False) -> State[Any]:
    """Run one round. The run's state is named after the outcome: Rebuilt, Unchanged, Failed, Skipped."""
    outcome = _round_as_task(dry_run)
    print(outcome, flush=True)
    emit_event(
        f"vignette.watch.{outcome.state.replace(' ', '-')}",
        resource={"prefect.resource.id": "vignette.watch", "prefect.resource.name": str(root())},
        payload=asdict(outcome),
    )
    make = Failed if outcome.state == "failed" else Completed
    return make(name=outcome.state.capitalize(), message=str(outcome))


@task(name="round", task_run_name="round", persist_result=False)
def _round_as_task(dry_run: bool) -> RoundOutcome:
    os.environ[PARENT_TASK] = str(task_run.id)  # the rebuild is shown beneath it
    return watch_once(dry_run=dry_run)


def watch_once(*, dry_run: bool = False) -> RoundOutcome:
    """Probe every role; when a model or the branch changed, rebuild in the watch's tree, and commit the lineage.

    A failed round leaves the branch of lineages as it is, so that the next round tries again; what an interrupted round
    finished is found in DVC's cache and the response store. What scheduled runs spend counts towards ``watch.budget``.
    """
    params = load_params()
    try:
        with FileLock(workspace() / "watch.lock", timeout=0):
            outcome = _round(params, WatchTree(params.watch), dry_run)
    except Timeout:
        outcome = RoundOutcome("skipped", detail="another round of the watch is in progress in this clone")
    except BusyError as error:
        outcome = RoundOutcome("skipped", detail=str(error))
    except VignetteError as error:
        outcome = RoundOutcome("failed", detail=f"{error}; the next round tries again")
    except Exception as error:  # nobody looks on: whatever fails, the outcome is printed and notified
        outcome = RoundOutcome("failed", detail=_unexpected(error))
    notify(params.watch.notify, asdict(outcome))
    return outcome


def _round(params: Params, tree: WatchTree, dry_run: bool) -> RoundOutcome:
    """Probe in the watch's tree, and rebuild it for each role whose model changed, or for new commits of the branch."""
    has_moved = tree.reset()
    if params.watch.push and not dry_run and (problem := tree.push_pending()):
        print(f"watch: still to be pushed: {', '.join(tree.pending())}: {problem}", file=sys.stderr)
    if tree.run(CLI, "probe") != 0:
        raise VignetteError("probing failed; see the message above")
    causes = tuple(tree.changed_roles())
    if has_moved:  # then a fingerprint may have changed by an edit: of its settings or, for the simulator, of code
        edited = tree.edited_roles()
        causes = (f"branch {tree.branch}", *(role for role in causes if role not in edited))
    if causes:  # a new tree has no outputs, and a round that was killed may have left others
        tree.run("dvc", "checkout", "--force", "--quiet")
    if dry_run and causes:
        if tree.run(CLI, "repro", "--no-probe", "--dry-run") != 0:
            return RoundOutcome("failed", causes, "what would be rebuilt is not known; see the message above")
        return RoundOutcome("would rebuild", causes, "what is listed above")
    return _rebuild(tree, causes, push=params.watch.push) if causes else RoundOutcome("unchanged")


def _rebuild(tree: WatchTree, causes: tuple[str, ...], *, push: bool) -> RoundOutcome:
    before = tree.tip()
    former = "" if before is None else find_lineage(before).lineage.id
    if tree.run(CLI, "repro", "--no-probe", "--yes", "--keep-server") != 0:
        return RoundOutcome("failed", causes, "the rebuild failed; no lineage was added, the next round tries again")
    lineage = current_lineage(tree.folder).id
    if lineage == former:
        tree.commit(f"Same lineage {lineage}: {', '.join(causes)}", f"lineage/{lineage}")
        tree.keep()
        return RoundOutcome("unchanged", causes, "same artefacts as before", lineage)
    tag = f"lineage/{lineage}"
    commit = tree.commit(f"Lineage {lineage}: {', '.join(causes)}", tag)
    tree.keep()
    # It was recorded by the last stage, before its commit was made.
    recorded_lineages().rename(lineage, run_name(commit, tree.folder), {"git.revision": commit, "git.dirty": "false"})
    said = [f"{former} -> {lineage}, tag {tag}" if former else f"the first lineage, {lineage}, tag {tag}"]
    if push and (problem := tree.push(tag)):
        said.append(f"not pushed: {problem}")
    said.append(f"to compare: vignette compare HEAD {tag}" if before is None else _compare(before, tag))
    return RoundOutcome("rebuilt", causes, ", ".join(said), lineage)


def _compare(before: str, tag: str) -> str:
    a, b = find_lineage(before), find_lineage(tag)
    try:
        a, b = (replace(side, name=side.lineage.id) for side in (a, b))
        (files,) = compare_lineages(a, [b], root() / FOLDER)
    except Exception as error:  # the lineage is committed, and its outcome must be told
        return f"not compared: {_unexpected(error)}"
    return f"comparison in {files[-1].relative_to(root())}"


def _unexpected(error: Exception) -> str:
    """A line on the error; where it cannot be explained, its traceback is printed."""
    if said := explained(error):
        return said
    traceback.print_exception(error)
    return f"unexpected {type(error).__name__}: {error}"


def notify(params: Notify, outcome: Mapping[str, Any]) -> None:
    """Pass ``outcome`` as JSON to the command, if its key ``state`` is one to notify of.

    A notification that fails is printed, and does not fail the round.
    """
    if params.command and outcome["state"] in params.outcomes:
        try:
            subprocess.run(params.command, input=json.dumps(outcome), text=True, check=True, timeout=TIMEOUT_S)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"watch: not notified: {params.command[0]}: {error}", file=sys.stderr)
