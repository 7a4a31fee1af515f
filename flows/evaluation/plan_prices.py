"""`vignette plan`: dollars of one judgement, from the prices and the estimates that `--dry-run` prints."""

import asyncio
from math import nan
from pathlib import Path

from flows.evaluation.audit import estimated, make_audit, verdicts_of
from flows.evaluation.estimate import estimate_calls
from flows.evaluation.work import read_data
from flows.rebuild.pipeline import model_stages
from flows.runtime.costs import SIZES, estimates, priced, total, unpriced
from flows.runtime.workspace import root
from schemas.errors import ParamsError
from schemas.params import Params
from schemas.params.measures import Evaluate
from tasks.llm.costs import Estimate

_MANY = 1_000_000
"""Judgements whose estimate is divided, so that no token is lost to rounding."""
_REHEARSED = 40
"""Claims of a rehearsed audit."""


def price_of_tokens(params: Params, tokens: tuple[int, int]) -> float:
    """Dollars of one judgement of so many tokens sent and received; nan for a model without a price."""
    estimate = Estimate("judge", _MANY, tokens[0] * _MANY, tokens[1] * _MANY)
    dollars = priced(params, "plan", estimate, "given").dollars
    return nan if dollars is None else dollars / _MANY


def price_of_stage(params: Params, stage: str) -> float:
    """Dollars of one judgement of a stage, counted from its requests in the response store; see `vignette estimate`."""
    pipeline = root() / "dvc.yaml"
    if stage not in model_stages(pipeline) or stage not in SIZES:
        raise ParamsError(f"--counted {stage}: expected one of {', '.join(sorted(SIZES))}")
    lines = [line for line in estimates(params, pipeline)[0] if line.stage == stage and line.estimate.role == "judge"]
    if not lines:
        raise ParamsError(f"--counted {stage}: never ran here; run it with the simulator, or give --tokens")
    return nan if unpriced(params, lines) else total(lines) / SIZES[stage](params)["judge"]


def price_of_audit(params: Params, texts: Path | None) -> float:
    """Dollars of one claim of an audit, from a rehearsal of a few with the simulator."""
    audit = make_audit(texts, params, cases=_REHEARSED, tasks=["claims"])
    lines = asyncio.run(estimated(params, lambda run: verdicts_of(run, audit)))
    judge = [line for line in lines if line.estimate.role == "judge"]
    return nan if unpriced(params, judge) else total(judge) / len(audit.cases)


def price_of_documents(params: Params, chosen: Evaluate) -> float:
    """Dollars of the judge for one document of an evaluation like ``chosen``, from a rehearsal with the simulator."""
    data = read_data(chosen)
    lines = [one for one in asyncio.run(estimate_calls(params, chosen, data)) if one.estimate.role == "judge"]
    return nan if unpriced(params, lines) else total(lines) / len(data.documents)
