"""Stage `summarise`: summaries of patients' notes for a purpose within a limit of words."""

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.llm.calls import Asks
from tasks.measures.history.summarising import outside_summaries, sample_patients, summarise
from tasks.texts.files import read_rows


async def run(stage: Stage) -> None:
    """Have a sample of patients summarised by the writer, and add the summaries of outside systems."""
    params, notes = stage.params.summarise, stage.load("visit_notes")
    sampled = sample_patients(notes, params, stage.params.seed)
    chosen = notes[notes["patient"].isin(sampled)]
    done = await stage.in_chunks(_summarise, {"notes": chosen}, by="patient")
    returned = sorted(stage.dep("summaries_returned").glob("*.jsonl"))
    files = {file.stem: read_rows(file).rows for file in returned}
    outside, lacking = outside_summaries(files, sampled, params)
    summaries = pd.concat([done["summaries"], outside], ignore_index=True)
    unscored = pd.concat([done["unscored"], lacking], ignore_index=True)
    ordered = summaries.sort_values(["patient", "purpose", "words", "system"], ignore_index=True)
    stage.save("history_summaries", ordered)
    stage.save_unscored("unscored_summarise", unscored, of=len(summaries) + len(unscored))


async def _summarise(frames: Frames, ask: Asks, params: Params) -> Frames:
    done = await summarise(frames["notes"], ask("writer"), params.summarise)
    return dict(zip(("summaries", "unscored"), done, strict=True))
