"""Estimates what an evaluation would cost before anything is paid, from a rehearsal with the simulator."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from flows.evaluation.models import CommandRun
from flows.evaluation.roles import with_roles
from flows.evaluation.work import judge_all, roles_of
from flows.runtime.costs import Line, priced, require_affordable
from flows.runtime.params import confirmation_limit
from schemas.params import Params
from schemas.params.llm import SIMULATOR, RoleName
from schemas.params.measures import Evaluate
from tasks.llm.costs import Estimate
from tasks.texts.document import Document
from tasks.texts.reading import DataSet
from tasks.transport.inspection import rehearsed

REHEARSED = 6
"""Documents of the rehearsal, a seeded sample; the counts are scaled by the lengths of all texts."""
STREAM = 91
STAGE = "evaluate"


async def estimate_calls(params: Params, chosen: Evaluate, data: DataSet) -> list[Line]:
    """The calls, tokens and dollars of an evaluation by role. Stored replies, which cost nothing again, are counted."""
    sample, factor = _sample(data.documents, seed=params.seed)
    planted = min(chosen.planted, len(sample))  # references with planted errors, in proportion
    smaller, documents = chosen.model_copy(update={"planted": planted}), replace(data, documents=sample)
    counted = await rehearse(params, roles_of(chosen, data), lambda run: judge_all(run, smaller, documents))
    found = {one.role: one.times(factor) for one in counted}
    return [priced(params, STAGE, found[role], "rehearsed") for role in roles_of(chosen, data) if role in found]


def _sample(documents: Sequence[Document], *, seed: int) -> tuple[list[Document], float]:
    """Some documents, and the length of all texts over that of theirs."""
    size = min(REHEARSED, len(documents))
    drawn = np.random.default_rng([seed, STREAM]).choice(len(documents), size=size, replace=False)
    sample = [documents[place] for place in sorted(drawn)]
    return sample, sum(map(_length, documents)) / sum(map(_length, sample))


def _length(document: Document) -> int:
    return len(document.text) + len(document.reference or "") + sum(map(len, document.outputs.values()))


async def rehearse(
    params: Params, roles: Sequence[RoleName], work: Callable[[CommandRun], Awaitable[object]]
) -> list[Estimate]:
    """Have the simulator do ``work`` in these roles with a store of its own, and count the requests."""
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "rehearsal.sqlite")
        runtime = params.runtime.model_copy(update={"store": store, "sending": {}})
        rules = with_roles(params, dict.fromkeys(roles, SIMULATOR))
        run = CommandRun(rules.model_copy(update={"runtime": runtime}), quiet=True)
        try:
            await run.identify(roles)
            await work(run)
        finally:
            await run.close()
        return [one for lines in rehearsed(store).values() for one in lines]


@dataclass
class Guard:
    """Has an expensive evaluation confirmed at its first paid call (`flows.runtime.clients.Confirms`)."""

    chosen: Evaluate
    data: DataSet
    _lines: list[Line] = field(default_factory=list)

    def check(self, params: Params) -> None:
        """Raise BudgetError if the evaluation may cost more than ``budget.confirm_above_dollars``."""
        if confirmation_limit(params) is None:
            return
        self._lines = self._lines or asyncio.run(estimate_calls(params, self.chosen, self.data))
        require_affordable(params, self._lines, "the evaluation", "use --yes; to see its calls, --dry-run")
