"""Stage `doclens_summaries`: DocLens on short questions (MeQSum) and on impressions of the user's radiology reports."""

from collections.abc import Callable

import pandas as pd

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.evaluation import JUDGED
from tasks.evaluation.doclens.judging import judged_table
from tasks.evaluation.doclens.outside import MEQSUM
from tasks.evaluation.doclens.summaries import judge_summaries, read_documents
from tasks.evaluation.doclens.summary_tables import task_rows
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.statistics.metric_rows import metric_table

Asks = Callable[[RoleName], Ask]


def reads(params: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    chosen = params.summaries
    outputs = [*chosen.question_outputs.values(), *chosen.impression_outputs.values()]
    return [MEQSUM, chosen.radiology, chosen.radiology_examples, *outputs]


async def run(stage: Stage) -> None:
    """Have the documents summarised, judge all summaries and add overlap metrics; empty without sources."""
    params, seed = stage.params, stage.params.seed
    documents = read_documents(stage.sources, params.summaries, seed=seed)
    if documents.empty:
        stage.save("doclens_summaries_judged", judged_table([]), JUDGED)
        stage.save_unscored("unscored_doclens_summaries", unscored_table([]), of=0)
        stage.save_metrics("doclens_summaries", metric_table([]))
        return
    made = await stage.in_chunks(judge_chunk, {"documents": documents}, by="document")
    judged = made["judged"].sort_values(list(JUDGED.unique), ignore_index=True)
    stage.save("doclens_summaries_judged", judged, JUDGED)
    stage.save_unscored("unscored_doclens_summaries", made["unscored"], of=len(judged) + len(made["unscored"]))
    made_by = stage.provenance(["writer", "judge"])
    rows = [
        task_rows(task, documents, judged, made["texts"], params.overlap, seed=seed, provenance=made_by)
        for task in sorted(documents["task"].unique())
    ]
    stage.save_metrics("doclens_summaries", pd.concat(rows, ignore_index=True))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """All summaries of one chunk of documents, judged."""
    judged, texts, unscored = await judge_summaries(
        ask("writer"), ask("judge"), frames["documents"], params.doclens, params.summaries
    )
    return {"judged": judged, "texts": texts, "unscored": unscored_table(unscored)}
