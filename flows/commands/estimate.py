"""Says what each stage would cost before anything is paid: ``vignette estimate [--records N]``.

A stage that was run before, with the embedded endpoint or any other, is counted from its requests in the response
store; the others are reckoned from their prompt files.
"""

from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.estimators import RECKONED, Estimator
from flows.engine.clients import STORE
from flows.engine.params import load_params, run_budget
from flows.engine.pipeline import read_pipeline
from flows.engine.workspace import workspace
from schemas.params import Params
from schemas.params.llm import Sending
from tasks.llm.budget import Spent
from tasks.llm.database import connect
from tasks.llm.estimates import Estimate, rehearsed
from tasks.llm.inspection import ledgers


@dataclass(frozen=True)
class Line:
    """One stage's use of one role. ``how``: counted, scaled (counted at another size) or reckoned."""

    stage: str
    estimate: Estimate
    dollars: float | None
    how: str


def estimates(params: Params, pipeline: Path, records: int | None = None) -> tuple[list[Line], list[str]]:
    """What each stage that asks a model would take, and the stages of which nothing is known.

    ``records``: another number of records than params.yaml's.
    """
    size = _sample_size(params)
    target = records or size
    counted = _rehearsal()
    lines, unknown = [], []
    for stage in asking_stages(pipeline):
        reckon = _estimator(stage)
        if stage in counted and target == size:
            found, how = counted[stage], "counted"
        elif reckon is not None and target:
            found, how = reckon(params, target), "reckoned"
        elif stage in counted and target and size:
            found, how = [estimate.times(target / size) for estimate in counted[stage]], "scaled"
        else:
            unknown.append(stage)
            continue
        lines += [Line(stage, estimate, _dollars(params, estimate), how) for estimate in found]
    return lines, unknown


def asking_stages(pipeline: Path) -> list[str]:
    """Stages that depend on a role's fingerprint."""
    stages = read_pipeline(pipeline) if pipeline.exists() else {}
    return [name for name, stage in stages.items() if any(str(d).startswith("fingerprints/") for d in stage["deps"])]


def _sample_size(params: Params) -> int | None:
    sample = getattr(params, "sample", None)
    return next((int(getattr(sample, name)) for name in ("records", "n", "size") if hasattr(sample, name)), None)


def _rehearsal() -> dict[str, list[Estimate]]:
    path = workspace() / STORE
    if not path.exists():
        return {}
    return rehearsed(connect(path))


def _estimator(stage: str) -> Estimator | None:
    module = f"flows.stages.{stage}"
    own = getattr(import_module(module), "estimate", None) if find_spec(module) else None
    return own or RECKONED.get(stage)


def _dollars(params: Params, estimate: Estimate) -> float | None:
    role = params.roles[estimate.role]
    if role.is_embedded:
        return 0.0
    batch = params.runtime.sending.get(estimate.role, Sending()).transport == "batch"
    return estimate.dollars(params.prices.get(role.model), batch=batch)


def _spent(params: Params) -> Spent:
    path = workspace() / STORE
    found = ledgers(connect(path)) if path.exists() else {}
    return found.get(run_budget(params).ledger, Spent(0.0, 0, 0))


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


def print_estimates(
    params: Params, pipeline: Path, records: int | None = None, *, only: Collection[str] | None = None
) -> None:
    """Print what stages would take, of those named in ``only``, where it is given; and what was spent already."""
    lines, unknown = estimates(params, pipeline, records)
    if only is not None:
        lines, unknown = [line for line in lines if line.stage in only], [name for name in unknown if name in only]
    _print(params, lines, unknown)


def _print(params: Params, lines: list[Line], unknown: list[str]) -> None:
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
    for stage in unknown:
        print(f"{stage}: not known; run it once with the embedded endpoint, and it is counted")
    without = sorted({params.roles[line.estimate.role].model for line in lines if line.dollars is None})
    if without:
        print(f"not in the sum, for want of a price in params.yaml: {', '.join(without)}")
    spent, cap = _spent(params), run_budget(params)
    caps = [f"{cap.dollars:g} dollars"] if cap.dollars is not None else []
    caps += [f"{cap.tokens} tokens"] if cap.tokens is not None else []
    print(
        f"ledger {cap.ledger}: {spent.dollars:.2f} dollars and {spent.tokens} tokens spent; "
        f"cap: {' and '.join(caps) or 'none'}"
    )
