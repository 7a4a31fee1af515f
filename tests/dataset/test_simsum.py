"""SimSUM's layout is written and read back unchanged; errors name file, row and column."""

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from schemas.errors import SourceError
from schemas.params.records import Published
from schemas.tables.columns import typed
from schemas.tables.records import SPANS
from tasks.dataset import simsum
from tasks.dataset.simsum import require_pinned
from tests.support.cases import from_table
from tests.support.records import random_records

read_simsum, read_span_json, read_spans, read_texts, simsum_csv, span_json = (
    partial(getattr(simsum, name), domain="respiratory")
    for name in ("read_simsum", "read_span_json", "read_spans", "read_texts", "simsum_csv", "span_json")
)
NOTE = '**History**\nCough, "dry"; worse at night.\r\nÄ 38.5°C 🤒\n\n**Physical Examination**\nLungs clear.'
COMPACT = "**Hx**\nCough.\n\n**PE**\nCTA."
RECORDS = random_records(6, seed=3)
NOTES = RECORDS[["record"]].assign(note=[f"{NOTE} {r}" for r in range(6)])
COMPACTS = RECORDS[["record"]].assign(compact=COMPACT)


def spans_of(records: list[int]) -> pd.DataFrame:
    start = NOTE.index("Lungs")
    rows = [(r, "normal", "cough", 12, 17, "Cough", "history") for r in records]
    rows += [(r, "normal", "pain", start, start + 5, "Lungs", "physical_examination") for r in records]
    rows += [(r, "compact", "cough", 7, 12, "Cough", "history") for r in records]
    frame = pd.DataFrame(rows, columns=list(SPANS.columns)[:7]).assign(matched="published")
    frame = typed(frame.assign(assertion=None, record_value=None), SPANS)
    return frame.sort_values(["record", "version", "start"], ignore_index=True)


def written(folder: Path, text: str | None = None) -> Path:
    file = folder / "SimSUM.csv"
    file.write_bytes((simsum_csv(RECORDS, NOTES, COMPACTS) if text is None else text).encode())
    return file


def test_records_and_notes_round_trip(tmp_path: Path):
    texts = read_simsum(written(tmp_path))
    pd.testing.assert_frame_equal(texts[RECORDS.columns], RECORDS, check_dtype=False)
    assert texts["note"].tolist() == NOTES["note"].tolist()
    assert texts["compact"].tolist() == COMPACTS["compact"].tolist()


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_names_and_delimiters_of_other_releases(tmp_path: Path, delimiter: str):
    frame = pd.read_csv(written(tmp_path), keep_default_na=False).rename(columns={"cold": "inf", "record": ""})
    frame["season"] = frame["season"].map({"summer": "no", "winter": "yes"})
    text = frame.rename(columns={"season": "winter"}).to_csv(index=False, sep=delimiter)
    pd.testing.assert_frame_equal(read_simsum(written(tmp_path, text))[RECORDS.columns], RECORDS, check_dtype=False)


def test_without_ids_the_rows_are_numbered(tmp_path: Path):
    frame = pd.read_csv(written(tmp_path), keep_default_na=False).drop(columns="record")
    assert read_simsum(written(tmp_path, frame.to_csv(index=False)))["record"].tolist() == list(range(6))


@from_table
def test_a_wrong_cell_is_named_by_row_and_column(tmp_path: Path, column: str, value: str, message: str):
    frame = pd.read_csv(written(tmp_path), keep_default_na=False, dtype=str)
    frame.loc[2, column] = value
    with pytest.raises(SourceError, match=message) as caught:
        read_simsum(written(tmp_path, frame.to_csv(index=False)))
    assert "such rows" not in str(caught.value)


def test_wrong_cells_are_counted_and_the_first_is_named(tmp_path: Path):
    frame = pd.read_csv(written(tmp_path), keep_default_na=False, dtype=str)
    frame.loc[[1, 2], "fever"] = "mild"
    with pytest.raises(SourceError, match=r"row 2, column fever: .*, high \(2 such rows\)$"):
        read_simsum(written(tmp_path, frame.to_csv(index=False)))


