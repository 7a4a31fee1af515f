"""Stage `human_agreement`: metrics against people's scores of 400 summaries (MTS-Dialog's correlation study).

The judge of the run judges all of them; a strong model's recorded verdicts on some stand beside its own.
"""

from functools import partial
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED
from tasks.judges.human_scores import (
    NOTHING,
    STAGE,
    agreement_rows,
    claims_of_references,
    nothing_to_judge,
    wide_scores,
)
from tasks.measures.evaluation import evaluate_chunk, in_order, plan_of
from tasks.measures.evaluation_tables import evaluation_tables
from tasks.statistics.metric_rows import metric_table
from tasks.texts.document import documents_of, documents_table
from tasks.texts.mts_dialog import FILES, SUMMARIES, read_study, read_verdicts
from tasks.texts.reading import DataSet

STRONG = "strong model (recorded)"


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return list(FILES)


async def run(stage: Stage) -> None:
    """Judge the summaries and correlate; empty without sources."""
    if stage.sources is None or not (stage.sources / SUMMARIES).is_file():
        stage.save_empty("unscored_human_agreement")
        stage.save_metrics(STAGE, metric_table([]))
        return
    documents, human = read_study(stage.sources)
    data = DataSet(documents, "own", ())
    plan = plan_of(Evaluate(data=SUMMARIES, metrics=["doclens", "med_omit", "overlap"]), data)
    frames = {"documents": documents_table(documents)}
    made = in_order(await stage.in_chunks(partial(evaluate_chunk, plan), frames, by="document"))
    judge = stage.provenance(["judge"])
    _, scores = evaluation_tables(documents_of(made["documents"]), plan, made, stage.params, provenance=judge)
    own = wide_scores(scores, human)
    nothing = nothing_to_judge(own, made["unscored"])
    rows = agreement_rows(own, claims_of_references(made["judged"]), nothing=nothing, **_by(stage.ask("judge").label))
    verdicts = read_verdicts(stage.sources)
    if len(verdicts):
        means = verdicts.groupby(["document", "system", "metric"])["judged"].mean().reset_index(name="value")
        overlap = scores[scores["stage"] == "overlap"]
        strong = wide_scores(pd.concat([means, overlap]), human[human["document"].isin(means["document"])])
        rows += agreement_rows(strong, claims_of_references(verdicts), **_by(STRONG))
    _save_unscored(stage, made)
    stage.save_metrics(STAGE, metric_table(rows, stage=STAGE))


def _by(judge: str) -> dict[str, Any]:
    return {"system": judge, "provenance": f"judge: {judge}"}


def _save_unscored(stage: Stage, made: Frames) -> None:
    """Failures, which count, and texts without a claim or fact, which were read."""
    found = made["unscored"]
    steps = found["step"] + found["system"].map(lambda name: f" of {name}" if isinstance(name, str) else "")
    rows = typed(found.rename(columns={"document": "record"}).assign(step=steps), UNSCORED)
    read = rows["reason"].str.contains(NOTHING)
    stage.save_unscored("unscored_human_agreement", rows[~read], of=len(made["judged"]), uncounted=rows[read])
