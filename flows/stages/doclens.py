"""Stage `doclens`: compact notes against notes, notes against their prompts, and cited compact notes."""

from collections.abc import Callable

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.columns import typed
from schemas.tables.evaluation import JUDGED
from tasks.domains.rules import rules_of
from tasks.llm.calls import Ask
from tasks.measures.doclens.metrics import metric_rows, record_scores
from tasks.measures.doclens.notes import judge_notes
from tasks.statistics.bootstrap import sample_records

Asks = Callable[[RoleName], Ask]


async def run(stage: Stage) -> None:
    """Judge a sample of the notes, and score."""
    seed, compact = stage.params.seed, stage.load("compact_notes")
    sampled = sample_records(compact["record"], stage.params.doclens.notes, seed=seed)
    frames = {"notes": stage.load("notes"), "compact": compact, "prompts": stage.load("prompts")}
    frames = {name: frame[frame["record"].isin(sampled)].reset_index(drop=True) for name, frame in frames.items()}
    made = await stage.in_chunks(judge_chunk, frames)
    judged = typed(made["judged"], JUDGED).sort_values(list(JUDGED.unique), ignore_index=True)
    stage.save("cited_compact", made["cited"].sort_values("record", ignore_index=True))
    stage.save("doclens_judged", judged)
    stage.save("doclens_scores", record_scores(judged))
    stage.save_unscored("unscored_doclens", made["unscored"], of=len(judged) + len(made["unscored"]))
    provenance = stage.provenance(["writer", "judge"])
    stage.save_metrics("doclens", metric_rows(judged, seed=seed, provenance=provenance))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Judgements on one chunk of notes."""
    tables = (frames["notes"], frames["compact"], frames["prompts"])
    return await judge_notes(ask("writer"), ask("judge"), *tables, rules_of(params.domain), params.doclens)
