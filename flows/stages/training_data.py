"""Stage `training_data`: span detectors trained on generated notes, tested on the published ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from flows.runtime.stage import Stage
from flows.stages.simulated_notes import simulated_notes
from schemas.params import Params
from tasks.domains.rules import rules_of
from tasks.encoder.words import word_encoder
from tasks.judges.simulated_notes import WRITER, gold_spans
from tasks.judges.span_agreement import REAL_NOTES, SymptomSpan, read_real_notes, real_notes_file
from tasks.llm.calls import unscored_table
from tasks.spans.tagger import (
    VERSIONS,
    MarkedNote,
    annotator_rows,
    assertion_table,
    training_data_table,
    with_assertion,
)
from tasks.statistics.metric_rows import metric_table


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [REAL_NOTES]


async def run(stage: Stage) -> None:
    """Write notes, extract their spans, encode, train and test; an empty table without the published notes."""
    params, file = stage.params, real_notes_file(stage.sources)
    if file is None:
        stage.save_unscored("unscored_training_data", unscored_table([]), of=0)
        stage.save_metrics("training_data", metric_table([]))
        return
    encode = word_encoder(params.embed.encoder, params.training_data.layer, params.embed.device)
    published = [
        MarkedNote(note.record, version, note.text[version], encode(note.text[version]), note.spans[version])
        for note in read_real_notes(file)
        for version in VERSIONS
    ]
    sizes, rules = params.training_data, rules_of(params.domain)
    made = await simulated_notes(stage, sizes.sizes[-1] + sizes.held_out, "unscored_training_data")
    true = gold_spans(made.gold)
    notes = [
        MarkedNote(record, version, known.text, encode(known.text), ())
        for version in VERSIONS
        for record, known in made.gold.version(version).items()
    ]
    whole = [note for note in notes if str(note.record) not in made.failed]
    mark = partial(_marked, labels=rules.labels)
    symptoms = [rules.labels[symptom] for symptom in rules.symptoms]
    about: dict[str, Any] = {
        "seed": params.seed,
        "provenance": f"{WRITER} (simulator's rules), {params.embed.encoder}, layer {sizes.layer}, "
        f"{stage.provenance(['annotator'])}",
    }
    tables = [
        training_data_table(mark(notes, true), mark(whole, made.spans), published, symptoms, sizes, **about),
        assertion_table(
            mark(notes, true, asserted=True), mark(whole, made.spans, asserted=True), symptoms, sizes, **about
        ),
        annotator_rows(stage.load_metrics("annotator_quality")),
    ]
    stage.save_metrics("training_data", pd.concat(tables, ignore_index=True))


def _marked(
    notes: Sequence[MarkedNote], spans: pd.DataFrame, labels: Mapping[str, str], *, asserted: bool = False
) -> list[MarkedNote]:
    """The notes with ``spans`` (SPANS), named as in the published notes, or by symptom and assertion."""
    of_note: dict[tuple[int, str], list[SymptomSpan]] = {}
    for row in spans.itertuples():
        label = labels[str(row.symptom)]
        name = with_assertion(label, str(row.assertion)) if asserted else label
        of_note.setdefault((row.record, row.version), []).append(SymptomSpan(name, row.start, row.end))
    return [replace(note, spans=tuple(of_note.get((note.record, note.version), []))) for note in notes]
