"""Stage `planted_errors`: the consistency check on planted errors."""

from collections.abc import Callable

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.domains.rules import rules_of
from tasks.judges.consistency_checks import check_cases, plant_inconsistent
from tasks.judges.rates import verdict_rows
from tasks.llm.calls import Ask, unscored_table


async def run(stage: Stage) -> None:
    """Plant, check, and score."""
    params, seed = stage.params.planted_errors, stage.params.seed
    cases = plant_inconsistent(stage.load("prompts"), each=params.each, rounds=params.rounds, seed=seed)
    stage.save("planted_cases", cases)
    made = await stage.in_chunks(check_chunk, {"cases": cases})
    stage.save("planted_verdicts", made["verdicts"].sort_values("record", ignore_index=True))
    stage.save_unscored("planted_unscored", made["unscored"], of=len(cases))
    label = stage.provenance(["annotator"])
    rows = verdict_rows(made["verdicts"], stage="planted_errors", system="annotator", seed=seed, provenance=label)
    stage.save_metrics("planted_errors", rows)


async def check_chunk(frames: Frames, ask: Callable[[RoleName], Ask], params: Params) -> Frames:
    """Verdicts on the cases of one chunk."""
    verdicts, unscored = await check_cases(frames["cases"], rules_of(params.domain).phrases, ask("annotator"))
    return {"verdicts": verdicts, "unscored": unscored_table(unscored)}
