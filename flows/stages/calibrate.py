"""Stages `calibrate`, judges against planted truth and scores corrected for their errors, and `planted_errors`."""

from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.tables.verdicts import in_order
from tasks.audit.planted_assertions import METRICS, SYSTEM, read_assertions
from tasks.domains.rules import rules_of
from tasks.judges.cases import Given, planted_table
from tasks.judges.consistency_checks import check_cases, plant_inconsistent
from tasks.judges.rates import corrected_rows, judge_rows, rates, record_of
from tasks.judges.simulated_notes import write_gold
from tasks.llm.calls import Asks, unscored_table
from tasks.llm.costs import FREE, CountedAsk
from tasks.measures.cases import CASES_OF, judge_planted
from tasks.measures.doclens.evaluators import make_evaluator, other_evaluators, provenance
from tasks.measures.doclens.planted import judge_planted_claims, make_claims
from tasks.measures.measure import figures, scores_and_ceilings, unscored_documents
from tasks.statistics.bootstrap import sample_records

BY_RULES = "(simulator's rules)"
"""End of the provenance of the simulator's texts."""
CORRECTED = [one.corrected for own in CASES_OF.values() for one in own if one.corrected is not None]
"""The scores that are corrected, and the cases that are like their units."""


async def run_calibrate(stage: Stage) -> None:
    """Plant, judge, compare, and correct."""
    params, seed = stage.params.calibrate, stage.params.seed
    notes = stage.load("notes")
    judged = notes["record"].astype(str).isin(stage.load("doclens_judged")["document"])
    sampled = sample_records(notes.loc[judged, "record"], params.notes, seed=seed)  # of notes whose scores they correct
    frames = {"texts": notes[["record", "note"]], "prompts": stage.load("prompts")}
    frames = {name: frame[frame["record"].isin(sampled)].reset_index(drop=True) for name, frame in frames.items()}
    made = await stage.in_chunks(judge_chunk, frames)
    planted, claims = (in_order(made[name]) for name in ("planted", "claims"))
    stage.save("planted_claims", planted)
    stage.save("claims_by_judge", claims)
    stage.save_unscored("unscored_calibrate", made["unscored"], of=len(planted) + len(made["unscored"]))

    made_by = provenance(stage.params.doclens, stage.provenance(["judge"]))
    stage.save_metrics("calibration", rates(planted, seed=seed, provenance=made_by, clusters=record_of))
    scored = [(stage.load(one.stem), one) for one in CORRECTED]
    scored = [(rows if one.condition is None else rows.assign(condition=one.condition), one) for rows, one in scored]
    scores = pd.concat([scores_and_ceilings(rows, one.metrics) for rows, one in scored], ignore_index=True)
    unscored = pd.concat([unscored_documents(rows, one.metrics) for rows, one in scored])
    matched = {score: cases for one in CORRECTED for score, cases in one.matched.items()}
    others = sorted({name for name in notes.loc[judged, "provenance"] if not name.endswith(BY_RULES)})
    writer = ", ".join(others) or None
    rows = corrected_rows(scores, planted, unscored, matched, seed=seed, provenance=made_by, other_writer=writer)
    stage.save_metrics("corrected", rows)

    role = stage.params.roles["judge"]
    price = FREE if role.is_simulator else stage.params.prices.get(role.model)
    prices = dict.fromkeys(claims["judge"], price)
    stage.save_metrics("judges", judge_rows(claims, made["usage"], prices, seed=seed))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Planted cases of one chunk of notes, judged; the claims also by the other judges."""
    texts, judge = frames["texts"], ask("judge")
    notes = dict(zip(texts["record"].astype(str), texts["note"], strict=True))
    given = Given(notes, params, frames["prompts"])
    counted, cases = CountedAsk(judge), make_claims(given)
    rules = not params.roles["judge"].is_simulator and params.doclens.evaluator != "simulator"
    others = other_evaluators(params.doclens, params.calibrate.nli_models, rules=rules)
    judges = [make_evaluator(params.doclens, counted), *others]
    found = [await judge_planted_claims(evaluator, cases) for evaluator in judges]
    planted, unscored = await judge_planted(judge, given, {"claims": found[0]})
    free = dict.fromkeys(("calls", "prompt", "completion"), 0)
    spent = {"calls": counted.calls, "prompt": counted.prompt_tokens, "completion": counted.completion_tokens}
    claims, usage = list[pd.DataFrame](), list[dict[str, str | int]]()
    for evaluator, (rows, _) in zip(judges, found, strict=True):
        claims.append(planted_table(rows, evaluator.label))
        usage.append({"judge": evaluator.label, "claims": len(rows), **(free if usage else spent)})
    return {
        "planted": planted,
        "claims": pd.concat(claims, ignore_index=True),
        "usage": pd.DataFrame(usage),
        "unscored": unscored_table(unscored),
    }


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
