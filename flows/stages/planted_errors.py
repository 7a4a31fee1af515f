"""Stage `planted_errors`: the consistency check on planted errors."""

from collections.abc import Callable

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.annotator import PLANTED_CASES, PLANTED_VERDICTS
from schemas.tables.notes import PROMPTS
from tasks.evaluation.annotator.consistency_checks import check_cases, verdict_rows
from tasks.evaluation.annotator.planted_errors import plant
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.notes.consistency import consistency_call
from tasks.notes.prompting import system_message


async def run(stage: Stage) -> None:
    """Plant, check, and score."""
    params, seed = stage.params.planted_errors, stage.params.seed
    prompts = stage.load("prompts", PROMPTS)
    cases = plant(prompts, system_message().content, each=params.each, rounds=params.rounds, seed=seed)
    stage.save("planted_cases", cases, PLANTED_CASES)
    made = await stage.in_chunks(check_chunk, {"cases": cases})
    stage.save("planted_verdicts", made["verdicts"].sort_values("record", ignore_index=True), PLANTED_VERDICTS)
    stage.save_unscored("planted_unscored", made["unscored"], of=len(cases))
    label = stage.provenance(["annotator"])
    rows = verdict_rows(made["verdicts"], stage="planted_errors", system="annotator", seed=seed, provenance=label)
    stage.save_metrics("planted_errors", rows)


async def check_chunk(frames: Frames, ask: Callable[[RoleName], Ask], params: Params) -> Frames:
    """Verdicts on the cases of one chunk."""
    verdicts, unscored = await check_cases(frames["cases"], ask("annotator"), consistency_call)
    return {"verdicts": verdicts, "unscored": unscored_table(unscored)}
