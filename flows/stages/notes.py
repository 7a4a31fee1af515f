"""Stages `prompt`, `write`, `filter` and `compact`: from a record to its note and the compact version."""

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.tables.records import FIRST_NOTES
from tasks.dataset.simsum import LABEL, read_texts
from tasks.domains.rules import rules_of
from tasks.llm.calls import Asks, unscored_table
from tasks.notes.consistency import filter_notes, filtering_metrics, pass_through
from tasks.notes.prompting import build_prompts
from tasks.notes.writing import compact_notes, write_first_notes


async def run_prompt(stage: Stage) -> None:
    """Write the prompts."""
    records, params = stage.load("records"), stage.params
    prompts = build_prompts(records, stage.network, rules_of(params.domain), params.seed, params.prompting)
    stage.save("prompts", prompts)


async def run_write(stage: Stage) -> None:
    """Write the first notes."""
    prompts = stage.load("prompts", ["record", "kind", "call", "slot", "prompt", "single_prompt"])
    if stage.params.write.source == "published":
        notes = read_texts(stage.params.write.published, stage.params.domain)
        first_notes = notes[["record", "note"]].assign(attempt=0, provenance=LABEL)[list(FIRST_NOTES.columns)]
        done: Frames = {"first_notes": first_notes, "unscored": unscored_table([])}
    else:
        done = await stage.in_chunks(_write, {"prompts": prompts}, by="call")
    stage.save("first_notes", done["first_notes"].sort_values("record", ignore_index=True))
    stage.save_unscored("unscored_write", done["unscored"], of=len(prompts))


async def _write(frames: Frames, ask: Asks, params: Params) -> Frames:
    written = await write_first_notes(frames["prompts"], ask("writer"), max_tries=params.write.max_tries)
    return dict(zip(("first_notes", "unscored"), written, strict=True))


async def run_filter(stage: Stage) -> None:
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


async def _filter(frames: Frames, ask: Asks, params: Params) -> Frames:
    done = await filter_notes(
        frames["prompts"],
        frames["first_notes"],
        ask("annotator"),
        ask("writer"),
        max_attempts=params.filter.max_attempts,
        max_tries=params.write.max_tries,
    )
    return dict(zip(("attempts", "notes", "unscored"), done, strict=True))


async def run_compact(stage: Stage) -> None:
    """Write the compact notes."""
    prompts, notes = stage.load("prompts", ["record", "single_prompt"]), stage.load("notes")
    if stage.params.write.source == "published":
        texts = read_texts(stage.params.write.published, stage.params.domain)
        frame = texts[["record", "compact"]].assign(provenance=LABEL)
        done: Frames = {"compact": frame, "unscored": unscored_table([])}
    else:
        done = await stage.in_chunks(_compact, {"prompts": prompts, "notes": notes})
    stage.save("compact_notes", done["compact"])
    stage.save_unscored("unscored_compact", done["unscored"], of=len(notes))


async def _compact(frames: Frames, ask: Asks, params: Params) -> Frames:
    done = await compact_notes(frames["prompts"], frames["notes"], ask("writer"), max_tries=params.write.max_tries)
    return dict(zip(("compact", "unscored"), done, strict=True))
