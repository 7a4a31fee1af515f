"""Estimates what each stage would cost before anything is paid."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from flows.engine.costs import Bound, Line, estimates
from flows.engine.params import load_params, run_budget
from flows.engine.workspace import STORE, workspace
from schemas.params import Params
from tasks.llm.budget import Spent
from tasks.llm.database import connect, exists
from tasks.llm.inspection import ledgers


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
    lines, unknown = estimates(params, pipeline, records)
    if only is not None:
        lines, unknown = [line for line in lines if line.stage in only], [name for name in unknown if name in only]
    _print_table(params, lines)
    for stage in unknown:
        print(f"{stage}: unknown; run it once with the simulator, then its requests are counted")
    without = sorted({params.roles[line.estimate.role].model for line in lines if line.dollars is None})
    if without:
        print(f"not in the sum, without a price in params.yaml: {', '.join(without)}")
    _print_ledger(params)


_ROW = "{:<16} {:<10} {:<24} {:>9} {:>9} {:>9} {:>12} {:>11} {:>10} {:>10}  {}"


def _print_table(params: Params, lines: list[Line]) -> None:
    head = ("stage", "role", "model", "calls", "at least", "at most", "tokens in", "out", "dollars", "at most", "how")
    shown: tuple[Bound, ...] = ("calls", "most")
    print(_ROW.format(*head))
    for line in lines:
        e, model = line.estimate, params.roles[line.estimate.role].model
        dollars = [f"{line.dollars_of(bound):.2f}" for bound in shown]
        dollars = ["no price", ""] if line.dollars is None else dollars
        counts = (e.calls, line.least, line.most, e.prompt_tokens, e.completion_tokens)
        print(_ROW.format(line.stage, e.role, model, *counts, *dollars, line.how))
    estimated = [line.estimate for line in lines]
    counts = (
        sum(e.calls for e in estimated),
        sum(line.least for line in lines),
        sum(line.most for line in lines),
        sum(e.prompt_tokens for e in estimated),
        sum(e.completion_tokens for e in estimated),
    )
    dollars = [f"{sum(line.dollars_of(bound) for line in lines):.2f}" for bound in shown]
    print(_ROW.format("all", "", "", *counts, *dollars, "").rstrip())


def _print_ledger(params: Params) -> None:
    where, cap = params.runtime.store or workspace() / STORE, run_budget(params)
    held = ledgers(connect(where)) if exists(where) else {}
    spent = held.get(cap.ledger, Spent(0.0, 0, 0))
    caps = [f"{cap.dollars:g} dollars"] if cap.dollars is not None else []
    caps += [f"{cap.tokens} tokens"] if cap.tokens is not None else []
    print(
        f"ledger {cap.ledger}: {spent.dollars:.2f} dollars and {spent.tokens} tokens spent; "
        f"cap: {' and '.join(caps) or 'none'}"
    )
