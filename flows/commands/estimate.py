"""Prints what each stage would cost before anything is paid, and what was spent."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.repository.params import response_store, run_budget
from flows.repository.terminal import fitted, terminal_width
from schemas.params import Params

if TYPE_CHECKING:
    from flows.runtime.costs import Line


def print_estimates(
    params: Params, pipeline: Path, records: int | None = None, *, only: Collection[str] | None = None
) -> None:
    """Print the estimate of each stage, or of the stages ``only``, their sum, and what was spent already."""
    from flows.runtime.costs import OWN_METRICS, estimates

    lines, unknown = estimates(params, pipeline, records)
    if only is not None:
        lines, unknown = [line for line in lines if line.stage in only], [name for name in unknown if name in only]
    said = []
    if OWN_METRICS in unknown:
        unknown.remove(OWN_METRICS)
        said = [f"{OWN_METRICS}: the calls of a metric of your own are not known before it ran once with the simulator"]
    if unknown:
        stages = ", ".join(unknown)
        said.append(f"unknown: {stages}; run them once with the simulator, then their requests are counted")
    print_lines(lines, said)
    print_ledger(params)


def print_lines(lines: "Sequence[Line]", said: Sequence[str] = (), file: object = "the params file") -> None:
    """Print an estimate as a table, what is ``said`` of other calls, and what the table leaves out.

    ``file``: the params file, which may lack prices.
    """
    from flows.runtime.costs import remarks, table

    width = terminal_width()
    print(table(lines, width))
    for remark in [*said, *remarks(lines, file)]:
        print(fitted(remark, width))


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
    said = f"ledger {cap.ledger}: {spent.dollars:.2f} dollars and {spent.tokens} tokens spent; "
    print(fitted(f"{said}cap: {caps_text(cap) or 'none'}", terminal_width()))
