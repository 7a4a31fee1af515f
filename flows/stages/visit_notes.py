"""Stage `visit_notes`: the facts of each patient's record over time, and the notes of all visits."""

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.domains.rules import history_words, rules_of
from tasks.llm.calls import Asks
from tasks.visits.facts import Worder, history_facts
from tasks.visits.prompting import visit_prompts, write_visit_notes


async def run(stage: Stage) -> None:
    """Write facts and notes; both are empty in a domain without transitions."""
    domain = stage.params.domain
    visits, worder = stage.load("visits"), Worder(stage.network, rules_of(domain), history_words(domain))
    stage.save("history_facts", history_facts(visits, worder))
    prompts = visit_prompts(visits, worder, stage.params.seed)
    done = await stage.in_chunks(_write, {"prompts": prompts}, by="patient")
    stage.save("visit_notes", done["notes"].sort_values("record", ignore_index=True))
    stage.save_unscored("unscored_visit_notes", done["unscored"], of=len(prompts))


async def _write(frames: Frames, ask: Asks, params: Params) -> Frames:
    done = await write_visit_notes(frames["prompts"], ask("writer"), ask("annotator"), params.visit_notes)
    return dict(zip(("notes", "unscored"), done, strict=True))
