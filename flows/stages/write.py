"""Stage `write`: asks the writer for every record's first note, or takes published ones."""

from collections.abc import Callable

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.records import FIRST_NOTES
from tasks.dataset.simsum import LABEL, read_texts
from tasks.llm.calls import Ask, unscored_table
from tasks.notes.writing import write_first_notes


async def run(stage: Stage) -> None:
    """Write the first notes."""
    prompts = stage.load("prompts", ["record", "kind", "call", "slot", "prompt", "single_prompt"])
    if stage.params.write.source == "published":
        notes = read_texts(stage.params.write.published, stage.params.domain).notes
        first_notes = notes[["record", "note"]].assign(attempt=0, provenance=LABEL)[list(FIRST_NOTES.columns)]
        done: Frames = {"first_notes": first_notes, "unscored": unscored_table([])}
    else:
        done = await stage.in_chunks(_write, {"prompts": prompts}, by="call")
    stage.save("first_notes", done["first_notes"].sort_values("record", ignore_index=True))
    stage.save_unscored("unscored_write", done["unscored"], of=len(prompts))


async def _write(frames: Frames, ask: Callable[[RoleName], Ask], params: Params) -> Frames:
    written = await write_first_notes(frames["prompts"], ask("writer"), max_tries=params.write.max_tries)
    return dict(zip(("first_notes", "unscored"), written, strict=True))
