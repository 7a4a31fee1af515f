"""Estimates what an evaluation would cost before anything is paid, from a rehearsal with the rules that ship."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from flows.engine.confirmation import YES
from flows.engine.params import run_budget
from flows.evaluation.models import OFFLINE, CommandRun, with_roles
from flows.evaluation.work import judge_all, roles_of
from schemas.errors import BudgetError
from schemas.params import Params
from schemas.params.evaluate import Evaluate
from schemas.params.llm import RoleName, Sending
from tasks.evaluation.documents.model import Document
from tasks.evaluation.documents.reading import DataSet
from tasks.llm.database import connect
from tasks.llm.estimates import Estimate, rehearsed

REHEARSED = 6
"""Documents of the rehearsal, a seeded sample; the counts are scaled by the lengths of all texts."""
STREAM = 91


@dataclass(frozen=True)
class Line:
    """The calls of one role. ``dollars``: None for a model without a price."""

    role: RoleName
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None


async def estimate_calls(params: Params, chosen: Evaluate, data: DataSet) -> list[Line]:
    """The calls, tokens and dollars of an evaluation by role. Stored replies, which cost nothing again, are counted."""
    sample, factor = _sample(data.documents, seed=params.seed)
    counted = await _rehearse(params, chosen, replace(data, documents=sample))
    found = {one.role: one.times(factor) for one in counted}
    return [_line(found[role], params) for role in roles_of(chosen, data) if role in found]


def _sample(documents: Sequence[Document], *, seed: int) -> tuple[list[Document], float]:
    """Some documents, and the length of all texts over that of theirs."""
    size = min(REHEARSED, len(documents))
    drawn = np.random.default_rng([seed, STREAM]).choice(len(documents), size=size, replace=False)
    sample = [documents[place] for place in sorted(drawn)]
    return sample, sum(map(_length, documents)) / sum(map(_length, sample))


def _length(document: Document) -> int:
    return len(document.text) + len(document.reference or "") + sum(map(len, document.outputs.values()))


async def _rehearse(params: Params, chosen: Evaluate, data: DataSet) -> list[Estimate]:
    """Have the rules judge ``data`` with a store of their own, and count the requests."""
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "rehearsal.sqlite")
        runtime = params.runtime.model_copy(update={"store": store, "sending": {}})
        rules = with_roles(params, dict.fromkeys(roles_of(chosen, data), OFFLINE))
        run = CommandRun(rules.model_copy(update={"runtime": runtime}), quiet=True)
        try:
            await run.identify(roles_of(chosen, data))
            await judge_all(run, chosen.model_copy(update={"planted": _planted(chosen, data)}), data)
        finally:
            await run.close()
        return [one for lines in rehearsed(connect(store)).values() for one in lines]


def _planted(chosen: Evaluate, data: DataSet) -> int:
    """References with planted errors in the rehearsal, in proportion."""
    return min(chosen.planted, len(data.documents))


def _line(estimate: Estimate, params: Params) -> Line:
    role = params.roles[estimate.role]
    batch = params.runtime.sending.get(estimate.role, Sending()).transport == "batch"
    dollars = 0.0 if role.is_embedded else estimate.dollars(params.prices.get(role.model), batch=batch)
    counts = (estimate.calls, estimate.prompt_tokens, estimate.completion_tokens)
    return Line(estimate.role, role.model, *counts, dollars)


_ROW = "{:<10} {:<28} {:>9} {:>11} {:>11} {:>10}"


def estimate_text(lines: Sequence[Line]) -> str:
    """The estimate as a table, with the sum of the models that have a price."""
    rows = [_ROW.format("role", "model", "calls", "tokens in", "tokens out", "dollars")]
    for line in lines:
        dollars = "no price" if line.dollars is None else f"{line.dollars:.2f}"
        rows.append(_ROW.format(line.role, line.model, line.calls, line.prompt_tokens, line.completion_tokens, dollars))
    counts = [sum(getattr(line, name) for line in lines) for name in ("calls", "prompt_tokens", "completion_tokens")]
    return "\n".join([*rows, _ROW.format("all", "", *counts, f"{_dollars(lines):.2f}")])


def _dollars(lines: Sequence[Line]) -> float:
    return sum(line.dollars or 0.0 for line in lines)


@dataclass
class Guard:
    """Has an expensive evaluation confirmed at its first paid call (`flows.engine.clients.Confirms`)."""

    chosen: Evaluate
    data: DataSet
    _lines: list[Line] = field(default_factory=list)

    def check(self, params: Params) -> None:
        """Raise BudgetError if the evaluation may cost more than ``budget.confirm_above_dollars``."""
        limit = run_budget(params).confirm_above_dollars
        if limit is None or YES in os.environ:
            return
        self._lines = self._lines or asyncio.run(estimate_calls(params, self.chosen, self.data))
        without = sorted({line.model for line in self._lines if line.dollars is None})
        if _dollars(self._lines) <= limit and not without:
            return
        raise BudgetError(
            f"the evaluation would cost about {_dollars(self._lines):.2f} dollars"
            + (f", without {', '.join(without)}, which has no price" if without else "")
            + f". budget.confirm_above_dollars is {limit:g}: to see the calls, use --dry-run; to run it, --yes"
        )
