"""Data of an evaluation: layouts that are read, and defects that are refused with one clear line each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import SourceError
from schemas.params.note_qa import NoteQa
from tasks.evaluation.documents.defects import Row
from tasks.evaluation.documents.files import read_rows
from tasks.evaluation.documents.model import Document, documents_of, documents_table
from tasks.evaluation.documents.questions import source_notes
from tasks.evaluation.documents.reading import add_claims, output_files, read_documents
from tests.support.sources import needs_sources, sources_folder

GOOD = {"id": "a", "source": "Dry cough. No fever.", "reference": "Cough.", "output": "Cough [0]."}


def lines(*rows: Any) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


MALFORMED: dict[str, tuple[str, bytes, str]] = {
    "no id": ("d.jsonl", lines({"source": "x", "output": "y"}), "column id is missing; it has source, output"),
    "no source": ("d.jsonl", lines({"id": "1", "output": "y"}), "column source is missing"),
    "one row without id": ("d.jsonl", lines(GOOD, {"source": "x"}), "line 2: id is missing; expected a text"),
    "duplicate id": ("d.jsonl", lines(GOOD, GOOD), "line 2: id a is a duplicate of .*line 1"),
    "id with a slash": ("d.jsonl", lines({**GOOD, "id": "a/b"}), "holds a slash"),
    "id of another kind": ("d.jsonl", lines({**GOOD, "id": [1]}), r"id is \[1\]; expected a text or a whole number"),
    "empty source": ("d.jsonl", lines({**GOOD, "source": " "}), "source is ' '; expected a text"),
    "source is a number": ("d.jsonl", lines({**GOOD, "source": 7}), "source is 7; expected a text"),
    "one note empty": ("d.jsonl", lines({**GOOD, "source": ["x", ""]}), "none of them empty"),
    "empty reference": ("d.jsonl", lines({**GOOD, "reference": ""}), "reference is ''; expected a text"),
    "nested reference": ("d.jsonl", lines({**GOOD, "reference": {"text": "x"}}), "reference is {'text': 'x'}"),
    "empty output": ("d.jsonl", lines({**GOOD, "output": ""}), "output of output is empty; .*--allow-empty"),
    "nested output": ("d.jsonl", lines({**GOOD, "output": {"x": "y"}}), "expected a text"),
    "outputs is a list": ("d.jsonl", lines({"id": 1, "source": "x", "outputs": ["y"]}), "expected an object of texts"),
    "output is null": ("d.jsonl", lines({"id": 1, "source": "x", "outputs": {"s": 5}}), "output of s is 5"),
    "system with a slash": ("d.jsonl", lines({"id": 1, "source": "x", "outputs": {"a/b": "y"}}), "without slash"),
    "a text of 1 MB": ("d.jsonl", lines({**GOOD, "source": "x" * 10**6}), "1,000,000 characters; expected at most"),
    "null character": ("d.jsonl", lines({**GOOD, "source": "x\x00"}), "null character"),
    "sections is a text": ("d.jsonl", lines({**GOOD, "sections": "History"}), "expected a list of different headings"),
    "claims are numbers": ("d.jsonl", lines({**GOOD, "claims": [1]}), "claims is .*expected a list of texts"),
    "claims of no section": (
        "d.jsonl", lines({**GOOD, "sections": ["A"], "claims": {"B": ["x"]}}), "claims name section B; sections are A"
    ),
    "half a character": ("d.jsonl", b'{"id": 1, "source": "a \\ud800 cough"}', "half of a character"),
    "questions is a text": ("d.jsonl", lines({**GOOD, "questions": "Why?"}), "expected a list of objects"),
    "question without answer": ("d.jsonl", lines({**GOOD, "questions": [{"question": "Why?"}]}), "expected a list"),
    "question twice": (
        "d.jsonl", lines({**GOOD, "questions": [{"question": "Why?", "answer": "x"}] * 2}), "different questions"
    ),
    "reserved system": ("d.jsonl", lines({"id": 1, "source": "x", "outputs": {"(source)": "y"}}), "not .source."),
    "not JSON": ("d.jsonl", lines(GOOD, "{"), "line 2: not JSON"),
    "a list in a line": ("d.jsonl", b"[1, 2]", "line 1: found list; expected an object"),
    "a key twice": ("d.jsonl", b'{"id": 1, "id": 2, "source": "x"}', "key id is a duplicate"),
    "nested without end": ("d.jsonl", b'{"id": ' + b"[" * 100_000, "line 1: n"),
    "not UTF-8": ("d.jsonl", lines(GOOD) + "\né".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8"),
    "no row": ("d.jsonl", b"\n\n", "no document; expected at least one row"),
    "a JSON object": ("d.json", b'{"a": 1}', "expected a list of objects or an Inspect eval log"),
    "entries are texts": ("d.json", b'["a"]', "entry 0: found str"),
    "ragged CSV": ("d.csv", b"id,source,output\n1,x\n", "row 1: found 2 cells, expected 3"),
    "column twice": ("d.csv", b"id,source,source\n1,x,y\n", "column source is a duplicate"),
    "an open quote": ("d.csv", b'id,source,output\n1,"x,y\n', "not CSV|found . cells"),
    "unknown ending": ("d.docx", b"x", "unknown kind of file .docx; expected .jsonl"),
    "no parquet": ("d.parquet", b"x", "not a readable parquet file"),
    "eval log without samples": ("d.json", b'{"eval": {"model": "m"}, "status": "error"}', "without samples"),
    "eval log without output": (
        "d.json", json.dumps({"eval": {"model": "m"}, "samples": [{"id": 1, "input": "x"}]}).encode(), "no completion"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED)
def test_a_defect_is_one_line_that_names_the_place(tmp_path: Path, case: str) -> None:
    name, content, said = MALFORMED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=said) as raised:
        read_documents(tmp_path / name)
    assert str(raised.value).startswith(str(tmp_path / name))
    assert "\n" not in str(raised.value)


def test_every_defect_of_a_file_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(lines({**GOOD, "output": ""}, {**GOOD, "id": "b", "source": ""}))
    with pytest.raises(SourceError) as raised:
        read_documents(tmp_path / "d.jsonl")
    first, second = str(raised.value).splitlines()
    assert "line 1: output of output is empty" in first
    assert "line 2: source is ''" in second


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ('{"id": "z", "text": "x"}', "id z is not in the data file"),
        ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}', "id a is a duplicate"),
        ('{"id": "a", "words": "x"}', "expected a column .* and a column output, text, prediction, note"),
        ('{"id": "a", "text": ""}', "output of s is empty"),
        (None, "no such file"),
    ],
)
def test_defects_of_an_outputs_file_are_named(tmp_path: Path, outputs: str | None, said: str) -> None:
    (tmp_path / "d.jsonl").write_bytes(lines(GOOD))
    if outputs is not None:
        (tmp_path / "s.jsonl").write_text(outputs)
    with pytest.raises(SourceError, match=said):
        read_documents(tmp_path / "d.jsonl", output_files([f"s={tmp_path / 's.jsonl'}"]))


def test_a_missing_column_is_named_with_the_columns_there_are(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(lines(GOOD))
    with pytest.raises(SourceError, match=r"no column gold .*it has id, source, reference, output"):
        read_documents(tmp_path / "d.jsonl", mapping={"reference": "gold"})
    with pytest.raises(SourceError, match="unknown field gold; expected id, source"):
        read_documents(tmp_path / "d.jsonl", mapping={"gold": "reference"})


def _csv(folder: Path) -> Path:
    (folder / "d.csv").write_text('id,text,gold,output:s,output:t\n1,"He coughs,\nbadly.",Cough.,Cough.,\n')
    return folder / "d.csv"


def _parquet_folder(folder: Path) -> Path:
    (folder / "data").mkdir()
    pq.write_table(pa.table({"id": [1], "text": ["He coughs,\nbadly."], "gold": ["Cough."], "output:s": ["Cough."]}),
                   folder / "data" / "test-00000-of-00001.parquet")  # fmt: skip
    return folder / "data"


def _saved_to_disk(folder: Path) -> Path:
    saved = folder / "saved" / "test"
    saved.mkdir(parents=True)
    table = pa.table({"id": [1], "text": ["He coughs,\nbadly."], "gold": ["Cough."], "output:s": ["Cough."]})
    with pa.OSFile(str(saved / "data-00000-of-00001.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as to:
        to.write_table(table)
    (saved / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    (folder / "saved" / "dataset_dict.json").write_text(json.dumps({"splits": ["test"]}))
    return folder / "saved"


@pytest.mark.parametrize("write", [_csv, _parquet_folder, _saved_to_disk])
def test_columns_are_mapped_in_every_layout(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    (only,) = read_documents(write(tmp_path), mapping={"source": "text", "reference": "gold"}).documents
    assert only == Document("1", ("He coughs,\nbadly.",), "Cough.", outputs={"s": "Cough."})


def test_an_eval_log_gives_sources_references_and_outputs_of_its_model(tmp_path: Path) -> None:
    content = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Cough."}]
    message = {"choices": [{"message": {"content": content}}]}
    samples = [
        {"id": 1, "epoch": 1, "input": "Dry cough.", "target": "Cough.", "output": {"completion": "Coughs."}},
        {"id": 1, "epoch": 2, "input": "Dry cough.", "target": "Cough.", "output": message},
        {"id": 2, "epoch": 1, "input": [{"role": "system", "content": "Short."}, {"role": "user", "content": "Ill."}],
         "target": ["Ill"], "output": {}, "error": {"message": "timeout"}},
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "openai/gpt-4o"}, "samples": samples}
    (tmp_path / "log.json").write_text(json.dumps(log))
    first, second = read_documents(tmp_path / "log.json").documents
    assert first.outputs == {"openai:gpt-4o": "Coughs.", "openai:gpt-4o, epoch 2": "Cough."}
    assert second == Document("2", ("Ill.",), "Ill")


def test_citations_number_dialogue_turns_own_numbers_or_sentences() -> None:
    dialogue = Document("1", ("[doctor] hi there. well?\n[patient] a cough.",))
    assert dialogue.units == ("[doctor] hi there. well?", "[patient] a cough.")
    assert Document("1", ("[0] I take warfarin. Help. [1] Is it safe?",)).units == (
        "I take warfarin. Help.",
        "Is it safe?",
    )
    assert Document("1", ("Dry cough. No fever.", "Lungs clear.")).units == ("Dry cough.", "No fever.", "Lungs clear.")


def test_documents_survive_their_table() -> None:
    full = Document("1", ("x", "y"), "r", ("A",), {"A": ("c",)}, {"s": "é"})
    bare = Document("2", ("x",), outputs={"s": ""})
    assert documents_of(documents_table([full, bare])) == [full, bare]


@needs_sources
def test_published_files_are_read_as_they_are() -> None:
    folder = sources_folder()
    assert folder is not None
    aci = read_documents(
        folder / "aci_bench" / "test1.csv",
        output_files([str(folder / "aci_bench" / "predictions")]),
        claims=folder / "doclens" / "aci_test1_subclaims.json",
    )
    assert (aci.layout, len(aci.documents)) == ("aci_bench", 40)
    assert all(len(document.outputs) == 6 and document.claims for document in aci.documents)
    turns = [[line.strip() for line in document.text.split("\n") if line.strip()] for document in aci.documents]
    assert [list(document.units) for document in aci.documents] == turns
    meqsum = read_documents(folder / "doclens" / "meqsum_test.json")
    assert (meqsum.layout, len(meqsum.documents)) == ("meqsum", 100)
    assert all(document.units and document.reference for document in meqsum.documents)
    assert read_rows(folder / "aci_bench" / "predictions" / "test1GPT-4.csv").layout == "own"


def test_claims_are_added_to_the_documents_that_they_name() -> None:
    documents = [Document("a", ("x",)), Document("b", ("y",))]
    with pytest.raises(SourceError, match=r"none.jsonl: no document"):
        add_claims(documents, [], "none.jsonl")
    rows = [Row("line 1", {"id": "b", "claims": ["He coughs."]})]
    first, second = add_claims(documents, rows, "claims.jsonl")
    assert first == documents[0] and second.claims is not None
    assert [claim for claims in second.claims.values() for claim in claims] == ["He coughs."]
    with pytest.raises(SourceError, match=r"claims.jsonl: id c is not in the data file"):
        add_claims(documents, [Row("line 1", {"id": "c", "claims": ["x"]})], "claims.jsonl")


def test_notes_of_a_document_are_numbered_from_one_in_their_order() -> None:
    notes = source_notes([Document("a", ("Cough.", "No cough."))], NoteQa())
    assert notes[["patient", "position", "note_id", "date", "note"]].to_numpy().tolist() == [
        ["a", 0, "1", "visit 1", "Cough."],
        ["a", 1, "2", "visit 2", "No cough."],
    ]
    assert (notes["tokens"] > 0).all()
