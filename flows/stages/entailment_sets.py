"""Stage `entailment_sets`: the judge on labelled pairs of a text and a claim, such as ANLI and MedNLI."""

from pathlib import Path
from typing import Any

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.tables.verdicts import in_order
from tasks.llm.calls import Asks
from tasks.measures.doclens.evaluators import provenance
from tasks.measures.grounding.entailment_sets import METRICS, SETS, judge_pairs, read_sets, set_file
from tasks.measures.measure import figures


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [set_file(name) for name in SETS]


async def run(stage: Stage) -> None:
    """Judge all pairs in two classes and in three, and write the accuracies; empty without the sources."""
    pairs = read_sets(stage.sources or Path())
    if pairs.empty:
        stage.save_nothing()
        return
    made = await stage.in_chunks(judge_chunk, {"pairs": pairs}, by="document")
    judged = in_order(made["verdicts"])
    stage.save("entailment_judged", judged)
    stage.save_unscored("unscored_entailment_sets", made["unscored"], of=len(judged))
    made_by = provenance(stage.params.doclens, stage.provenance(["judge"]))
    about: dict[str, Any] = {"stage": stage.name, "seed": stage.params.seed, "provenance": made_by}
    stage.save_metrics("entailment_sets", figures(judged, METRICS, **about))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Verdicts on one chunk of pairs."""
    return await judge_pairs(ask("judge"), frames["pairs"], params.doclens)