@from_table
def test_a_malformed_file_is_named(tmp_path: Path, text: str, message: str):
    with pytest.raises(SourceError, match=message):
        read_simsum(written(tmp_path, text))


def test_records_without_a_compact_note_are_left_out(tmp_path: Path):
    text = simsum_csv(RECORDS, NOTES, COMPACTS.head(4))
    assert read_simsum(written(tmp_path, text))["record"].tolist() == [0, 1, 2, 3]


def test_spans_come_back_with_their_sections(tmp_path: Path):
    spans, parts = spans_of([0, 2]), []
    for version, notes in (
        ("normal", NOTES.set_index("record")["note"]),
        ("compact", COMPACTS.set_index("record")["compact"]),
    ):
        file = tmp_path / f"{version}.json"
        file.write_text(span_json(spans, version, [0, 1, 2]), encoding="utf-8")
        assert list(json.loads(file.read_text(encoding="utf-8"))) == ["0", "1", "2"]
        parts.append(read_span_json(file, version, notes.to_dict()))
    SPANS.validate(parts[0])
    back = pd.concat(parts).sort_values(["record", "version", "start"], ignore_index=True)
    pd.testing.assert_frame_equal(back, spans, check_dtype=False)


def test_the_span_file_has_the_published_symptom_names():
    held = json.loads(span_json(spans_of([0]), "normal", [0]))["0"]
    assert [s["symptom"] for s in held] == ["cough", "respiratory pain"] and set(held[0]) == {
        "symptom",
        "text",
        "start",
        "end",
    }


@pytest.mark.parametrize(
    "form", [lambda spans: [spans, None], lambda spans: {"0": spans}, lambda spans: {"0": spans, "7": []}]
)
def test_span_files_by_position_and_by_id(tmp_path: Path, form):
    file = tmp_path / "spans.json"
    file.write_text(json.dumps(form([{"symptom": "fever", "text": "Cough", "start": 12, "end": 17}])), encoding="utf-8")
    assert read_span_json(file, "normal", {0: NOTE, 1: NOTE})[["record", "symptom"]].to_numpy().tolist() == [
        [0, "fever"]
    ]


def test_a_list_of_spans_goes_with_the_notes_in_their_order(tmp_path: Path):
    file = tmp_path / "spans.json"
    file.write_text(json.dumps([None, [{"symptom": "fever", "text": "Cough", "start": 12, "end": 17}]]))
    assert read_span_json(file, "normal", {5: NOTE, 8: NOTE})["record"].tolist() == [8]
    assert read_span_json(file, "normal", {1: NOTE})["record"].tolist() == [1]
    with pytest.raises(SourceError, match="a list of 2 records cannot be matched to 3 notes with ids up to 9"):
        read_span_json(file, "normal", {5: NOTE, 8: NOTE, 9: NOTE})


@from_table
def test_a_span_that_does_not_fit_is_named(tmp_path: Path, span: object, message: str):
    file = tmp_path / "spans.json"
    file.write_text(json.dumps({"0": [span]}), encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        read_span_json(file, "normal", {0: NOTE})


def test_published_files_are_pinned_by_their_digest(tmp_path: Path):
    files = {"notes": written(tmp_path)}
    for version, name in (("normal", "normal_spans"), ("compact", "compact_spans")):
        files[name] = tmp_path / f"{name}.json"
        files[name].write_text(span_json(spans_of([1]), version, [1]), encoding="utf-8")
    given = {name: str(path) for name, path in files.items()}
    with pytest.raises(SourceError, match=r"sha256 is None, the files' digest is ([0-9a-f]{64})") as error:
        require_pinned(Published(**given))
    digest = str(error.value).split("digest is ")[1][:64]
    published = Published(**given, sha256=digest)
    texts = read_texts(published)
    pd.testing.assert_frame_equal(read_spans(published, texts, texts), spans_of([1]), check_dtype=False)
    files["notes"].write_text("changed", encoding="utf-8")
    with pytest.raises(SourceError, match=r"set it in params\.yaml if these are the files you mean"):
        read_texts(published)
