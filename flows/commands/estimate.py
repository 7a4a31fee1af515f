"""Estimates what each stage would cost before anything is paid."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from flows.runtime.params import load_params, run_budget
from flows.runtime.workspace import STORE, workspace
from schemas.params import Params


def main(
    records: Annotated[int | None, typer.Option(help="Number of records, instead of that in params.yaml.")] = None,
    pipeline: Path = Path("dvc.yaml"),
    params: Path = Path("params.yaml"),
) -> None:
    """Print the calls, tokens and dollars that each stage would take, before anything is paid.

    A stage that ran before, with the simulator or any other model, is counted from its requests in the response store,
    scaled where params have changed since; the others are estimated from their prompt files.
    """
    print_estimates(load_params(params), pipeline, records)


def print_estimates(
    params: Params, pipeline: Path, records: int | None = None, *, only: Collection[str] | None = None
) -> None:
    """Print the estimate of each stage, or of the stages ``only``, their sum, and what was spent already."""
    from flows.runtime.costs import estimates, table, unpriced

    lines, unknown = estimates(params, pipeline, records)
    if only is not None:
        lines, unknown = [line for line in lines if line.stage in only], [name for name in unknown if name in only]
    print(table(params, lines))
    for stage in unknown:
        print(f"{stage}: unknown; run it once with the simulator, then its requests are counted")
    if without := unpriced(params, lines):
        print(f"no sum in dollars: params.yaml has no price of {', '.join(without)}")
    print_ledger(params)


def print_ledger(params: Params) -> None:
    """Print what was spent from the budget of a run, and its cap."""
    from tasks.transport.budget import Spent, caps_text
    from tasks.transport.database import exists
    from tasks.transport.inspection import ledgers, open_existing

    where, cap = params.runtime.store or workspace() / STORE, run_budget(params)
    spent = Spent(0.0, 0, 0)
    if exists(where):
        with open_existing(where) as connection:
            spent = ledgers(connection).get(cap.ledger, spent)
    print(
        f"ledger {cap.ledger}: {spent.dollars:.2f} dollars and {spent.tokens} tokens spent; "
        f"cap: {caps_text(cap) or 'none'}"
    )
