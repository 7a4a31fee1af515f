"""Stage `doclens_summaries`: DocLens on short questions (MeQSum) and on impressions of the user's radiology reports."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.columns import typed
from schemas.tables.evaluation import JUDGED
from schemas.tables.metrics import UNSCORED
from tasks.llm.calls import Ask
from tasks.measures.doclens.agreement import system_rows
from tasks.measures.doclens.judging import Plan, write_and_judge
from tasks.measures.doclens.summaries import MEQSUM, read_tasks
from tasks.measures.doclens.writing import Writer
from tasks.statistics.metric_rows import metric_table
from tasks.texts.document import documents_of, documents_table

Asks = Callable[[RoleName], Ask]


def reads(params: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    chosen = params.summaries
    outputs = [*chosen.question_outputs.values(), *chosen.impression_outputs.values()]
    return [MEQSUM, chosen.radiology, chosen.radiology_examples, *outputs]


async def run(stage: Stage) -> None:
    """Have the documents summarised, judge all summaries and add overlap metrics; empty without sources."""
    params, seed, made_by = stage.params, stage.params.seed, stage.provenance(["writer", "judge"])
    judged, unscored, metrics = [typed([], JUDGED)], [typed([], UNSCORED)], [metric_table([])]
    for task in read_tasks(stage.sources, params.summaries, seed=seed):
        frames = {"documents": documents_table(task.documents)}
        made = await stage.in_chunks(partial(judge_chunk, task.writers, task.plan), frames, by="document")
        own = typed(made["judged"], JUDGED).sort_values(list(JUDGED.unique), ignore_index=True)
        about: dict[str, Any] = {"stage": f"doclens_{task.name}", "seed": seed, "provenance": made_by}
        documents = documents_of(made["documents"])
        metrics.append(system_rows(own, documents, list(task.plan.citing), params.overlap, **about))
        judged.append(own.assign(item=task.name))
        unscored.append(made["unscored"])
    joined, failed = pd.concat(judged, ignore_index=True), pd.concat(unscored, ignore_index=True)
    stage.save("doclens_summaries_judged", joined.sort_values(list(JUDGED.unique), ignore_index=True))
    stage.save_unscored("unscored_doclens_summaries", failed, of=len(joined) + len(failed))
    stage.save_metrics("doclens_summaries", pd.concat(metrics, ignore_index=True))


async def judge_chunk(writers: Sequence[Writer], plan: Plan, frames: Frames, ask: Asks, params: Params) -> Frames:
    """All summaries of one chunk of documents, judged."""
    documents = documents_of(frames["documents"])
    return await write_and_judge(ask("writer"), ask("judge"), documents, writers, plan, params.doclens)
