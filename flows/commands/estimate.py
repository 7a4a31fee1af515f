"""Prints what each stage would cost before anything is paid, and what was spent."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.repository.params import response_store, run_budget
from flows.repository.terminal import fitted
from schemas.params import Params

if TYPE_CHECKING:
    from flows.runtime.costs import Line


def print_estimates(params: Params, pipeline: Path, *, only: Collection[str] | None = None) -> None:
    """Print the estimate of each stage, or of the stages ``only``, their sum, and what was spent already."""
    from flows.runtime.rehearsal import estimates

    lines, failed = estimates(params, pipeline, only)
    counted = f"all stages of {pipeline}" if only is None else "the stages that would be rebuilt"
    unknown = [f"unknown: {name}, whose rehearsal failed: {reason}" for name, reason in failed.items()]
    all_of = f"all: the calls of {counted}, scaled from a few documents or patients and so not exact"
    print_lines(lines, [f"{all_of}; those of the simulator cost nothing, nor do stored replies", *unknown])
    print_ledger(params)


def print_lines(lines: "Sequence[Line]", said: Sequence[str] = (), file: object = "the params file") -> None:
    """Print an estimate as a table, what is ``said`` of other calls, and the models without a price.

    ``file``: the params file, which may lack prices.
    """
    from flows.runtime.costs import table, unpriced

    print(table(lines))
    if without := unpriced(lines):
        example = f"prices: {{{json.dumps(without[0])}: {{prompt: 2.5, completion: 10}}}}"
        told = f"give it in dollars a million tokens: {example}"
        said = [*said, f"no sum in dollars: {file} has no price of {', '.join(without)}; {told}"]
    for remark in said:
        print(fitted(remark))


def print_ledger(params: Params) -> None:
    """Print what was spent from the budget of a run, and its cap."""
    from tasks.transport.database import exists
    from tasks.transport.inspection import ledgers, open_existing
    from tasks.transport.ledger import Spent, caps_text

    where, cap = response_store(params), run_budget(params)
    spent = Spent(0.0, 0, 0)
    if exists(where):
        with open_existing(where) as connection:
            spent = ledgers(connection).get(cap.ledger, spent)
    lost = f", as much as allowed for {spent.unknown} of {spent.calls} calls, whose outcome is not known"
    paid = [role.model for role in params.roles.values() if not role.is_simulator]
    without = ", ".join(sorted({*paid} - {*params.prices}))
    free = f" ({without}: no price)" if without else ""
    said = f"ledger {cap.ledger}: {spent.dollars:.2f} dollars{free} and {spent.tokens} tokens spent"
    said += f"{lost if spent.unknown else ''}; "
    print(fitted(f"{said}cap: {caps_text(cap) or 'none'}"))
