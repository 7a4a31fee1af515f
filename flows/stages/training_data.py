"""Stage `training_data`: span detectors trained on generated notes, tested on the published ones."""

from collections.abc import Callable

import pandas as pd

from flows.engine.simulated_truth import WRITER, write_gold
from flows.engine.stage import Stage
from schemas.params import Params
from schemas.tables.metrics import METRICS
from tasks.domains.rules import load_rules
from tasks.encoder.words import Words, word_encoder
from tasks.evaluation.annotator.real_notes import REAL_NOTES, SymptomSpan, read_real_notes, real_notes_file
from tasks.evaluation.span_tagger.training_sets import VERSIONS, MarkedNote, annotator_rows, training_data_table
from tasks.network.definition import load_definition
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.statistics.metric_rows import metric_table


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [REAL_NOTES]


async def run(stage: Stage) -> None:
    """Write notes with known spans, encode, train and test; an empty table where the published notes are absent."""
    params, file = stage.params, real_notes_file(stage.sources)
    if file is None:
        stage.save_metrics("training_data", metric_table([]))
        return
    encode = word_encoder(params.embed.encoder, params.training_data.layer, params.embed.device)
    published = [
        MarkedNote(note.record, version, note.text[version], encode(note.text[version]), note.spans[version])
        for note in read_real_notes(file)
        for version in VERSIONS
    ]
    rules = load_rules()
    table = training_data_table(
        _generated(stage, encode),
        published,
        [rules.labels[symptom] for symptom in rules.symptoms],
        params.training_data,
        seed=params.seed,
        provenance=f"{WRITER} (embedded rules), {params.embed.encoder}, layer {params.training_data.layer}",
    )
    quality = annotator_rows(stage.load("annotator_quality", METRICS))
    stage.save_metrics("training_data", pd.concat([table, quality], ignore_index=True))


def _generated(stage: Stage, encode: Callable[[str], Words]) -> list[MarkedNote]:
    """The simulator's first notes for fresh records, with their true spans, named as in the published notes."""
    params, rules = stage.params.training_data, load_rules()
    definition = load_definition(stage.dep("network"))
    records = sample(definition, params.sizes[-1] + params.held_out, stage.params.seed)
    parents = {symptom: definition.parents(symptom) for symptom in rules.symptoms}
    notes = write_gold(build_prompts(records, parents, rules, stage.params.seed))
    return [
        MarkedNote(
            record,
            version,
            known.text,
            encode(known.text),
            tuple(SymptomSpan(rules.labels[span.symptom], span.start, span.end) for span in known.spans),
        )
        for version in VERSIONS
        for record, known in notes.version(version).items()
    ]
