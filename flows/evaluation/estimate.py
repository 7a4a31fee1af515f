"""Dollars of an evaluation before anything is paid, from a rehearsal."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from flows.evaluation.models import CommandRun, estimated, require_confirmed
from flows.evaluation.work import judge_all, roles_of
from flows.runtime.costs import Line, priced
from schemas.params import Params
from schemas.params.measures import Evaluate
from tasks.llm.calls import Call
from tasks.llm.costs import CountedAsk, Estimate, request_tokens
from tasks.llm.requests import make_request
from tasks.measures.own import load_metrics
from tasks.measures.several_judges import Divided, Once
from tasks.texts.document import Document
from tasks.texts.reading import DataSet

REHEARSED = 6
"""Documents of the rehearsal, a seeded sample; the counts are scaled by the lengths of all texts."""
STREAM = 91
STAGE = "evaluate"


async def estimate_calls(
    params: Params, chosen: Evaluate, data: DataSet, judges: Mapping[str, Params] | None = None
) -> list[Line]:
    """The calls, tokens and dollars of an evaluation by role. Stored replies, which cost nothing again, are counted.

    Without the calls of `asking_metrics`, which are not known beforehand. Those of several ``judges`` have a line for
    each judge, which for the first one holds its lists too.
    """
    sample, factor = _sample(data.documents, seed=params.seed)
    planted = min(chosen.planted, len(sample))  # references with planted errors, in proportion
    smaller, documents = chosen.model_copy(update={"planted": planted, "own": []}), replace(data, documents=sample)
    roles = roles_of(chosen, data)
    if not judges:
        return await estimated(params, STAGE, roles, lambda run: judge_all(run, smaller, documents), times=factor)
    counted: dict[str, CountedAsk] = {}

    async def work(run: CommandRun) -> None:
        judge, role = run.ask("judge"), run.params.roles["judge"]

        def sent(call: Call) -> int:  # as the response store counts a request
            return request_tokens(make_request(call, role, STAGE).content)

        counted.update({side: CountedAsk(judge, sent) for side in ("lists", "verdicts")})
        divided = Divided(*map(Once, counted.values()))  # equal requests are paid once
        run.wrap = lambda role, client: divided if role == "judge" else client(role)
        await judge_all(run, smaller, documents)

    others = [role for role in roles if role != "judge"]
    lines = [line for line in await estimated(params, STAGE, roles, work, times=factor) if line.estimate.role in others]
    for place, (name, own) in enumerate(judges.items()):
        asked = [counted["verdicts"]] if place else list(counted.values())
        counts = [(one.calls, one.prompt_tokens, one.completion_tokens) for one in asked]
        estimate = Estimate("judge", *map(sum, zip(*counts, strict=True))).times(factor)
        lines.append(priced(own, STAGE, estimate, f"rehearsed, {name}"))
    return lines


def asking_metrics(chosen: Evaluate) -> list[str]:
    """Names of the user's own metrics that ask the judge; how often, only their code knows."""
    return [one.name for one in load_metrics([Path(file) for file in chosen.own]) if one.asks]


def _sample(documents: Sequence[Document], *, seed: int) -> tuple[list[Document], float]:
    """Some documents, and the length of all texts over that of theirs."""
    size = min(REHEARSED, len(documents))
    drawn = np.random.default_rng([seed, STREAM]).choice(len(documents), size=size, replace=False)
    sample = [documents[place] for place in sorted(drawn)]
    return sample, sum(map(_length, documents)) / sum(map(_length, sample))


def _length(document: Document) -> int:
    return len(document.text) + len(document.reference or "") + sum(map(len, document.outputs.values()))


@dataclass
class Guard:
    """Has an expensive evaluation confirmed at its first paid call (`flows.runtime.clients.Confirm`)."""

    chosen: Evaluate
    data: DataSet
    judges: Mapping[str, Params] = field(default_factory=dict)
    _lines: list[Line] = field(default_factory=list)

    def check(self, params: Params) -> None:
        """Raise BudgetError if the evaluation may cost more than ``budget.confirm_above_dollars``."""
        unknown = [f"the calls of metric {name}, your own" for name in asking_metrics(self.chosen)]
        confirm = "use --yes; to see its calls, --dry-run"
        require_confirmed(params, lambda: self._counted(params), "the evaluation", confirm, unknown)

    def _counted(self, params: Params) -> list[Line]:
        self._lines = self._lines or asyncio.run(estimate_calls(params, self.chosen, self.data, self.judges))
        return self._lines
