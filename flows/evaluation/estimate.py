"""Dollars before anything is paid: of an evaluation, from a rehearsal, and of one judgement for `vignette plan`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path

import numpy as np

from flows.evaluation.audit import audit_cost, make_audit
from flows.evaluation.judges import Panel
from flows.evaluation.models import CommandRun, estimated, require_confirmed
from flows.evaluation.work import judge_all, read_data, roles_of
from flows.repository.pipeline import model_stages
from flows.repository.workspace import root
from flows.runtime.costs import SIZES, Line, estimates, priced, total, unpriced
from schemas.errors import ParamsError, did_you_mean
from schemas.params import Params
from schemas.params.measures import Evaluate
from tasks.llm.calls import Call
from tasks.llm.costs import CountedAsk, Estimate, request_tokens
from tasks.llm.requests import make_request
from tasks.measures.own import load_metrics
from tasks.measures.panel import Divided, Once
from tasks.texts.document import Document
from tasks.texts.reading import DataSet

REHEARSED = 6
"""Documents of the rehearsal, a seeded sample; the counts are scaled by the lengths of all texts."""
STREAM = 91
STAGE = "evaluate"
_MANY = 1_000_000
"""Judgements whose estimate is divided, so that no token is lost to rounding."""
_CLAIMS = 40
"""Claims of a rehearsed audit."""


async def estimate_calls(params: Params, chosen: Evaluate, data: DataSet, panel: Panel | None = None) -> list[Line]:
    """The calls, tokens and dollars of an evaluation by role. Stored replies, which cost nothing again, are counted.

    Without the calls of `asking_metrics`, which are not known beforehand. Those of a ``panel`` have a line for each
    judge, which for the lister holds its lists too.
    """
    sample, factor = _sample(data.documents, seed=params.seed)
    planted = min(chosen.planted, len(sample))  # references with planted errors, in proportion
    smaller, documents = chosen.model_copy(update={"planted": planted, "own": []}), replace(data, documents=sample)
    roles = roles_of(chosen, data)
    if panel is None:
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
    for name in panel.everyone:
        sides = [*(["lists"] if name == panel.lister else []), *(["verdicts"] if name in panel.judges else [])]
        asked = [counted[side] for side in sides]
        counts = [(one.calls, one.prompt_tokens, one.completion_tokens) for one in asked]
        estimate = Estimate("judge", *map(sum, zip(*counts, strict=True))).times(factor)
        lines.append(priced(panel.params_of(params, name), STAGE, estimate, f"rehearsed, {name}"))
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
    panel: Panel | None = None
    _lines: list[Line] = field(default_factory=list)

    def check(self, params: Params) -> None:
        """Raise BudgetError if the evaluation may cost more than ``budget.confirm_above_dollars``."""
        unknown = [f"the calls of metric {name}, your own" for name in asking_metrics(self.chosen)]
        confirm = "use --yes; to see its calls, --dry-run"
        require_confirmed(params, lambda: self._counted(params), "the evaluation", confirm, unknown)

    def _counted(self, params: Params) -> list[Line]:
        self._lines = self._lines or asyncio.run(estimate_calls(params, self.chosen, self.data, self.panel))
        return self._lines


def price_of_tokens(params: Params, tokens: tuple[int, int]) -> float:
    """Dollars of one judgement of so many tokens sent and received; nan for a model without a price."""
    estimate = Estimate("judge", _MANY, tokens[0] * _MANY, tokens[1] * _MANY)
    dollars = priced(params, "plan", estimate, "given").dollars
    return nan if dollars is None else dollars / _MANY


def price_of_stage(params: Params, stage: str) -> float:
    """Dollars of one judgement of a stage, counted from its requests in the store; see `vignette trial --estimate`."""
    pipeline = root() / "dvc.yaml"
    if stage not in model_stages(pipeline) or stage not in SIZES:
        raise ParamsError(f"--counted {stage}: expected one of {', '.join(sorted(SIZES))}{did_you_mean(stage, SIZES)}")
    lines = [line for line in estimates(params, pipeline)[0] if line.stage == stage and line.estimate.role == "judge"]
    if not lines:
        raise ParamsError(f"--counted {stage}: never ran here; run it with the simulator, or give --tokens")
    return nan if unpriced(lines) else total(lines) / SIZES[stage](params)["judge"]


def price_of_audit(params: Params, texts: Path | None) -> float:
    """Dollars of one claim of an audit, from a rehearsal of a few with the simulator."""
    audit = make_audit(texts, params, cases=_CLAIMS, tasks=["claims"])
    lines = asyncio.run(audit_cost(params, audit))
    judge = [line for line in lines if line.estimate.role == "judge"]
    return nan if unpriced(judge) else total(judge) / len(audit.cases)


def price_of_documents(params: Params, chosen: Evaluate) -> float:
    """Dollars of the judge for one document of an evaluation like ``chosen``, from a rehearsal with the simulator."""
    data = read_data(chosen)
    lines = [one for one in asyncio.run(estimate_calls(params, chosen, data)) if one.estimate.role == "judge"]
    return nan if unpriced(lines) else total(lines) / len(data.documents)
