"""The exported dataset: its files are consistent, described and carry their provenance."""

import hashlib
import json
from io import BytesIO

import pyarrow.parquet as pq
import pytest
import yaml

from schemas.params.notes import Export
from tasks.dataset.export import dataset_files
from tasks.dataset.parquet import FIELDS, SCHEMA
from tests.dataset.test_simsum import COMPACTS, NOTES, RECORDS, spans_of
from tests.notes.test_writing import prompts_of

EMBEDDED = "vignette-writer (embedded rules)"
KEPT = NOTES.assign(attempt=0, consistent=True, provenance=EMBEDDED)
FILES = dataset_files(
    RECORDS,
    prompts_of(RECORDS),
    KEPT,
    COMPACTS.head(5).assign(provenance=EMBEDDED),
    spans_of([0, 2]),
    Export(),
    annotated_by=("vignette-annotator (embedded rules)",),
    seed=7,
)
CROISSANT = json.loads(FILES["croissant.json"])


def test_the_parquet_table_holds_each_complete_record_with_its_spans():
    table = pq.read_table(BytesIO(FILES["notes.parquet"]))
    assert table.schema.equals(SCHEMA) and table.num_rows == 5
    row = table.to_pylist()[2]
    assert [row["note"][s["start"] : s["end"]] for s in row["note_spans"]] == [s["text"] for s in row["note_spans"]]
    assert len(row["note_spans"]) == 2 and len(row["compact_note_spans"]) == 1
    assert isinstance(row["mention"], list) and row["provenance"] == EMBEDDED


def test_the_bytes_are_the_same_each_time():
    again = dataset_files(
        RECORDS,
        prompts_of(RECORDS),
        KEPT,
        COMPACTS.head(5).assign(provenance=EMBEDDED),
        spans_of([0, 2]),
        Export(),
        annotated_by=("vignette-annotator (embedded rules)",),
        seed=7,
    )
    assert again == FILES


def test_the_card_has_front_matter_and_says_that_rules_wrote_the_notes():
    card = FILES["README.md"].decode()
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["configs"][0]["data_files"][0]["path"] == "notes.parquet" and front["license"] == "cc-by-4.0"
    assert "made by rules, not by a language model" in card and EMBEDDED in card
    assert "could not be written: 1." in card
    assert all(f"| `{name}` |" in card for name in FIELDS)


def test_a_dataset_of_a_model_does_not_claim_rules():
    files = dataset_files(
        RECORDS,
        prompts_of(RECORDS),
        KEPT.assign(provenance="gpt-4o"),
        COMPACTS.assign(provenance="gpt-4o"),
        spans_of([0]),
        Export(),
        annotated_by=("gpt-4o",),
        seed=7,
    )
    assert "made by rules" not in files["README.md"].decode() and "gpt-4o" in files["README.md"].decode()


def test_the_croissant_file_describes_every_file_by_its_digest():
    described = {entry["@id"]: entry for entry in CROISSANT["distribution"]}
    assert set(described) == set(FILES) - {"README.md", "croissant.json"}
    for name, entry in described.items():
        assert entry["sha256"] == hashlib.sha256(FILES[name]).hexdigest()
    assert CROISSANT["conformsTo"] == "http://mlcommons.org/croissant/1.0" and CROISSANT["@type"] == "sc:Dataset"


def test_every_column_is_a_field_that_names_its_source():
    fields = {field["name"]: field for field in CROISSANT["recordSet"][0]["field"]}
    assert list(fields) == SCHEMA.names
    for name, field in fields.items():
        assert field["source"] == {"fileObject": {"@id": "notes.parquet"}, "extract": {"column": name}}
        assert ("dataType" in field) != ("subField" in field)


@pytest.mark.parametrize("name", ["name", "description", "license", "url", "version", "@context"])
def test_the_croissant_file_has_the_fields_required_by_the_specification(name: str):
    assert CROISSANT[name]
