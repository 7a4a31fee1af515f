"""Dollars of an evaluation before anything is paid, from a rehearsal."""

import asyncio
from collections.abc import Mapping

from flows.evaluation.models import Rehearsal, rehearse
from flows.evaluation.work import asking_metrics, judge_all, roles_of
from flows.repository.params import confirmation_limit
from flows.runtime.clients import Confirm
from flows.runtime.costs import Line, identified, priced, require_affordable
from schemas.params import Params
from schemas.params.measures import Evaluate
from tasks.llm.calls import Call
from tasks.llm.costs import CountedAsk, Estimate, request_tokens
from tasks.llm.requests import make_request
from tasks.measures.several_judges import Divided, Once
from tasks.texts.reading import DataSet

STAGE = "evaluate"


async def estimate_calls(
    params: Params, chosen: Evaluate, data: DataSet, judges: Mapping[str, Params] | None = None
) -> list[Line]:
    """The calls, tokens and dollars of an evaluation by role. Stored replies, which cost nothing again, are counted.

    Without the calls of `asking_metrics`, which are not known beforehand. Those of several ``judges`` have a line for
    each judge, which for the first one holds its lists too.
    """
    chosen, counted = chosen.model_copy(update={"own": []}), dict[str, CountedAsk]()
    lines: list[Line] = []

    async def work(run: Rehearsal) -> None:
        judge, role = run.ask("judge"), run.params.roles["judge"]

        def sent(call: Call) -> int:  # as a rehearsal counts a request
            return request_tokens(make_request(call, role, STAGE).content)

        counted.update({side: CountedAsk(judge, sent) for side in ("lists", "verdicts")})
        divided = Divided(*map(Once, counted.values()))  # equal requests are paid once
        run.wrap = lambda role, client: divided if role == "judge" else client(role)
        await judge_all(run, chosen, data)
        for place, (name, own) in enumerate((judges or {}).items()):
            asked = [counted["verdicts"]] if place else list(counted.values())
            counts = [(one.calls, one.prompt_tokens, one.completion_tokens) for one in asked]
            estimate = Estimate("judge", *map(sum, zip(*counts, strict=True))).times(run.sample.times)
            lines.append(priced(own, STAGE, estimate, f"rehearsed, {name}"))

    roles = [role for role in roles_of(chosen, data) if role != "judge" or not judges]
    found = await rehearse(params, STAGE, roles, work if judges else lambda run: judge_all(run, chosen, data))
    return identified(params, [*found, *lines])


def guard(chosen: Evaluate, data: DataSet, judges: Mapping[str, Params]) -> Confirm:
    """Has an expensive evaluation confirmed at its first paid call."""
    lines: list[Line] = []

    def check(params: Params) -> None:
        if confirmation_limit(params) is None:
            return
        lines[:] = lines or asyncio.run(estimate_calls(params, chosen, data, judges))
        unknown = [f"the calls of metric {name}, your own" for name in asking_metrics(chosen)]
        confirm = "use --yes; to see its calls, --dry-run"
        require_affordable(params, lines, "the evaluation", confirm, unknown=unknown)

    return check
