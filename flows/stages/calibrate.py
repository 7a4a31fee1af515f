"""Stage `calibrate`: the judge against planted truth, and the scores corrected for its errors."""

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
from tasks.evaluation.calibration.judging import judge_planted
from tasks.evaluation.calibration.written import plant_written
from tasks.evaluation.doclens.metrics import document_scores
from tasks.evaluation.doclens.setup import make_evaluator
from tasks.evaluation.med_omit.metrics import omission_ceilings
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.notes.compacting import conversation
from tasks.notes.prompting import system_message
from tasks.statistics.sampling import sample_records

Asks = Callable[[RoleName], Ask]


async def run(stage: Stage) -> None:
    """Plant, judge, and correct."""
    params, seed = stage.params.calibrate, stage.params.seed
    notes = stage.load("notes", NOTES)
    verdicts = stage.load("doclens_judged", JUDGED)
    judged = notes["record"].astype(str).isin(verdicts["document"])  # rates hold for the notes that they correct
    sampled = sample_records(notes.loc[judged, "record"], params.notes, seed=seed)
    frames = {"texts": notes[["record", "note"]], "prompts": stage.load("prompts", PROMPTS)}
    frames = {name: frame[frame["record"].isin(sampled)].reset_index(drop=True) for name, frame in frames.items()}
    made = await stage.in_chunks(judge_chunk, frames)
    planted = made["planted"].sort_values(["document", "step", "kind", "text"], ignore_index=True)
    planted = planted.assign(case=range(len(planted)))
    stage.save("planted_claims", planted, PLANTED)
    stage.save_unscored("unscored_calibrate", made["unscored"], of=len(planted) + len(made["unscored"]))

    made_by = stage.provenance(["judge"])
    stage.save_metrics("calibration", rate_rows(planted, system="judge", seed=seed, provenance=made_by))
    omissions = omission_ceilings(stage.load("facts", FACTS), stage.load("omitted", OMITTED))
    shares = document_scores(verdicts).assign(ceiling=1.0)
    scores = pd.concat([shares, omissions], ignore_index=True)
    stage.save_metrics("corrected", corrected_rows(scores, planted, seed=seed, provenance=made_by))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Planted cases of one chunk of notes, judged."""
    texts = frames["texts"]
    notes = dict(zip(texts["record"].astype(str), texts["note"], strict=True))
    judge = ask("judge")
    evaluator = make_evaluator(params.doclens, judge)
    rounds, seed = params.calibrate.rounds, params.seed
    asked = plant_written(frames["prompts"], system_message(), rounds=rounds, seed=seed)
    compacted, left_out = plant_compacted(texts, frames["prompts"], conversation, rounds=rounds, seed=seed)
    planted, unscored = await judge_planted(
        judge, evaluator, notes, ([*asked, *compacted], left_out), removed=params.calibrate.facts, seed=seed
    )
    return {"planted": planted, "unscored": unscored_table(unscored)}
