"""Stage `training_data`: span detectors trained on generated notes, tested on the published ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from flows.engine.simulated_truth import WRITER, GoldNotes, gold_tables, write_gold
from flows.engine.span_chunk import span_chunk
from flows.engine.stage import Stage
from schemas.params import Params
from schemas.tables.metrics import METRICS
from tasks.domains.rules import load_rules
from tasks.encoder.words import Words, word_encoder
from tasks.evaluation.annotator.real_notes import REAL_NOTES, SymptomSpan, read_real_notes, real_notes_file
from tasks.evaluation.span_tagger.training_sets import VERSIONS, MarkedNote, annotator_rows, training_data_table
from tasks.llm.unscored import unscored_table
from tasks.network.definition import load_definition
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
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
    records, prompts = _prompts(stage)
    notes = write_gold(prompts)
    generated, rules = _generated(notes, encode), load_rules()
    writer = f"{WRITER} (embedded rules), {params.embed.encoder}, layer {params.training_data.layer}"
    table = training_data_table(
        generated,
        await _extracted(stage, records, notes, generated),
        published,
        [rules.labels[symptom] for symptom in rules.symptoms],
        params.training_data,
        seed=params.seed,
        provenance=f"{writer}, {stage.provenance(['annotator'])}",
    )
    quality = annotator_rows(stage.load("annotator_quality", METRICS))
    stage.save_metrics("training_data", pd.concat([table, quality], ignore_index=True))


def _prompts(stage: Stage) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fresh records and their prompts, for the largest training set and the held-out notes."""
    params, rules = stage.params.training_data, load_rules()
    definition = load_definition(stage.dep("network"))
    records = sample(definition, params.sizes[-1] + params.held_out, stage.params.seed)
    parents = {symptom: definition.parents(symptom) for symptom in rules.symptoms}
    return records, build_prompts(records, parents, rules, stage.params.seed)


def _generated(notes: GoldNotes, encode: Callable[[str], Words]) -> list[MarkedNote]:
    """The simulator's first notes with their true spans, named as in the published notes."""
    labels = load_rules().labels
    return [
        MarkedNote(
            record,
            version,
            known.text,
            encode(known.text),
            tuple(SymptomSpan(labels[span.symptom], span.start, span.end) for span in known.spans),
        )
        for version in VERSIONS
        for record, known in notes.version(version).items()
    ]


async def _extracted(
    stage: Stage, records: pd.DataFrame, notes: GoldNotes, generated: Sequence[MarkedNote]
) -> list[MarkedNote]:
    """The generated notes with the annotator's spans, without records of which an extraction failed."""
    normal, compact = gold_tables(notes)
    found = await stage.in_chunks(span_chunk, {"records": records, "notes": normal, "compact_notes": compact})
    stage.save_unscored("unscored_training_data", found["unscored"], of=2 * len(records))
    labels = load_rules().labels
    spans: dict[tuple[int, str], list[SymptomSpan]] = {(note.record, note.version): [] for note in generated}
    for row in found["spans"].itertuples():
        spans[row.record, row.version].append(SymptomSpan(labels[row.symptom], row.start, row.end))
    failed = set(found["unscored"]["record"])
    kept = [note for note in generated if str(note.record) not in failed]
    return [replace(note, spans=tuple(spans[note.record, note.version])) for note in kept]
