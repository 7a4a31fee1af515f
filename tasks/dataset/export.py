"""Assembles the files of the dataset."""

from io import BytesIO

import pandas as pd
import pyarrow.parquet as pq

from schemas.params.notes import Export
from tasks.dataset.card import Origin, dataset_card
from tasks.dataset.croissant import croissant
from tasks.dataset.parquet import dataset_table
from tasks.dataset.simsum_csv import simsum_csv
from tasks.dataset.span_json import span_json


def dataset_files(
    records: pd.DataFrame,
    prompts: pd.DataFrame,
    notes: pd.DataFrame,
    compact_notes: pd.DataFrame,
    spans: pd.DataFrame,
    export: Export,
    *,
    annotated_by: tuple[str, ...],
    seed: int,
) -> dict[str, bytes]:
    """All files of the dataset: relative path -> contents. Records without both note versions are left out."""
    complete = sorted(set(notes["record"].tolist()) & set(compact_notes["record"].tolist()))
    spans = spans[spans["record"].isin(complete)]
    written_by = sorted({*notes["provenance"], *compact_notes["provenance"]})
    origin = Origin(len(complete), len(records) - len(complete), len(spans), tuple(written_by), annotated_by, seed)
    parquet = BytesIO()
    pq.write_table(dataset_table(records, prompts, notes, compact_notes, spans), parquet, compression="zstd")
    data = {
        "SimSUM.csv": simsum_csv(records, notes, compact_notes).encode(),
        "spans/normal_span_annotations.json": span_json(spans, "normal", complete).encode(),
        "spans/adv_span_annotations.json": span_json(spans, "compact", complete).encode(),
        "notes.parquet": parquet.getvalue(),
    }
    described = {"croissant.json": croissant(export, origin, data).encode()}
    return {**data, **described, "README.md": dataset_card(export, origin).encode()}
