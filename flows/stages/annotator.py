"""Stage `planted_errors`: the annotator on errors and spans whose truth is known."""

from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.tables.verdicts import in_order
from tasks.audit.planted_assertions import METRICS, SYSTEM, read_assertions
from tasks.domains.rules import rules_of
from tasks.judges.consistency_checks import check_cases, plant_inconsistent
from tasks.judges.rates import rates
from tasks.judges.simulated_notes import write_gold
from tasks.llm.calls import Asks, unscored_table
from tasks.measures.measure import figures


async def run_planted_errors(stage: Stage) -> None:
    """Plant, check, and score."""
    params, seed = stage.params.planted_errors, stage.params.seed
    cases = plant_inconsistent(stage.load("prompts"), each=params.each, rounds=params.rounds, seed=seed)
    stage.save("planted_cases", cases)
    made = await stage.in_chunks(check_chunk, {"cases": cases})
    stage.save("planted_verdicts", verdicts := in_order(made["verdicts"]))
    prompts = stage.load("prompts").sort_values("record").head(params.each)
    gold = write_gold(prompts.assign(prompt=prompts["single_prompt"], call=prompts["record"], slot=0))
    labels = rules_of(stage.params.domain).symptom_labels
    asserted, failures = await read_assertions(gold, labels, params.assertions, stage.ask("annotator"), seed=seed)
    stage.save("assertion_cases", asserted)
    unscored = pd.concat([made["unscored"], unscored_table(failures)], ignore_index=True)
    stage.save_unscored("planted_unscored", unscored, of=len(cases) + len(asserted))
    about: dict[str, Any] = {"stage": stage.name, "seed": seed, "provenance": stage.provenance(["annotator"])}
    found = rates(verdicts, system=SYSTEM, of_errors=True, **about)
    stage.save_metrics("planted_errors", pd.concat([found, figures(asserted, METRICS, **about)], ignore_index=True))


async def check_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Verdicts on the cases of one chunk."""
    verdicts, unscored = await check_cases(frames["cases"], ask("annotator"))
    return {"verdicts": verdicts, "unscored": unscored_table(unscored)}
