"""Assembles the files of the dataset."""

import hashlib
from collections.abc import Mapping, Sequence
from io import BytesIO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.params.records import Export
from tasks.dataset.card import Origin, dataset_card
from tasks.dataset.fields import dataset_table, split_path
from tasks.dataset.simsum import simsum_csv, span_json
from tasks.dataset.splits import split_dataset, strata_columns

CHECKSUMS = "SHA256SUMS"


def dataset_files(
    records: pd.DataFrame,
    prompts: pd.DataFrame,
    notes: pd.DataFrame,
    compact_notes: pd.DataFrame,
    spans: pd.DataFrame,
    split: pd.DataFrame,
    export: Export,
    *,
    annotated_by: tuple[str, ...],
    seed: int,
    domain: str,
) -> dict[str, bytes]:
    """All files of the dataset: relative path -> contents. Records without both note versions are left out."""
    complete = sorted(set(notes["record"].tolist()) & set(compact_notes["record"].tolist()))
    spans = spans[spans["record"].isin(complete)]
    strata = records.merge(prompts[["record", "kind"]], on="record")[["record", *strata_columns(domain)]]
    strata = strata[strata["record"].isin(complete)]
    splits = split_dataset(split, strata, validation_share=export.validation_share, seed=seed)
    origin = Origin(
        records={name: len(members) for name, members in splits.items()},
        left_out=len(records) - len(complete),
        spans=len(spans),
        written_by=tuple(sorted({*notes["provenance"], *compact_notes["provenance"]})),
        annotated_by=annotated_by,
        seed=seed,
        domain=domain,
    )
    table = dataset_table(records, prompts, notes, compact_notes, spans, domain)
    data = {
        **{split_path(name): _parquet(table, members) for name, members in splits.items()},
        "SimSUM.csv": simsum_csv(records, notes, compact_notes, domain).encode(),
        "spans/normal_span_annotations.json": span_json(spans, "normal", complete, domain).encode(),
        "spans/adv_span_annotations.json": span_json(spans, "compact", complete, domain).encode(),
    }
    described = {**data, "README.md": dataset_card(export, origin).encode()}
    return {**described, CHECKSUMS: checksums(described).encode()}


def checksums(files: Mapping[str, bytes]) -> str:
    """SHA-256 of each file, in the format that ``sha256sum --check`` reads."""
    lines = [f"{hashlib.sha256(contents).hexdigest()}  {path}\n" for path, contents in sorted(files.items())]
    return "".join(lines)


def _parquet(table: pa.Table, records: Sequence[int]) -> bytes:
    rows = table.filter(pc.is_in(table["record"], pa.array(records, pa.int64())))
    written = BytesIO()
    pq.write_table(rows, written, compression="zstd")
    return written.getvalue()
