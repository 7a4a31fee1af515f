"""Stage `training_data`: span detectors trained on generated notes, tested on the published ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from flows.runtime.stage import Stage
from flows.stages.simulated_notes import SimulatedNotes, simulated_notes
from schemas.params import Params
from tasks.domains.rules import rules_of
from tasks.encoder.words import Words, word_encoder
from tasks.judges.simulated_notes import WRITER, GoldNotes
from tasks.judges.span_agreement import REAL_NOTES, SymptomSpan, read_real_notes, real_notes_file
from tasks.llm.calls import unscored_table
from tasks.spans.tagger import VERSIONS, MarkedNote, annotator_rows, training_data_table
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
    generated = _generated(made.gold, rules.labels, encode)
    writer = f"{WRITER} (simulator's rules), {params.embed.encoder}, layer {sizes.layer}"
    table = training_data_table(
        generated,
        _extracted(made, generated, rules.labels),
        published,
        [rules.labels[symptom] for symptom in rules.symptoms],
        sizes,
        seed=params.seed,
        provenance=f"{writer}, {stage.provenance(['annotator'])}",
    )
    quality = annotator_rows(stage.load_metrics("annotator_quality"))
    stage.save_metrics("training_data", pd.concat([table, quality], ignore_index=True))


def _generated(notes: GoldNotes, labels: Mapping[str, str], encode: Callable[[str], Words]) -> list[MarkedNote]:
    """The simulator's first notes with their true spans, named as in the published notes."""
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


def _extracted(made: SimulatedNotes, generated: Sequence[MarkedNote], labels: Mapping[str, str]) -> list[MarkedNote]:
    """The generated notes with the annotator's spans, without records of which an extraction failed."""
    spans: dict[tuple[int, str], list[SymptomSpan]] = {(note.record, note.version): [] for note in generated}
    for row in made.spans.itertuples():
        spans[row.record, row.version].append(SymptomSpan(labels[row.symptom], row.start, row.end))
    kept = [note for note in generated if str(note.record) not in made.failed]
    return [replace(note, spans=tuple(spans[note.record, note.version])) for note in kept]
