"""Runs the stages that ask models on a few records, and estimates what the whole run would cost."""

import asyncio
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.estimate import print_estimates, print_ledger, print_lines
from flows.commands.probe import probe_roles
from flows.commands.repro import print_figures
from flows.commands.stage import STOPS_CALLS
from flows.repository.params import load_params
from flows.repository.pipeline import MAIN, model_stages, needed_by, read_pipeline
from flows.repository.workspace import FINGERPRINTS, workspace
from flows.runtime.confirmation import require_confirmation
from schemas.errors import VignetteError, explained
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.progress import number_of
from tasks.tracking.lineage import RECORD_STAGE
from tasks.transport.instructions import use_instruction_set
from tasks.transport.shown import printable

if TYPE_CHECKING:
    from flows.runtime.costs import Line

_SHOWN = 1500
"""Most characters of a reply that are shown."""


def main(
    records: Annotated[
        int | None, typer.Option(min=2, help="Number of records (default 5, whole 10, estimate: of params.yaml).")
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Run nothing: only estimate the whole run.")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Run every stage, with the report.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
) -> None:
    """Run the stages that ask models on a few records, with the models of params.yaml, and estimate the whole run.

    What it writes is in .vignette/trial; data/, reports/, fingerprints/ and dvc.lock stay as they are. It shares the
    response store and its ledger, so that no call is paid for twice and the budget holds for both. After a stage that
    failed, no stage follows that needs it, or asks a model that no stage used with success before.

    With --whole, all stages run, also those that train and report, but for the one that records the lineage, and
    write to .vignette/whole.

    An estimate is a rehearsal: the simulator does the work on a few documents, and its requests are counted and scaled.
    """
    params = load_params()
    use_instruction_set(params.runtime.instruction_set)
    if estimate:
        sample = params.sample if records is None else params.sample.model_copy(update={"records": records})
        print_estimates(params.model_copy(update={"sample": sample}), MAIN)
        return
    from flows.runtime.folders import locked
    from flows.runtime.rehearsal import FEW, fewer, with_little_training

    short = params.visits.model_copy(update={"long_visits": []})
    few = fewer(params.model_copy(update={"visits": short}), 2 * FEW if whole else records or FEW)
    if whole:
        sample = params.sample.model_copy(update={"records": records or 2 * FEW})
        shown = params.report.model_copy(update={"notes": sample.records})
        few = with_little_training(few).model_copy(update={"sample": sample, "report": shown})
    names = {*read_pipeline(MAIN)} - {RECORD_STAGE} if whole else {*model_stages(MAIN)}
    folder = (workspace() / ("whole" if whole else "trial")).resolve()
    page = folder / "data/report/index.html"
    earlier = "; that of an earlier run was of its tables, and is removed" if page.is_file() else ""
    if not yes:
        require_confirmation(few, MAIN, [*model_stages(MAIN)], show=print_lines)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):  # another trial would remove its tables
        probe_roles(few, [*few.roles], folder / FINGERPRINTS)
        lines, failed = asyncio.run(_run(names, params, few, folder, all_documents=whole))
        if not (whole and {*params.by_rules} == {*params.roles}):
            many = "not counted: patients with many visits (visits.long_visits), for which see --estimate"
            said = [many] if params.visits.long_visits else []
            if lacking := [name for name in failed if name in model_stages(MAIN)]:
                said += [
                    f"not counted, or in part, as they failed or were not run: {', '.join(lacking)}; see --estimate"
                ]
            print(
                f"\nthe whole run, {params.sample.records:,} records, estimated from the calls of the trial:\n",
                flush=True,
            )
            print_lines(lines, said)
            print_ledger(params)
        print()
        if whole:
            print_figures(few, folder / "reports" / "tables")
        if page.is_file():
            print(f"report of the trial: {page}; to run it all: vignette repro")
        else:
            made = f"no report was made{earlier}; " if whole else ""
            print(f"{made}tables of the trial: {folder / 'reports/tables'}; to run it all: vignette repro")
        if failed:
            raise VignetteError(f"failed or not run: {', '.join(failed)}; see above. Answered calls are kept")


async def _run(
    names: Collection[str], params: Params, few: Params, folder: Path, *, all_documents: bool
) -> tuple[list["Line"], list[str]]:
    """Run the stages and print a line for each; returns the estimate of the whole run, and the stages that failed."""
    from flows.runtime.costs import identified, priced
    from flows.runtime.rehearsal import DOCUMENTS, run_small

    asked, needs = model_stages(MAIN), needed_by(read_pipeline(MAIN))
    paid = {*few.roles} - {*few.by_rules}
    failed, worked, lines = dict[str, set[RoleName]](), set[RoleName](), list["Line"]()

    def is_stopped(name: str) -> bool:
        roles = {*asked.get(name, ())}
        by = [other for other, doubted in failed.items() if other in needs[name] or roles & doubted]
        if by:
            failed[name] = set()
            print(f"{name}: not run, because of {', '.join(by)}", flush=True)
        return bool(by)

    begun = time.monotonic()
    documents = None if all_documents else DOCUMENTS
    async for ran in run_small(MAIN, names, params, few, folder, is_stopped, documents):
        name, roles = ran.files.name, {*asked.get(ran.files.name, ())}
        lines += [priced(params, name, one.times(ran.times), "from the trial") for one in ran.used]
        used = [f"{number_of(one.calls, 'reply', 'replies')} of the {one.role}" for one in ran.used]
        print(f"{name}: {', '.join(used) or 'no model asked'}, {time.monotonic() - begun:.1f} s", flush=True)
        begun = time.monotonic()
        if ran.error is None:
            worked |= roles
        elif (said := explained(ran.error)) is None:
            raise ran.error
        else:
            failed[name] = paid if isinstance(ran.error, STOPS_CALLS) else roles & paid - worked
            print(f"{name}: {said}", file=sys.stderr)
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
            print(f"  {row.reason}:")
            print("\n".join(f"    {printable(line)}" for line in str(row.detail)[:_SHOWN].splitlines()))
