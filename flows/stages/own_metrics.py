"""Stage `own_metrics`: the user's own metrics, of the compact notes."""

from flows.runtime.stage import Stage
from schemas.tables.columns import typed
from schemas.tables.metrics import SCORES
from tasks.llm.calls import unscored_row, unscored_table
from tasks.measures.doclens.notes import COMPACT, note_documents
from tasks.measures.own import load_metrics, score_own
from tasks.statistics.metric_rows import score_table

CONDITION = "against notes"


async def run(stage: Stage) -> None:
    """Score the compact notes that DocLens judged by each metric of the file, against their notes.

    A note without a score counts towards the allowed share of unscored rows where the metric asks the judge; where it
    only computes, it is undefined there.
    """
    judged = set(stage.load("doclens_judged")["document"])
    documents = [one for one in note_documents(stage.load("notes"), stage.load("compact_notes")) if one.id in judged]
    metrics = load_metrics([stage.dep("metrics")])
    of = {"stage": stage.name, "condition": CONDITION}
    found = await score_own(metrics, documents, [COMPACT], stage.ask("judge"), seed=stage.params.seed, **of)
    scores = [{**row, "record": int(row["document"])} for row in found.scores]
    stage.save("own_metrics_scores", score_table(typed(scores, SCORES)))
    asking = {one.name for one in metrics if one.asks}
    rows: dict[bool, list[dict[str, str | None]]] = {True: [], False: []}
    for row in found.unscored:
        rows[row["metric"] in asking].append(unscored_row(row["document"], row["metric"], row["reason"]))
    failed, undefined = unscored_table(rows[True]), unscored_table(rows[False])
    stage.save_unscored("unscored_own_metrics", failed, of=len(documents) * len(asking), uncounted=undefined)
    stage.save_metrics("own_metrics", found.metrics)
