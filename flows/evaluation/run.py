"""Runs one evaluation in this process: identify the models, judge, and gather what it was made from."""

from typing import Any

from flows.evaluation.estimate import Guard
from flows.evaluation.folder import manifest
from flows.evaluation.models import CommandRun
from flows.evaluation.work import Evaluation, evaluate, roles_of
from schemas.params import Params
from schemas.params.evaluate import Evaluate
from tasks.evaluation.documents.reading import DataSet


async def run_evaluation(
    params: Params, chosen: Evaluate, data: DataSet, *, confirmed: bool = False
) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation and its manifest. Raises VignetteError; every answered call is stored, so a rerun resumes.

    Unless ``confirmed``, BudgetError is raised before the first paid call of an evaluation that may cost more than
    ``budget.confirm_above_dollars``.
    """
    run, roles = CommandRun(params, None if confirmed else Guard(chosen, data)), roles_of(chosen, data)
    try:
        await run.identify(roles)
        evaluation = await evaluate(run, chosen, data)
        run.require_answers()
        return evaluation, manifest(evaluation, chosen, params, run.fingerprints, roles)
    finally:
        await run.close()
