"""Estimates what each stage would cost before anything is paid."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flows.engine.params import load_params, run_budget
from flows.engine.pipeline import model_stages
from flows.engine.workspace import STORE, workspace
from schemas.params import Params
from schemas.params.llm import Sending
from tasks.llm.budget import Spent
from tasks.llm.database import connect, exists
from tasks.llm.estimates import Estimate, rehearsed, template_tokens
from tasks.llm.inspection import ledgers

NOTE_TOKENS = 240
"""Mean of 50 published SimSUM notes, at four characters per token."""

COMPACT_TOKENS = 125
"""Mean of the same 50 notes' compact versions."""

REWRITTEN = 0.01
"""Share of notes that the consistency filter has rewritten (52 of 10,000 in SimSUM, more with weaker writers)."""


@dataclass(frozen=True)
class Line:
    """One stage's use of one role. ``how`` is counted, scaled (counted at another size) or reckoned (from prompts)."""

    stage: str
    estimate: Estimate
    dollars: float | None
    how: str


def main(
    records: Annotated[int | None, typer.Option(help="Number of records, instead of that in params.yaml.")] = None,
    pipeline: Path = Path("dvc.yaml"),
    params: Path = Path("params.yaml"),
) -> None:
    """Print the calls, tokens and dollars that each stage would take, before anything is paid.

    A stage that ran before, with the simulator or any other model, is counted from its requests in the response store;
    the others are estimated from their prompt files.
    """
    print_estimates(load_params(params), pipeline, records)


def estimates(params: Params, pipeline: Path, records: int | None = None) -> tuple[list[Line], list[str]]:
    """The estimates of the stages that call a model, and the names of the stages that cannot be estimated.

    ``records`` replaces the number of records in params.yaml.
    """
    size = params.sample.records
    target = records or size
    counted = _rehearsal(params)
    lines, unknown = [], []
    for stage in model_stages(pipeline):
        if stage in counted and target == size:
            found, how = counted[stage], "counted"
        elif stage in RECKONED:
            found, how = RECKONED[stage](target), "reckoned"
        elif stage in counted:
            found, how = [estimate.times(target / size) for estimate in counted[stage]], "scaled"
        else:
            unknown.append(stage)
            continue
        lines += [Line(stage, estimate, _dollars(params, estimate), how) for estimate in found]
    return lines, unknown


def _rehearsal(params: Params) -> dict[str, list[Estimate]]:
    where = params.runtime.store or workspace() / STORE
    return rehearsed(connect(where)) if exists(where) else {}


def _dollars(params: Params, estimate: Estimate) -> float | None:
    role = params.roles[estimate.role]
    if role.is_embedded:
        return 0.0
    batch = params.runtime.sending.get(estimate.role, Sending()).transport == "batch"
    return estimate.dollars(params.prices.get(role.model), batch=batch)


def _write(records: int) -> list[Estimate]:
    """One prompt and one note per record; the three-note prompts need fewer calls."""
    prompt = template_tokens("tasks.notes", "note")
    return [Estimate("writer", records, records * prompt, records * NOTE_TOKENS)]


def _filter(records: int) -> list[Estimate]:
    """One check per note, and a new note with its check for each rewritten one."""
    note = template_tokens("tasks.notes", "note")
    check = template_tokens("tasks.notes", "consistency") + note + NOTE_TOKENS
    checks, rewritten = round(records * (1 + REWRITTEN)), round(records * REWRITTEN)
    return [
        Estimate("annotator", checks, checks * check, checks * 20),
        Estimate("writer", rewritten, rewritten * note, rewritten * NOTE_TOKENS),
    ]


def _compact(records: int) -> list[Estimate]:
    """The note's conversation again, and the request for its compact version."""
    prompt = template_tokens("tasks.notes", "note", "compact") + NOTE_TOKENS
    return [Estimate("writer", records, records * prompt, records * COMPACT_TOKENS)]


def _span(records: int) -> list[Estimate]:
    """Extraction, mapping to the compact note and the check of the mapping; corrections for a fifth of the notes."""
    extract = template_tokens("tasks.spans", "extract") + NOTE_TOKENS
    mapping = template_tokens("tasks.spans", "map") + NOTE_TOKENS + COMPACT_TOKENS + 150
    check = mapping + template_tokens("tasks.spans", "same_meaning") + 250
    correct = (template_tokens("tasks.spans", "correct") + NOTE_TOKENS + 60) // 5
    return [Estimate("annotator", round(3.2 * records), records * (extract + mapping + check + correct), records * 450)]


RECKONED: dict[str, Callable[[int], list[Estimate]]] = {
    "write": _write,
    "filter": _filter,
    "compact": _compact,
    "span": _span,
}
"""Estimate from prompt files, by stage name as in dvc.yaml; each takes the number of records."""


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


def _print_table(params: Params, lines: list[Line]) -> None:
    print(f"{'stage':<16} {'role':<10} {'model':<24} {'calls':>9} {'tokens in':>12} {'out':>11} {'dollars':>10}  how")
    for line in lines:
        e, model = line.estimate, params.roles[line.estimate.role].model
        dollars = "no price" if line.dollars is None else f"{line.dollars:.2f}"
        print(
            f"{line.stage:<16} {e.role:<10} {model:<24} {e.calls:>9} {e.prompt_tokens:>12} {e.completion_tokens:>11} "
            f"{dollars:>10}  {line.how}"
        )
    calls = sum(line.estimate.calls for line in lines)
    sent, received = (sum(getattr(line.estimate, f"{k}_tokens") for line in lines) for k in ("prompt", "completion"))
    known = sum(line.dollars or 0.0 for line in lines)
    print(f"{'all':<16} {'':<10} {'':<24} {calls:>9} {sent:>12} {received:>11} {known:>10.2f}")


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
