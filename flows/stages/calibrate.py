"""Stage `calibrate`: judges against planted truth, and the scores corrected for the judge's errors."""

from collections.abc import Callable

import pandas as pd

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.evaluation import FACTS, JUDGED, OMITTED, PLANTED
from schemas.tables.notes import NOTES, PROMPTS
from tasks.evaluation.calibration.compacted import plant_compacted
from tasks.evaluation.calibration.corrected import corrected_rows
from tasks.evaluation.calibration.judge_rates import rate_rows
from tasks.evaluation.calibration.judges import CountedAsk, judge_rows, usage_row
from tasks.evaluation.calibration.judging import judge_planted, judge_planted_claims, planted_table
from tasks.evaluation.calibration.planted import plant_claims
from tasks.evaluation.calibration.written import plant_written
from tasks.evaluation.doclens.evaluators import Evaluator
from tasks.evaluation.doclens.metrics import document_scores, unscored_judgements
from tasks.evaluation.doclens.setup import claim_limits, make_evaluator, other_evaluators
from tasks.evaluation.med_omit.metrics import omission_ceilings, unscored_documents
from tasks.llm.calls import Ask
from tasks.llm.prices import FREE
from tasks.llm.unscored import unscored_table
from tasks.notes.compacting import conversation
from tasks.notes.prompting import system_message
from tasks.statistics.sampling import sample_records

Asks = Callable[[RoleName], Ask]


async def run(stage: Stage) -> None:
    """Plant, judge, compare, and correct."""
    params, seed = stage.params.calibrate, stage.params.seed
    notes = stage.load("notes", NOTES)
    verdicts = stage.load("doclens_judged", JUDGED)
    judged = notes["record"].astype(str).isin(verdicts["document"])  # rates hold for the notes that they correct
    sampled = sample_records(notes.loc[judged, "record"], params.notes, seed=seed)
    frames = {"texts": notes[["record", "note"]], "prompts": stage.load("prompts", PROMPTS)}
    frames = {name: frame[frame["record"].isin(sampled)].reset_index(drop=True) for name, frame in frames.items()}
    made = await stage.in_chunks(judge_chunk, frames)
    planted, claims = (_in_order(made[name]) for name in ("planted", "claims"))
    stage.save("planted_claims", planted, PLANTED)
    stage.save("claims_by_judge", claims, PLANTED)
    stage.save_unscored("unscored_calibrate", made["unscored"], of=len(planted) + len(made["unscored"]))

    made_by = stage.provenance(["judge"])
    stage.save_metrics("calibration", rate_rows(planted, system="judge", seed=seed, provenance=made_by))
    omissions = omission_ceilings(stage.load("facts", FACTS), stage.load("omitted", OMITTED))
    shares = document_scores(verdicts).assign(ceiling=1.0)
    scores = pd.concat([shares, omissions], ignore_index=True)
    unscored = pd.concat([unscored_judgements(verdicts), unscored_documents(omissions, stage.load("omitted", OMITTED))])
    stage.save_metrics("corrected", corrected_rows(scores, planted, unscored, seed=seed, provenance=made_by))

    role = stage.params.roles["judge"]
    price = FREE if role.is_embedded else stage.params.prices.get(role.model)
    prices = dict.fromkeys(claims["provenance"], price)
    stage.save_metrics("judges", judge_rows(claims, made["usage"], prices, seed=seed))


def _in_order(cases: pd.DataFrame) -> pd.DataFrame:
    ordered = cases.sort_values(["provenance", "document", "step", "kind", "text"], ignore_index=True)
    return ordered.assign(case=range(len(ordered)))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Planted cases of one chunk of notes, judged; the claims also by the other judges."""
    texts = frames["texts"]
    notes = dict(zip(texts["record"].astype(str), texts["note"], strict=True))
    judge = ask("judge")
    rounds, seed = params.calibrate.rounds, params.seed
    asked = plant_written(frames["prompts"], system_message(), rounds=rounds, seed=seed)
    compacted, left_out = plant_compacted(texts, frames["prompts"], conversation, rounds=rounds, seed=seed)
    written = [*asked, *compacted]
    planted, unscored = await judge_planted(
        judge,
        make_evaluator(params.doclens, judge),
        notes,
        (written, left_out),
        removed=params.calibrate.facts,
        seed=seed,
        limits=claim_limits(params.doclens),
    )
    claims, usage = [], []
    counted = CountedAsk(judge)
    judges: list[tuple[Evaluator, CountedAsk | None]] = [(make_evaluator(params.doclens, counted), counted)]
    rules = not params.roles["judge"].is_embedded and params.doclens.evaluator != "embedded"
    others = other_evaluators(params.doclens, params.calibrate.nli_models, rules=rules)
    judges += [(one, None) for one in others]
    for evaluator, calls in judges:
        rows, _ = await judge_planted_claims(evaluator, [*plant_claims(notes, seed=seed), *written])
        claims.append(planted_table(rows, evaluator.label))
        usage.append(usage_row(evaluator.label, len(rows), calls))
    return {
        "planted": planted,
        "claims": pd.concat(claims, ignore_index=True),
        "usage": pd.DataFrame(usage),
        "unscored": unscored_table(unscored),
    }
