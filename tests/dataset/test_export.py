"""The exported dataset: its files are consistent, described and carry their provenance."""

import re
import subprocess
from functools import cache
from io import BytesIO
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from schemas.errors import SourceError
from schemas.params.records import Export
from schemas.tables.columns import typed
from schemas.tables.records import ASSERTIONS, SPANS
from tasks.dataset.export import CHECKSUMS, NOBODY, SPLITS, OverTime, dataset_files
from tasks.dataset.fields import columns_of, read_dataset
from tasks.dataset.simsum import LABEL, read_simsum
from tests.dataset.test_simsum import COMPACTS, NOTES, RECORDS, spans_of
from tests.notes.test_writing import prompts_of
from tests.support.repository import write_files

SIMULATOR = "vignette-writer (simulator's rules)"
KEPT = NOTES.assign(attempt=0, consistent=True, provenance=SIMULATOR)
SPLIT = pd.DataFrame({"record": range(6), "part": ["train", "train", "train", "train", "test", "test"]})
EXPORT = Export(validation_share=0.2, creators=["Doe, Jane"], date_published="2026-12-01")


def exported(kept: pd.DataFrame = KEPT, by: str = SIMULATOR, over_time: OverTime = NOBODY) -> dict[str, bytes]:
    compact = COMPACTS.head(5).assign(provenance=by)
    annotators = (by.replace("writer", "annotator"),)
    tables = (RECORDS, prompts_of(RECORDS), kept, compact, spans_of([0, 2]), SPLIT)
    return dataset_files(*tables, EXPORT, annotated_by=annotators, seed=7, domain="respiratory", over_time=over_time)


@cache
def export_files() -> dict[str, bytes]:
    return exported()


def test_the_splits_hold_each_complete_record_once_with_its_spans():
    tables = {split: pq.read_table(BytesIO(export_files()[f"data/{split}.parquet"])) for split in SPLITS}
    assert all(table.schema.names == list(columns_of("respiratory")) for table in tables.values())
    assert {split: table.num_rows for split, table in tables.items()} == {"train": 3, "validation": 1, "test": 1}
    rows = {row["record"]: row for table in tables.values() for row in table.to_pylist()}
    assert sorted(rows) == list(range(5)) and tables["test"]["record"].to_pylist() == [4]
    row = rows[2]
    assert [row["note"][s["start"] : s["end"]] for s in row["note_spans"]] == [s["text"] for s in row["note_spans"]]
    assert len(row["note_spans"]) == 2 and len(row["compact_note_spans"]) == 1
    assert isinstance(row["mention"], list) and row["provenance"] == SIMULATOR


def test_an_exported_folder_is_read_again_and_one_of_other_columns_is_refused(tmp_path: Path):
    for name, content in export_files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert read_dataset(tmp_path)["record"].to_pylist() == list(range(5))
    for split in SPLITS:
        pq.write_table(pa.table({"record": [1], "note": ["Dry cough."]}), tmp_path / "data" / f"{split}.parquet")
    with pytest.raises(SourceError, match=r"columns record, note are those of no domain \(.*respiratory"):
        read_dataset(tmp_path)


def test_a_lone_return_which_csv_does_not_quote_ends_no_row(tmp_path: Path):
    (file := tmp_path / "SimSUM.csv").write_bytes(exported(KEPT.assign(note="Cough.\rFever.\r\nRest."))[file.name])
    assert set(read_simsum(file, "respiratory")["note"]) == {"Cough.\nFever.\r\nRest."}


def test_parquet_keeps_what_each_span_asserts():
    (one,) = spans_of([0]).query("version == 'normal' and symptom == 'cough'").to_dict("records")
    rows = [{**one, "record": n, "assertion": said, "record_value": "yes"} for n, said in enumerate(ASSERTIONS)]
    compact = COMPACTS.head(5).assign(provenance=SIMULATOR)
    files = dataset_files(
        *(RECORDS, prompts_of(RECORDS), KEPT, compact, typed(rows, SPANS), SPLIT, EXPORT),
        annotated_by=(SIMULATOR,), seed=7, domain="respiratory",
    )  # fmt: skip
    tables = [pq.read_table(BytesIO(files[f"data/{split}.parquet"])).to_pylist() for split in SPLITS]
    read = {
        row["record"]: [(s["assertion"], s["record_value"]) for s in row["note_spans"]] for t in tables for row in t
    }
    assert read == {n: [(said, "yes")] for n, said in enumerate(ASSERTIONS)}


def test_the_card_has_front_matter_and_says_that_rules_wrote_the_notes():
    card = export_files()["README.md"].decode()
    front = yaml.safe_load(card.split("---\n")[1])
    listed = {entry["split"]: entry["path"] for entry in front["configs"][0]["data_files"]}
    assert list(listed) == list(SPLITS) and set(listed.values()) <= set(export_files())
    assert front["license"] == "cc-by-4.0"
    assert "**All texts and spans of this dataset were made by rules" in card and SIMULATOR in card
    assert "could not be written: 1." in card and "| train | 3 | `data/train.parquet` |" in card
    assert all(f"| `{name}` |" in card for name in columns_of("respiratory"))
    assert "| `fever` | text | none, low, high | symptom: fever, by its height | sampling from the network |" in card
    assert "Doe, Jane (2026). vignette-notes, version 1.0.0 [data set]. https://example.org" in card


def test_a_dataset_of_a_model_does_not_claim_rules_and_one_of_both_claims_a_part():
    card = exported(KEPT.assign(provenance="gpt-4o"), by="gpt-4o")["README.md"].decode()
    assert "made by rules" not in card and "gpt-4o" in card
    assert "a kept note may be flagged" in card


def test_the_card_does_not_say_that_notes_that_were_read_are_of_nobody() -> None:
    card = exported(KEPT.assign(provenance=LABEL), by=LABEL)["README.md"].decode()
    assert "were read from files" in card and "columns" in card
    assert not re.search("simulated patient records|No text is of|are sampled|are simulated|name the model", card)
    mixed = exported(KEPT, by="gpt-4o")["README.md"].decode()
    assert "**Some of the texts or spans of this dataset were made by rules" in mixed


def test_the_checksums_are_of_all_files(tmp_path: Path):
    write_files(tmp_path, export_files())
    run = ["sha256sum", "--check", "--strict", "--quiet", CHECKSUMS]
    assert subprocess.run(run, cwd=tmp_path, check=False).returncode == 0
    assert len(export_files()[CHECKSUMS].splitlines()) == len(export_files()) - 1
