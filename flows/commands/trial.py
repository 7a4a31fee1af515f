"""Runs the stages that ask models on a few records, and estimates what the whole run would cost."""

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.estimate import print_estimates, print_ledger, print_lines
from flows.commands.probe import probe_roles
from flows.commands.stage import STOPS_CALLS
from flows.repository.params import load_params
from flows.repository.pipeline import MAIN, model_stages, needed_by, read_pipeline
from flows.repository.workspace import FINGERPRINTS, workspace
from flows.runtime.confirmation import require_confirmation
from schemas.errors import VignetteError, explained
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.transport.instructions import use_instruction_set
from tasks.transport.shown import printable

if TYPE_CHECKING:
    from flows.runtime.costs import Line
    from flows.runtime.rehearsal import SmallStage

_SHOWN = 1500
"""Most characters of a reply that are shown."""


def main(
    records: Annotated[
        int | None, typer.Option(min=1, help="Number of records (default 5; with --estimate, that of params.yaml).")
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Run nothing: only estimate the whole run.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
) -> None:
    """Run the stages that ask models on a few records, with the models of params.yaml, and estimate the whole run.

    What it writes is in .vignette/trial; data/, reports/, fingerprints/ and dvc.lock stay as they are. It shares the
    response store and its ledger, so that no call is paid for twice and the budget holds for both. After a stage that
    failed, no stage follows that needs it, or asks a model that no stage used with success before.

    An estimate is a rehearsal: the simulator does the work on a few documents, and its requests are counted and scaled.
    """
    params = load_params()
    use_instruction_set(params.runtime.instruction_set)
    if estimate:
        sample = params.sample if records is None else params.sample.model_copy(update={"records": records})
        print_estimates(params.model_copy(update={"sample": sample}), MAIN)
        return
    from flows.runtime.rehearsal import FEW, fewer

    folder = (workspace() / "trial").resolve()
    few = fewer(params, records or FEW)
    if not yes:
        require_confirmation(few, MAIN, [*model_stages(MAIN)], show=print_lines)
    probe_roles(few, [*few.roles], folder / FINGERPRINTS)
    lines, failed = asyncio.run(_run(params, few, folder))
    print(f"\nthe whole run, {params.sample.records:,} records, estimated from the calls of the trial:\n", flush=True)
    print_lines(lines)
    print_ledger(params)
    print(f"\ntables of the trial: {folder / 'reports/tables'}; to run it all: vignette repro")
    if failed:
        raise VignetteError(f"failed: {', '.join(failed)}; see above. Answered calls are kept")


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
        stage, roles = ran.stage, {*asked.get(ran.stage.name, ())}
        used = stage.used_by_role()
        await stage.close()
        lines += [priced(params, stage.name, one.times(ran.times), "from the trial") for one in used]
        calls = ", ".join(f"{one.calls} calls to the {one.role}" for one in used) or "no call"
        print(f"{stage.name}: {calls}, {time.monotonic() - begun:.1f} s", flush=True)
        begun = time.monotonic()
        if ran.error is None:
            worked |= roles
        elif explained(ran.error) is None and not isinstance(ran.error, VignetteError):
            raise ran.error
        else:
            failed[stage.name] = paid if isinstance(ran.error, STOPS_CALLS) else roles & paid - worked
            print(f"{stage.name}: {explained(ran.error) or ran.error}", file=sys.stderr)
        _show_bad_reply(stage)
    return identified(params, lines), [*failed]


def _show_bad_reply(stage: "SmallStage") -> None:
    """Print one reply of a stage that could not be used, and the file that holds all."""
    import pandas as pd

    for stem, file in stage.files.outs.items():
        if not stem.startswith("unscored_") or not file.exists():
            continue
        rows = pd.read_parquet(file)
        for row in rows[rows["detail"].notna()].head(1).itertuples():
            print(
                f"  one of {len(rows)} that could not be scored (all in {file}), record {row.record}, step {row.step}:"
            )
            print(f"  {row.reason}. The reply:")
            print("\n".join(f"    {printable(line)}" for line in str(row.detail)[:_SHOWN].splitlines()))
