"""The dataset card: README.md with the front matter that Hugging Face reads."""

from dataclasses import dataclass

import yaml

from schemas.params.notes import Export
from tasks.dataset.parquet import FIELDS

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


@dataclass(frozen=True)
class Made:
    """How the dataset was made, for card and Croissant file."""

    records: int
    left_out: int  # records without note or compact note
    spans: int
    written_by: tuple[str, ...]
    annotated_by: tuple[str, ...]
    seed: int

    @property
    def embedded(self) -> bool:
        """Whether rules, not a language model, wrote or annotated any of it."""
        return any("embedded" in label for label in (*self.written_by, *self.annotated_by))


def description(made: Made) -> str:
    """One paragraph that says what the dataset is and what made it."""
    return (
        f"{made.records} simulated patient records of a Bayesian network of respiratory disease, each with a clinical "
        f"note, a compact version of it and {made.spans} symptom spans in all. Notes written by: "
        f"{', '.join(made.written_by)}. Spans annotated by: {', '.join(made.annotated_by)}. "
        "No text is of a real patient."
    )


def dataset_card(export: Export, made: Made) -> str:
    """The card as Markdown."""
    size = next((name for limit, name in SIZES if made.records < limit), "n>100K")
    front = {
        "pretty_name": export.name,
        "license": export.license.lower(),
        "language": ["en"],
        "task_categories": ["text-classification", "token-classification"],
        "tags": ["clinical", "synthetic"],
        "size_categories": [size],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "notes.parquet"}]}],
    }
    columns = "\n".join(f"| `{name}` | {kind} | {what} |" for name, (kind, what) in FIELDS.items())
    return f"""---
{yaml.safe_dump(front, sort_keys=False).strip()}
---

# {export.name}

{description(made)}

## How it was made

Records are drawn from an expert-defined Bayesian network (seed {made.seed}). Each record becomes a prompt, each prompt
a note; a consistency check compares note and prompt, and flagged notes are written anew. The compact version is asked
for in the conversation that wrote the note. Spans are extracted from the note, mapped to the compact note, and matched
to offsets. The method is that of SimSUM (Rabaey et al., *SimSUM: Simulated Benchmark with Structured and Unstructured
Medical Records*, repository `prabaey/SimSUM`).

{_caution(made)}

- Records left out because their note or compact note could not be written: {made.left_out}.
- Regeneration selects: kept notes are those that passed the check, see the column `attempt`.
- Spans are annotated automatically, not by hand; `matched` tells how each was found.

## Files

| file | holds |
|---|---|
| `notes.parquet` | all columns below, a row a record |
| `SimSUM.csv` | records and notes in SimSUM's published column layout |
| `spans/normal_span_annotations.json` | spans of the notes in SimSUM's layout, by record id |
| `spans/adv_span_annotations.json` | the same for the compact notes |
| `croissant.json` | machine-readable description (Croissant 1.0) |

`datasets.load_dataset("parquet", data_files="notes.parquet")` reads the table. Span offsets count characters of the
note from 0, the end exclusive: `note[start:end] == text`.

## Columns of notes.parquet

| column | values | holds |
|---|---|---|
{columns}

## Use and limits

For research on extraction from clinical text beside tabular data. The records are simulated and the notes invented:
they say nothing of real patients, and no clinical decision may rest on models trained on them.
"""


def _caution(made: Made) -> str:
    if made.embedded:
        return (
            "**Part of this dataset was made by rules, not by a language model**: what is labelled `embedded` "
            "above and in the provenance columns comes from a grammar or word lists that ship with the software. "
            "It shows the pipeline, and is no sample of any model's writing."
        )
    return "The provenance columns name the model that wrote each text."
