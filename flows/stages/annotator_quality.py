"""Stage `annotator_quality`: the annotator on the published notes, the consistency check on scripted edits."""

import pandas as pd

from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.domains.rules import rules_of
from tasks.judges.consistency_checks import edit_verdicts
from tasks.judges.rates import verdict_rows
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
from tasks.spans.annotation import annotate_spans

FOLDS = 5


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [REAL_NOTES]


async def run(stage: Stage) -> None:
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
