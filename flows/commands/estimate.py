"""Estimates what each stage would cost before anything is paid."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
import yaml
from pydantic import ValidationError

from flows.commands.call_sizes import SIZES, most_calls
from flows.engine.params import load_params, run_budget
from flows.engine.pipeline import model_stages
from flows.engine.workspace import STORE, workspace
from schemas.errors import BudgetError
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
    """One stage's use of one role.

    ``how`` is counted (at these params), scaled (counted at other params) or reckoned (from prompts). ``most``: calls
    if every reply is asked for again as often as params allow.
    """

    stage: str
    estimate: Estimate
    dollars: float | None
    how: str
    most: int


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


def estimates(params: Params, pipeline: Path, records: int | None = None) -> tuple[list[Line], list[str]]:
    """The estimates of the stages that call a model, and the names of the stages that cannot be estimated.

    ``records`` replaces the number of records in params.yaml.
    """
    if records is not None:
        params = params.model_copy(update={"sample": params.sample.model_copy(update={"records": records})})
    counted = _rehearsal(params)
    lines, unknown = [], []
    for stage in model_stages(pipeline):
        then = params_of_last_run(stage, pipeline, params)
        if stage in counted and stage in SIZES and then is not None:
            found, how = _scaled(stage, counted[stage], then, params)
        elif stage in RECKONED:
            found, how = RECKONED[stage](params.sample.records), "reckoned"
        elif stage in counted:
            found, how = counted[stage], "counted at other params"
        else:
            unknown.append(stage)
            continue
        for estimate in found:
            most = most_calls(stage, estimate.role, estimate.calls, params)
            lines.append(Line(stage, estimate, _dollars(params, estimate), how, most))
    return lines, unknown


def _scaled(stage: str, counted: list[Estimate], then: Params, now: Params) -> tuple[list[Estimate], str]:
    """What was counted at the params ``then``, in proportion to the params ``now``."""
    before, after = SIZES[stage](then), SIZES[stage](now)
    if before == after:
        return counted, "counted"
    factors = {role: after[role] / before[role] for role in after if before[role]}
    return [estimate.times(factors.get(estimate.role, 1.0)) for estimate in counted], "scaled"


def params_of_last_run(stage: str, pipeline: Path, params: Params) -> Params | None:
    """The params with which dvc.lock says that a stage and stage `sample` ran; None when it says nothing."""
    lock = pipeline.with_suffix(".lock")
    stages = (yaml.safe_load(lock.read_text(encoding="utf-8")) or {}).get("stages", {}) if lock.exists() else {}
    if stage not in stages:
        return None
    values = params.model_dump(mode="json")
    for name in ("sample", stage):
        recorded = stages.get(name, {}).get("params", {}).get("params.yaml", {})
        for key, value in recorded.items():
            *outer, last = key.split(".")
            place = values
            for part in outer:
                place = place[part]
            place[last] = value
    try:
        return Params.model_validate(values)
    except ValidationError:  # recorded by an earlier version
        return None


def require_confirmation(params: Params, pipeline: Path, stages: Collection[str]) -> None:
    """Print the estimate and raise BudgetError when ``stages`` may cost more than ``budget.confirm_above_dollars``."""
    limit = params.budget.confirm_above_dollars
    if limit is None:
        return
    lines = [line for line in estimates(params, pipeline)[0] if line.stage in stages]
    dollars = sum(line.dollars or 0.0 for line in lines)
    if dollars > limit:
        print_estimates(params, pipeline, only=stages)
        raise BudgetError(
            f"the rebuild would cost about {dollars:.2f} dollars, more than budget.confirm_above_dollars ({limit:g}); "
            "to run it, repeat the command with --yes"
        )


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
    print(
        f"{'stage':<16} {'role':<10} {'model':<24} {'calls':>9} {'at most':>9} {'tokens in':>12} {'out':>11} "
        f"{'dollars':>10}  how"
    )
    for line in lines:
        e, model = line.estimate, params.roles[line.estimate.role].model
        dollars = "no price" if line.dollars is None else f"{line.dollars:.2f}"
        print(
            f"{line.stage:<16} {e.role:<10} {model:<24} {e.calls:>9} {line.most:>9} {e.prompt_tokens:>12} "
            f"{e.completion_tokens:>11} {dollars:>10}  {line.how}"
        )
    calls, most = sum(line.estimate.calls for line in lines), sum(line.most for line in lines)
    sent, received = (sum(getattr(line.estimate, f"{k}_tokens") for line in lines) for k in ("prompt", "completion"))
    known = sum(line.dollars or 0.0 for line in lines)
    print(f"{'all':<16} {'':<10} {'':<24} {calls:>9} {most:>9} {sent:>12} {received:>11} {known:>10.2f}")


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
