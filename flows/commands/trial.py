"""Runs the stages that ask models on a few records, and estimates what the whole run would cost."""

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml

from flows.commands.estimate import print_estimates, print_ledger, print_lines
from flows.commands.probe import probe_roles
from flows.commands.stage import STOPS_CALLS
from flows.repository.git import uncommitted
from flows.repository.params import load_params
from flows.repository.pipeline import MAIN, model_stages, needed_by, read_pipeline
from flows.repository.workspace import FINGERPRINTS, STORE, workspace
from flows.runtime.confirmation import require_confirmation
from schemas.errors import VignetteError, explained
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.transport.instructions import use_instruction_set
from tasks.transport.shown import printable

if TYPE_CHECKING:
    from flows.runtime.costs import Line

_NAMED = 5
"""Most files that are named."""
_NOT_CLONED = ("params.yaml", "dvc.lock", "fingerprints/", "reports/", "returned/")
"""Params are copied to the clone; the others are written there, or belong to the notes of this lineage."""
_SHOWN = 1500
"""Most characters of a reply that are shown."""


def main(
    records: Annotated[
        int | None, typer.Option(min=2, help="Number of records (default 5, whole 10, estimate: of params.yaml).")
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Run nothing: only estimate the whole run.")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Rebuild every stage, with the report, in a clone.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
) -> None:
    """Run the stages that ask models on a few records, with the models of params.yaml, and estimate the whole run.

    What it writes is in .vignette/trial; data/, reports/, fingerprints/ and dvc.lock stay as they are. It shares the
    response store and its ledger, so that no call is paid for twice and the budget holds for both. After a stage that
    failed, no stage follows that needs it, or asks a model that no stage used with success before.

    With --whole, all stages are rebuilt, also those that train and report, in a clone of the last commit for itself
    (.vignette/whole).

    An estimate is a rehearsal: the simulator does the work on a few documents, and its requests are counted and scaled.
    """
    params = load_params()
    use_instruction_set(params.runtime.instruction_set)
    if estimate:
        sample = params.sample if records is None else params.sample.model_copy(update={"records": records})
        print_estimates(params.model_copy(update={"sample": sample}), MAIN)
        return
    from flows.runtime.rehearsal import FEW, fewer

    short = params.visits.model_copy(update={"long_visits": []})
    few = fewer(params.model_copy(update={"visits": short}), records or (2 * FEW if whole else FEW))
    if whole:
        _rebuild_small(params, few, yes=yes)
        return
    folder = (workspace() / "trial").resolve()
    if not yes:
        require_confirmation(few, MAIN, [*model_stages(MAIN)], show=print_lines)
    probe_roles(few, [*few.roles], folder / FINGERPRINTS)
    lines, failed = asyncio.run(_run(params, few, folder))
    print(f"\nthe whole run, {params.sample.records:,} records, estimated from the calls of the trial:\n", flush=True)
    print_lines(lines, ["not counted: patients with many visits (visits.long_visits), for which see --estimate"])
    print_ledger(params)
    print(f"\ntables of the trial: {folder / 'reports/tables'}; to run it all: vignette repro")
    if failed:
        raise VignetteError(f"failed: {', '.join(failed)}; see above. Answered calls are kept")


def _rebuild_small(params: Params, few: Params, *, yes: bool) -> None:
    """Rebuild every stage with ``few`` in a clone of the last commit, which shares the store and its ledger."""
    from flows.lineage.recorded import OwnClone
    from flows.runtime.rehearsal import with_little_training

    shared = {"store": params.runtime.store or str((workspace() / STORE).resolve())}
    own = {"runtime": params.runtime.model_copy(update=shared), "text_confounding": params.text_confounding}
    few = with_little_training(few).model_copy(update=own)  # of the second pipeline, whose sizes fit together
    if left_out := _left_out():
        print(left_out, file=sys.stderr)
    clone = OwnClone((workspace() / "whole").resolve())
    clone.set_params(yaml.safe_dump(few.model_dump(mode="json"), sort_keys=False, allow_unicode=True))
    clone.vignette("repro", *(["--yes"] if yes else []))
    clone.complete()
    print(f"\nreport of the trial: {clone.folder / 'reports/index.html'}; to run it all: vignette repro")


def _left_out() -> str:
    """Says which changes the clone of the last commit lacks; empty where there is none but in what a run writes."""
    files = [file for file in uncommitted() if not file.startswith(_NOT_CLONED)]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    shown = f"{', '.join(files[:_NAMED])}{more}"
    return f"trial: runs on the last commit, without the changes in {shown}; commit them to try them" if files else ""


async def _run(params: Params, few: Params, folder: Path) -> tuple[list["Line"], list[str]]:
    """Run the stages and print a line for each; returns the estimate of the whole run, and the stages that failed."""
    from flows.runtime.costs import identified, priced
    from flows.runtime.rehearsal import run_small

    asked, needs = model_stages(MAIN), needed_by(read_pipeline(MAIN))
    paid = {role for role, settings in few.roles.items() if not settings.is_simulator}
    failed, worked, lines = dict[str, set[RoleName]](), set[RoleName](), list["Line"]()

    def is_stopped(name: str) -> bool:
        roles = {*asked.get(name, ())}
        by = [other for other, doubted in failed.items() if other in needs[name] or roles & doubted]
        if by:
            failed[name] = set()
            print(f"{name}: not run, because of {', '.join(by)}", flush=True)
        return bool(by)

    begun = time.monotonic()
    async for ran in run_small(MAIN, asked, params, few, folder, is_stopped):
        name, roles = ran.files.name, {*asked.get(ran.files.name, ())}
        lines += [priced(params, name, one.times(ran.times), "from the trial") for one in ran.used]
        calls = ", ".join(f"{one.calls} calls to the {one.role}" for one in ran.used) or "no call"
        print(f"{name}: {calls}, {time.monotonic() - begun:.1f} s", flush=True)
        begun = time.monotonic()
        if ran.error is None:
            worked |= roles
        elif explained(ran.error) is None and not isinstance(ran.error, VignetteError):
            raise ran.error
        else:
            failed[name] = paid if isinstance(ran.error, STOPS_CALLS) else roles & paid - worked
            print(f"{name}: {explained(ran.error) or ran.error}", file=sys.stderr)
        _show_bad_reply(ran.files.outs)
    return identified(params, lines), [*failed]


def _show_bad_reply(outs: Mapping[str, Path]) -> None:
    """Print one reply of a stage that could not be used, and the file that holds all."""
    import pandas as pd

    for stem, file in outs.items():
        if not stem.startswith("unscored_") or not file.exists():
            continue
        rows = pd.read_parquet(file)
        for row in rows[rows["detail"].notna()].head(1).itertuples():
            print(
                f"  one of {len(rows)} that could not be scored (all in {file}), record {row.record}, step {row.step}:"
            )
            print(f"  {row.reason}. The reply:")
            print("\n".join(f"    {printable(line)}" for line in str(row.detail)[:_SHOWN].splitlines()))
