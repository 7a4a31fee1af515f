"""Stage `calibrate`: judges against planted truth, and the scores corrected for the judge's errors."""

from dataclasses import replace

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.domains.rules import rules_of
from tasks.judges.judges_compared import judge_rows, usage_row
from tasks.judges.judging import judge_planted, judge_planted_claims, planted_table
from tasks.judges.planted import plant
from tasks.judges.rates import corrected_rows, rates, record_of
from tasks.judges.written_cases import plant_compacted, plant_written
from tasks.llm.calls import Asks, unscored_table
from tasks.llm.costs import FREE, CountedAsk
from tasks.measures.doclens.evaluators import Evaluator, make_evaluator, other_evaluators
from tasks.measures.doclens.judging import METRICS
from tasks.measures.doclens.subclaims import Limits
from tasks.measures.measure import in_order, scores_and_ceilings, unscored_documents
from tasks.measures.med_omit.judging import OMISSIONS
from tasks.statistics.bootstrap import sample_records

BY_RULES = "(simulator's rules)"
"""End of the provenance of the simulator's texts."""


async def run(stage: Stage) -> None:
    """Plant, judge, compare, and correct."""
    params, seed = stage.params.calibrate, stage.params.seed
    notes = stage.load("notes")
    verdicts = stage.load("doclens_judged")
    judged = notes["record"].astype(str).isin(verdicts["document"])  # rates hold for the notes that they correct
    sampled = sample_records(notes.loc[judged, "record"], params.notes, seed=seed)
    frames = {"texts": notes[["record", "note"]], "prompts": stage.load("prompts")}
    frames = {name: frame[frame["record"].isin(sampled)].reset_index(drop=True) for name, frame in frames.items()}
    made = await stage.in_chunks(judge_chunk, frames)
    planted, claims = (in_order(made[name]) for name in ("planted", "claims"))
    stage.save("planted_claims", planted)
    stage.save("claims_by_judge", claims)
    stage.save_unscored("unscored_calibrate", made["unscored"], of=len(planted) + len(made["unscored"]))

    made_by = stage.provenance(["judge"])
    stage.save_metrics("calibration", rates(planted, seed=seed, provenance=made_by, clusters=record_of))
    omitted = stage.load("med_omit_judged").assign(condition="judge")
    corrected = ((verdicts, METRICS), (omitted, OMISSIONS))
    scores = pd.concat([scores_and_ceilings(*one) for one in corrected], ignore_index=True)
    unscored = pd.concat([unscored_documents(*one) for one in corrected])
    others = sorted({name for name in notes.loc[judged, "provenance"] if not name.endswith(BY_RULES)})
    writer = ", ".join(others) or None
    rows = corrected_rows(scores, planted, unscored, seed=seed, provenance=made_by, other_writer=writer)
    stage.save_metrics("corrected", rows)

    role = stage.params.roles["judge"]
    price = FREE if role.is_simulator else stage.params.prices.get(role.model)
    prices = dict.fromkeys(claims["judge"], price)
    stage.save_metrics("judges", judge_rows(claims, made["usage"], prices, seed=seed))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Planted cases of one chunk of notes, judged; the claims also by the other judges."""
    texts, prompts, judge = frames["texts"], frames["prompts"], ask("judge")
    calibrate, seed = params.calibrate, params.seed
    notes = dict(zip(texts["record"].astype(str), texts["note"], strict=True))
    cases = plant(notes, rules_of(params.domain).symptom_labels, removed=calibrate.facts, seed=seed)
    asked = plant_written(prompts, rules_of(params.domain), rounds=calibrate.rounds, seed=seed)
    compacted, left_out = plant_compacted(texts, prompts, rounds=calibrate.rounds, seed=seed)
    cases = replace(cases, claims=[*cases.claims, *asked, *compacted], left_out=left_out)
    evaluator, limits = make_evaluator(params.doclens, judge), Limits.of(params.doclens)
    planted, unscored = await judge_planted(judge, evaluator, cases, limits=limits)
    claims, usage = [], []
    counted = CountedAsk(judge)
    judges: list[tuple[Evaluator, CountedAsk | None]] = [(make_evaluator(params.doclens, counted), counted)]
    rules = not params.roles["judge"].is_simulator and params.doclens.evaluator != "simulator"
    others = other_evaluators(params.doclens, params.calibrate.nli_models, rules=rules)
    judges += [(one, None) for one in others]
    for evaluator, calls in judges:
        rows, _ = await judge_planted_claims(evaluator, cases.claims)
        claims.append(planted_table(rows, evaluator.label))
        usage.append(usage_row(evaluator.label, len(rows), calls))
    return {
        "planted": planted,
        "claims": pd.concat(claims, ignore_index=True),
        "usage": pd.DataFrame(usage),
        "unscored": unscored_table(unscored),
    }
