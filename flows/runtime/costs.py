"""What a run would cost: lines of an estimate by stage and role, their table, and the limit above which to confirm."""

from collections.abc import Sequence
from dataclasses import dataclass

from flows.repository.params import confirmation_limit
from flows.repository.terminal import aligned
from schemas.errors import BudgetError
from schemas.params import Params
from tasks.llm.costs import Estimate, tokens
from tasks.transport.epochs import PROMPTS
from tasks.transport.probing import PROBE_CALLS


@dataclass(frozen=True)
class Line:
    """One stage's use of one role. ``how`` it was estimated: rehearsed, rehearsed in part, or from prompts."""

    stage: str
    estimate: Estimate
    dollars: float | None
    how: str
    model: str
    is_simulator: bool


def priced(params: Params, stage: str, estimate: Estimate, how: str) -> Line:
    """The line of an estimate, with its cost by the role's model."""
    role = params.roles[estimate.role]
    dollars = 0.0 if role.is_simulator else estimate.dollars(params.prices.get(role.model))
    return Line(stage, estimate, dollars, how, role.model, role.is_simulator)


def identified(params: Params, lines: Sequence[Line]) -> list[Line]:
    """The lines, before them one for each model of the probe that identifies it; its replies at their longest."""
    served = {line.model: line.estimate.role for line in reversed(lines) if not line.is_simulator}
    sent = PROBE_CALLS * sum(map(tokens, PROMPTS)) // len(PROMPTS)
    probes = []
    for model, role in sorted(served.items()):
        estimate = Estimate(role, PROBE_CALLS, sent, PROBE_CALLS * params.roles[role].canary_tokens)
        probes.append(Line("probe", estimate, estimate.dollars(params.prices.get(model)), "at most", model, False))
    return [*probes, *lines]


def unpriced(lines: Sequence[Line]) -> list[str]:
    """The models without a price in params.yaml."""
    return sorted({line.model for line in lines if line.dollars is None})


def require_affordable(
    params: Params, lines: Sequence[Line], what: str, confirm: str, *, spent: float = 0.0, unknown: Sequence[str] = ()
) -> None:
    """Raise BudgetError where ``spent`` and ``lines`` may exceed ``budget.confirm_above_dollars``, or lack a price.

    ``unknown``: what else has no known cost. ``confirm``: how the user confirms ``what``.
    """
    limit = confirmation_limit(params)
    dollars = spent + sum(line.dollars or 0.0 for line in lines)
    without = [f"{model}, which has no price" for model in unpriced(lines)] + list(unknown)
    if limit is None or (dollars <= limit and not without):
        return
    known = f"about {dollars:.2f} dollars" + (f" (of which {spent:.2f} are spent)" if spent else "")
    if without and dollars:
        known += f", without {'; '.join(without)}"
    elif without:
        known = f"an amount that is not known: {'; '.join(without)}"
    raise BudgetError(f"{what} would cost {known}. budget.confirm_above_dollars is {limit:g}: to run it, {confirm}")


_HEAD = ("stage", "role", "model", "calls", "tokens in", "out", "dollars", "how")
_NUMBERS = range(3, 7)
"""Columns of numbers."""


def table(lines: Sequence[Line]) -> str:
    """The estimates as a table, with their sums."""
    rows: list[tuple[object, ...]] = [_HEAD]
    for line in lines:
        one = line.estimate
        rows.append((line.stage, one.role, line.model, *_counts(one), _dollars([line]), line.how))
    sums = map(sum, zip(*(_counts(line.estimate) for line in lines), strict=True)) if lines else (0, 0, 0)
    rows.append(("all", "", "", *sums, _dollars(lines), ""))
    return "\n".join(aligned([[str(cell) for cell in row] for row in rows], _NUMBERS))


def _counts(estimate: Estimate) -> tuple[int, int, int]:
    return estimate.calls, estimate.prompt_tokens, estimate.completion_tokens


def _dollars(lines: Sequence[Line]) -> str:
    """The sum; none where a line has no price."""
    return "no price" if unpriced(lines) else f"{sum(line.dollars or 0.0 for line in lines):.2f}"
