"""The dataset card: README.md with Hugging Face front matter."""

from dataclasses import dataclass

import yaml

from schemas.params.notes import Export
from tasks.dataset.parquet import fields, split_path
from tasks.domains.rules import load_rules

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


@dataclass(frozen=True)
class Origin:
    """How the dataset was made, for the card and the Croissant file."""

    records: dict[str, int]  # by split
    left_out: int  # records without note or compact note
    spans: int
    written_by: tuple[str, ...]
    annotated_by: tuple[str, ...]
    seed: int

    @property
    def total(self) -> int:
        """Records of all splits."""
        return sum(self.records.values())

    @property
    def embedded(self) -> bool:
        """Whether the simulator wrote or annotated any part of it."""
        return any("embedded" in label for label in (*self.written_by, *self.annotated_by))


def description(origin: Origin) -> str:
    """One paragraph about contents and provenance."""
    return (
        f"{origin.total} simulated patient records of a Bayesian network of {load_rules().subject}, each with a "
        f"clinical note and a compact version of it, and {origin.spans} symptom spans. Notes written by: "
        f"{', '.join(origin.written_by)}. Spans annotated by: {', '.join(origin.annotated_by)}. "
        "No text is of a real patient."
    )


def dataset_card(export: Export, origin: Origin) -> str:
    """The card as Markdown."""
    size = next((name for limit, name in SIZES if origin.total < limit), "n>100K")
    data_files = [{"split": split, "path": split_path(split)} for split in origin.records]
    front = {
        "pretty_name": export.name,
        "license": export.license.lower(),
        "language": ["en"],
        "task_categories": ["text-classification", "token-classification"],
        "tags": ["clinical", "synthetic"],
        "size_categories": [size],
        "configs": [{"config_name": "default", "data_files": data_files}],
    }
    splits = "\n".join(f"| {split} | {count} | `{split_path(split)}` |" for split, count in origin.records.items())
    columns = "\n".join(f"| `{name}` | {kind} | {what} |" for name, (kind, what) in fields().items())
    return f"""---
{yaml.safe_dump(front, sort_keys=False).strip()}
---

# {export.name}

{description(origin)}

## How it was made

Records are sampled from an expert-defined Bayesian network (seed {origin.seed}). Each record is turned into a prompt
and each prompt into a note; a consistency check compares note and prompt, and flagged notes are regenerated. The
compact version is requested in the conversation that wrote the note. Spans are extracted from the note, mapped to the
compact note, and matched to offsets. The method is that of SimSUM (Rabaey et al., *SimSUM: Simulated Benchmark with
Structured and Unstructured Medical Records*, repository `prabaey/SimSUM`).

{_caution(origin)}

- Records left out because their note or compact note could not be written: {origin.left_out}.
- Regeneration selects: kept notes are those that passed the check, see the column `attempt`.
- Spans are annotated automatically, not by hand; `matched` is the method that found the offsets.

## Splits

| split | records | file |
|---|---|---|
{splits}

The test split is that of the published symptom predictors. Validation is a sample of the other records, stratified by
kind of prompt, diagnoses and symptoms. Note, compact note and spans of a record are always in the same split.

## Files

| file | contents |
|---|---|
| `data/*.parquet` | all columns below, one row per record and one file per split |
| `SimSUM.csv` | records and notes in SimSUM's published column layout |
| `spans/normal_span_annotations.json` | spans of the notes in SimSUM's layout, by record id |
| `spans/adv_span_annotations.json` | the same for the compact notes |
| `croissant.json` | machine-readable description (Croissant 1.0) |
| `SHA256SUMS` | checksums of all files, for `sha256sum --check` |

`datasets.load_dataset` reads the three splits from this folder or repository. Span offsets count characters of the note
from 0, the end exclusive: `note[start:end] == text`. `SimSUM.csv` and the span files hold the records of all splits.

## Columns

| column | values | description |
|---|---|---|
{columns}

## Use and limits

For research on information extraction from clinical text with tabular data. Records and notes are simulated: they
contain no information about real patients, and models trained on them must not be used for clinical decisions.
"""


def _caution(origin: Origin) -> str:
    if origin.embedded:
        return (
            "**Part of this dataset was made by rules, not by a language model**: everything labelled `embedded` "
            "above and in the provenance columns comes from a grammar or word lists that ship with the software. "
            "It demonstrates the pipeline and does not represent the writing of any language model."
        )
    return "The provenance columns name the model that wrote each text."
