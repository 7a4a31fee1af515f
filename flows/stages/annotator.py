"""Stages `annotator_quality`, on published notes, and `planted_errors`, on errors and spans whose truth is known."""

from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.domains.rules import rules_of
from tasks.judges.consistency_checks import check_cases, edit_verdicts, plant_inconsistent
from tasks.judges.planted_assertions import assertion_accuracy, read_assertions
from tasks.judges.rates import verdict_rows
from tasks.judges.simulated_notes import write_gold
from tasks.judges.span_agreement import (
    HALVES,
    REAL_NOTES,
    RealNote,
    absent_row,
    agreement_table,
    cross_validated,
    read_real_notes,
    real_notes_file,
)
from tasks.llm.calls import Asks, unscored_table
from tasks.spans.annotation import annotate_spans

FOLDS = 5


def reads_annotator_quality(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [REAL_NOTES]


async def run_annotator_quality(stage: Stage) -> None:
    """Annotate, compare, edit, check; one absent row when the sources folder has no real notes."""
    seed, file = stage.params.seed, real_notes_file(stage.sources)
    if file is None:
        stage.save_metrics("annotator_quality", absent_row(seed))
        return
    notes = read_real_notes(file)
    spans, unscored = await _annotate(stage, notes)
    label = stage.provenance(["annotator"])
    tables = [
        agreement_table(notes, spans, half, seed=seed, provenance=label, unscored=len(unscored)) for half in HALVES
    ]
    verdicts = await edit_verdicts(notes, rules_of(stage.params.domain), stage.ask("annotator"), seed=seed)
    edits = verdict_rows(verdicts, stage="annotator_quality", system="annotator", seed=seed, provenance=label)
    choices = cross_validated(notes, folds=FOLDS, seed=seed)
    stage.save_metrics("annotator_quality", pd.concat([*tables, choices, edits], ignore_index=True))


async def _annotate(stage: Stage, notes: list[RealNote]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Spans by the steps of the main pipeline; prompts contain no patient data, as the records are unknown."""
    rules = rules_of(stage.params.domain)
    records = pd.DataFrame([{"record": n.record, **dict.fromkeys(rules.symptoms, "unknown")} for n in notes])
    normal = pd.DataFrame([{"record": n.record, "note": n.text["normal"]} for n in notes])
    compact = pd.DataFrame([{"record": n.record, "compact": n.text["compact"]} for n in notes])
    spans, unscored = await annotate_spans(
        *(records, normal, compact, rules, stage.ask("annotator")),
        max_corrections=stage.params.span.max_corrections,
    )
    return spans.assign(symptom=spans["symptom"].map(rules.labels)), unscored


async def run_planted_errors(stage: Stage) -> None:
    """Plant, check, and score."""
    params, seed = stage.params.planted_errors, stage.params.seed
    cases = plant_inconsistent(stage.load("prompts"), each=params.each, rounds=params.rounds, seed=seed)
    stage.save("planted_cases", cases)
    made = await stage.in_chunks(check_chunk, {"cases": cases})
    stage.save("planted_verdicts", made["verdicts"].sort_values("record", ignore_index=True))
    prompts = stage.load("prompts").sort_values("record").head(params.each)
    gold = write_gold(prompts.assign(prompt=prompts["single_prompt"], call=prompts["record"], slot=0))
    rules = rules_of(stage.params.domain)
    labels = dict(zip(rules.symptoms, rules.symptom_labels, strict=True))
    asserted, failures = await read_assertions(gold, labels, params.assertions, stage.ask("annotator"), seed=seed)
    stage.save("assertion_cases", asserted)
    unscored = pd.concat([made["unscored"], unscored_table(failures)], ignore_index=True)
    stage.save_unscored("planted_unscored", unscored, of=len(cases) + len(asserted))
    about: dict[str, Any] = {"stage": stage.name, "seed": seed, "provenance": stage.provenance(["annotator"])}
    found = verdict_rows(made["verdicts"], system="annotator", **about)
    stage.save_metrics("planted_errors", pd.concat([found, assertion_accuracy(asserted, **about)], ignore_index=True))


async def check_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Verdicts on the cases of one chunk."""
    verdicts, unscored = await check_cases(frames["cases"], ask("annotator"))
    return {"verdicts": verdicts, "unscored": unscored_table(unscored)}
