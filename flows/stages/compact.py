"""Stage `compact`: asks the writer for the compact version of every note, or takes published ones."""

from collections.abc import Callable

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.dataset.simsum import LABEL, read_texts
from tasks.llm.calls import Ask, unscored_table
from tasks.notes.writing import compact_notes


async def run(stage: Stage) -> None:
    """Write the compact notes."""
    prompts, notes = stage.load("prompts", ["record", "single_prompt"]), stage.load("notes")
    if stage.params.write.source == "published":
        texts = read_texts(stage.params.write.published, stage.params.domain).notes
        frame = texts[["record", "compact"]].assign(provenance=LABEL)
        done: Frames = {"compact": frame, "unscored": unscored_table([])}
    else:
        done = await stage.in_chunks(_compact, {"prompts": prompts, "notes": notes})
    stage.save("compact_notes", done["compact"])
    stage.save_unscored("unscored_compact", done["unscored"], of=len(notes))


async def _compact(frames: Frames, ask: Callable[[RoleName], Ask], params: Params) -> Frames:
    done = await compact_notes(frames["prompts"], frames["notes"], ask("writer"), max_tries=params.write.max_tries)
    return dict(zip(("compact", "unscored"), done, strict=True))
