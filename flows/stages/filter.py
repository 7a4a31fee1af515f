"""Stage `filter`: checks each note against its prompt and has flagged notes regenerated."""

from collections.abc import Callable

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.dataset.simsum import LABEL
from tasks.domains.rules import rules_of
from tasks.llm.calls import Ask
from tasks.notes.consistency import filter_notes, filtering_metrics, pass_through


async def run(stage: Stage) -> None:
    """Write all attempts, the notes kept, and the effects of filtering."""
    prompts = stage.load("prompts", ["record", "kind", "instructions", "slot", "prompt"])
    first_notes = stage.load("first_notes")
    if stage.params.write.source == "published":
        done = dict(zip(("attempts", "notes", "unscored"), pass_through(first_notes), strict=True))
        annotator = LABEL
    else:
        done = await stage.in_chunks(_filter, {"prompts": prompts, "first_notes": first_notes})
        annotator = stage.ask("annotator").label
    stage.save("attempts", done["attempts"])
    stage.save("notes", done["notes"])
    stage.save_unscored("unscored_filter", done["unscored"], of=len(done["attempts"]))
    kinds = dict(zip(prompts["record"].tolist(), prompts["kind"], strict=True))
    stage.save_metrics(
        "filtering", filtering_metrics(done["attempts"], kinds, seed=stage.params.seed, annotator=annotator)
    )


async def _filter(frames: Frames, ask: Callable[[RoleName], Ask], params: Params) -> Frames:
    done = await filter_notes(
        frames["prompts"],
        frames["first_notes"],
        rules_of(params.domain).phrases,
        ask("annotator"),
        ask("writer"),
        max_attempts=params.filter.max_attempts,
        max_tries=params.write.max_tries,
    )
    return dict(zip(("attempts", "notes", "unscored"), done, strict=True))
