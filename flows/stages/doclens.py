"""Stage `doclens`: compact notes against notes, notes against their prompts, and cited compact notes."""

from collections.abc import Callable

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.evaluation import CITED_OUTPUTS, JUDGED
from schemas.tables.metrics import SCORES
from schemas.tables.notes import COMPACT_NOTES, NOTES, PROMPTS
from tasks.evaluation.doclens.metrics import metric_rows, record_scores
from tasks.evaluation.doclens.note_work import judge_notes
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.statistics.sampling import sample_records

Asks = Callable[[RoleName], Ask]
_KEYS = ["document", "system", "condition", "item", "metric", "position"]


async def run(stage: Stage) -> None:
    """Judge a sample of the notes, and score."""
    seed = stage.params.seed
    compact = stage.load("compact_notes", COMPACT_NOTES)
    sampled = sample_records(compact["record"], stage.params.doclens.notes, seed=seed)
    frames = {
        "notes": stage.load("notes", NOTES),
        "compact": compact,
        "prompts": stage.load("prompts", PROMPTS),
    }
    frames = {name: frame[frame["record"].isin(sampled)].reset_index(drop=True) for name, frame in frames.items()}
    made = await stage.in_chunks(judge_chunk, frames)
    judged = made["judged"].sort_values(_KEYS, ignore_index=True)
    stage.save("cited_compact", made["cited"].sort_values("record", ignore_index=True), CITED_OUTPUTS)
    stage.save("doclens_judged", judged, JUDGED)
    stage.save("doclens_scores", record_scores(judged), SCORES)
    stage.save_unscored("unscored_doclens", made["unscored"], of=len(judged) + len(made["unscored"]))
    provenance = stage.provenance(["writer", "judge"])
    stage.save_metrics("doclens", metric_rows(judged, seed=seed, provenance=provenance))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Judgements on one chunk of notes."""
    judged, cited, unscored = await judge_notes(
        ask("writer"), ask("judge"), frames["notes"], frames["compact"], frames["prompts"], params.doclens
    )
    return {"judged": judged, "cited": cited, "unscored": unscored_table(unscored)}
