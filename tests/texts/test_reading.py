"""Data of an evaluation: layouts that are read, and defects that are refused with one clear line each."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import docx
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docx.oxml import parse_xml

from schemas.errors import SourceError
from tasks.text.soap import PARTS
from tasks.texts.document import Document
from tasks.texts.fields import Row, documents_from, guessed, renamed
from tasks.texts.files import read_rows
from tasks.texts.reading import add_claims, output_files, read_documents
from tests.support.cases import each, from_table

GOOD = {"id": "a", "source": "Dry cough. No fever.", "reference": "Cough.", "output": "Cough [0]."}


def lines(*rows: Any) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


MALFORMED: dict[str, tuple[str, bytes, str]] = {
    "no source": ("d.jsonl", lines({"id": "1", "output": "y"}), "column source is missing"),
    "one row without id": ("d.jsonl", lines(GOOD, {"source": "x"}), "line 2: id is missing; expected a text"),
    "duplicate id": ("d.jsonl", lines(GOOD, GOOD), "line 2: id a is a duplicate of .*line 1"),
    "empty source": ("d.jsonl", lines({**GOOD, "source": " "}), "source is ' '; expected a text"),
    "empty reference": ("d.jsonl", lines({**GOOD, "reference": ""}), "reference is ''; expected a text"),
    "empty output": ("d.jsonl", lines({**GOOD, "output": ""}), "output of output is empty; .*--allow-empty"),
    "outputs is a list": ("d.jsonl", lines({"id": 1, "source": "x", "outputs": ["y"]}), "expected an object of texts"),
    "output is null": ("d.jsonl", lines({"id": 1, "source": "x", "outputs": {"s": 5}}), "output of s is 5"),
    "claims of no section": (
        "d.jsonl", lines({**GOOD, "sections": ["A"], "claims": {"B": ["x"]}}), "claims name section B; sections are A"
    ),
    "a second output": (
        "d.jsonl", lines({**GOOD, "system": "s"}, {**GOOD, "system": "s", "output": "x"}), "line 2: output:s differs"
    ),
    "a system each, no id": (
        "d.jsonl", lines({"source": "x", "system": "s", "output": "y"}), "column id is missing; a line for"
    ),
    "one of them no id": (
        "d.jsonl", lines({**GOOD, "system": "s"}, {"source": "x", "system": "s", "output": "y"}), "line 2: id is missi"
    ),
    "a system that is no text": ("d.jsonl", lines({**GOOD, "system": {"n": 1}}), "system is {'n': 1}; expected"),
    "another source": (
        "d.jsonl", lines({**GOOD, "system": "s"}, {**GOOD, "system": "t", "source": "x"}), "line 2: source differs"
    ),
    "whose output": ("d.jsonl", lines({**GOOD, "system": "s"}, GOOD), "line 2: system is missing; expected the name"),
    "reserved system": ("d.jsonl", lines({**GOOD, "outputs": {"(source)": "y"}}), "stands for the source"),
    "not JSON": ("d.jsonl", lines(GOOD, "{"), "line 2: not JSON"),
    "not UTF-8": ("d.jsonl", lines(GOOD) + "\né".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8"),
    "no row": ("d.jsonl", b"\n\n", "no document; expected at least one row"),
    "a JSON object": ("d.json", b'{"a": 1}', "expected a list of objects or an Inspect eval log"),
    "a blank after a quote": ("d.csv", b'"id" ,"source"\n1,x\n', r"row 1: not CSV \("),
    "a text after a quote": ("d.csv", b'id,source\n1,x\n2,"x" y\n', r"row 3: not CSV \("),
    "a cell more": ("d.csv", b"id,source\n1,Dry, cough\n", "row 2: found 3 cells, expected 2"),
    "a cell fewer": ("d.csv", b"id,source,x\n,,\n1,y\n", "row 3: found 2 cells, expected 3"),
    "column twice": ("d.csv", b"id,source,source\n1,x,y\n", "column source is a duplicate"),
    "unknown ending": ("d.doc", b"x", "unknown kind of file .doc; expected .jsonl"),
    "no id and no source": ("d.csv", b"a,b\n1,2\n", "column source is missing; it has a, b; "),
    "eval log without samples": ("d.json", b'{"eval": {"model": "m"}, "status": "error"}', "without samples"),
    "eval log without output": (
        "d.json", json.dumps({"eval": {"model": "m"}, "samples": [{"id": 1, "input": "x"}]}).encode(), "no completion"
    ),
}  # fmt: skip


@each("case", MALFORMED)
def test_a_defect_is_one_line_that_names_the_place(tmp_path: Path, case: str) -> None:
    name, content, said = MALFORMED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=said) as raised:
        read_documents(tmp_path / name)
    assert str(raised.value).startswith(str(tmp_path / name))
    assert "\n" not in str(raised.value)


def test_a_line_for_each_document_and_system_is_read_as_one_document_each(tmp_path: Path) -> None:
    rows = ["doc_id,source,reference,model,output,output:human", "a,x,r,gpt/4,one,h", "a ,x,r,llama,two,h"]
    rows += ["b,y,,gpt/4,three,", "b,,,llama,,"]
    (tmp_path / "long.csv").write_text("\n".join(rows))
    data = read_documents(tmp_path / "long.csv")
    assert [(one.id, one.source, one.reference) for one in data.documents] == [("a", ("x",), "r"), ("b", ("y",), None)]
    assert [one.outputs for one in data.documents] == [
        {"gpt/4": "one", "llama": "two", "human": "h"}, {"gpt/4": "three"}
    ]  # fmt: skip
    assert list(data.documents[0].outputs) == ["gpt/4", "human", "llama"] and "system=model" in data.notes[0]


WITHIN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"id": 7}, {"id": "7"}),
    ({"id": " a "}, {"id": "a"}),
    ({"source": ["x", "y"]}, {"source": ("x", "y")}),
    ({"source": '["x", "y"]'}, {"source": ("x", "y")}),  # a cell of a CSV file
    ({"source": '["x" wrote]'}, {"source": ('["x" wrote]',)}),
    ({"source": "x" * 200_000}, {"source": ("x" * 200_000,)}),
    ({"reference": None, "claims": float("nan")}, {"reference": None, "claims": None}),
    ({"sections": '["A", "B "]'}, {"sections": ("A", "B")}),  # a cell of a CSV file
    ({"claims": ["x", "y"]}, {"claims": {"all": ("x", "y")}}),
    ({"sections": ["A"], "claims": {"A": ["x"], "all": ["y"]}}, {"claims": {"A": ("x",), "all": ("y",)}}),
    ({"outputs": {"s": "y", "t": None}, "output:u": "z"}, {"outputs": {"s": "y", "u": "z"}}),
    ({"questions": '[{"question": "Why?", "answer": "x"}]'}, {"questions": (("Why?", "x"),)}),
]


@each("given, read", WITHIN)
def test_rows_just_within_the_rules_are_read(given: dict[str, Any], read: dict[str, Any]) -> None:
    (document,) = documents_from([Row("f: row 1", {"id": "a", "source": "x"} | given)], "f")
    assert {name: getattr(document, name) for name in read} == read


@each(
    "given, said",
    [
        ({"id": True}, "id is True; expected a text or a whole number"),
        ({"id": "a\nb"}, "id 'a\\nb' holds a line break or half of a character; replace it"),
        ({"id": 1.5}, "id is 1.5; expected a text or a whole number"),
        ({"id": ["x" * 54]}, f"id is ['{'x' * 54}']; expected a text or a whole number"),  # 58 characters are shown
        ({"id": ["x" * 57]}, f"id is ['{'x' * 55}...; expected a text or a whole number"),  # 61 are cut
        ({"source": []}, "source is []; expected a text, or a list of texts, none of them empty"),
        ({"reference": "x" * 200_001},
         "reference has 200,001 characters; expected at most 200,000; divide the document"),
        ({"sections": []}, "sections is []; expected a list of different headings"),
        ({"sections": ["A", "A"]}, "sections is ['A', 'A']; expected a list of different headings"),
        ({"claims": {"A": "x"}}, "claims is {'A': 'x'}; expected a list of texts, or such a list for each section"),
        ({"outputs": {" ": "y"}}, "system ' ': expected a name without line break"),
        ({"outputs": {"a\nb": "y"}}, "system 'a\\nb': expected a name without line break"),
        ({"outputs": {"s": "y\x00"}}, "output of s holds a null character; is the file damaged?"),
        ({"questions": []}, 'questions is []; expected a list of objects {"question": text, "answer": text}'),
        ({"questions": [{"question": "Why?", "answer": " "}]},
         "questions: expected different questions, each with an answer, none of them empty"),
    ],
)  # fmt: skip
def test_rows_just_beyond_the_rules_are_refused_in_full(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SourceError) as raised:
        documents_from([Row("f: row 1", {"id": "a", "source": "x"} | given)], "f")
    assert str(raised.value) == f"f: row 1: {said}"


def test_twenty_defects_are_listed_and_the_rest_counted() -> None:
    def refused(count: int) -> list[str]:
        with pytest.raises(SourceError) as raised:
            documents_from([Row(f"row {n}", {"id": n, "source": ""}) for n in range(count)], "f")
        return str(raised.value).splitlines()

    assert len(refused(20)) == 20 and refused(20)[-1].startswith("row 19: ")
    assert len(refused(22)) == 21 and refused(22)[-1] == "... and 2 more"


def test_an_empty_output_can_be_allowed_and_a_mapping_replaces_a_column_of_the_same_name() -> None:
    row = Row("f: row 1", {"id": "a", "source": "x", "output": "", "text": "y"})
    assert documents_from([row], "f", allow_empty=True)[0].outputs == {"output": ""}
    (mapped,) = renamed([row], {"source": "text", "output:s": "output"}, "f")
    assert mapped.values == {"id": "a", "source": "y", "output:s": ""}
    with pytest.raises(SourceError, match="unknown field output:; expected"):
        renamed([row], {"output:": "text"}, "f")


def test_a_byte_or_row_that_cannot_be_read_is_named_by_its_number(tmp_path: Path) -> None:
    texts = {
        "a.csv": (b"id,source\n1,x\n2,\xff\n", "line 3: byte 0xff is not UTF-8"),
        "d.tsv": (b"id\tsource\n1\tx, y\n2\n", "row 3: found 1 cells, expected 2"),
        "e.jsonl": (b'\n{"id": 1}\n5\n', "line 3: found int"),
        "f.json": (b'[{"id": 1}, 2]', "entry 1: found int"),
    }
    for name, (content, said) in texts.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SourceError, match=f"{name}: {said}"):
            read_rows(tmp_path / name)
    (tmp_path / "g.tsv").write_bytes(b"\xef\xbb\xbfid\tsource\n1\tx, y\n\n2\t\n")
    table = read_rows(tmp_path / "g.tsv")
    assert [row.values for row in table.rows] == [{"id": "1", "source": "x, y"}, {"id": "2", "source": None}]
    assert [row.place.removeprefix(str(tmp_path)) for row in table.rows] == ["/g.tsv: row 2", "/g.tsv: row 4"]


def test_the_split_of_a_folder_is_the_beginning_of_the_file_names(tmp_path: Path) -> None:
    for name in ("test-00000-of-00002", "test-00001-of-00002", "train-00000-of-00001"):
        (tmp_path / f"{name}.csv").write_text(f"id,source\n{name[-10:-9]}{name[0:2]},x\n")
    rows = read_rows(tmp_path, split="test").rows
    assert [row.place.removeprefix(f"{tmp_path}/") for row in rows] == [
        "test-00000-of-00002.csv: row 2",
        "test-00001-of-00002.csv: row 2",
    ]
    with pytest.raises(SourceError, match=r"several splits or files \(test, train\); choose one with --split"):
        read_rows(tmp_path)
    with pytest.raises(SourceError, match="no data file of split dev; expected a dataset folder"):
        read_rows(tmp_path, split="dev")
    with pytest.raises(SourceError, match="is one file; --split test is for dataset folders"):
        read_rows(tmp_path / "train-00000-of-00001.csv", split="test")
    saved = tmp_path / "saved"
    saved.mkdir()
    with pytest.raises(SourceError, match="no data file; expected"):
        read_rows(saved)
    (saved / "dataset_dict.json").write_text('{"splits": ["test"]}')
    with pytest.raises(SourceError, match="save_to_disk; write each split"):
        read_rows(saved)


@from_table
def test_defects_of_an_outputs_file_are_named(tmp_path: Path, outputs: str | None, said: str) -> None:
    (tmp_path / "d.jsonl").write_bytes(lines(GOOD))
    if outputs is not None:
        (tmp_path / "s.jsonl").write_text(outputs)
    with pytest.raises(SourceError, match=said):
        read_documents(tmp_path / "d.jsonl", output_files([f"s={tmp_path / 's.jsonl'}"]))


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"reference": "gold"}, r"no column gold .*it has id, clinic, target, output"),
        ({"gold": "reference"}, "unknown field gold; expected id, source"),
        ({"refrence": "target"}, r"did you mean reference\?"),
        ({"source": "clinc"}, r"did you mean clinic\?"),
        (dict.fromkeys(["output:A", "output:B"], "target"), "column target is mapped to output:A and output:B; exp"),
        (dict.fromkeys(["source", "reference"], "target"), "column target is mapped to source and reference; exp"),
    ],
)
def test_a_wrong_map_is_named_with_the_fields_and_columns_there_are_and_the_nearest(
    tmp_path: Path, mapping: dict[str, str], said: str
) -> None:
    (tmp_path / "d.csv").write_text("id,clinic,target,output\n1,x,y,z\n")
    with pytest.raises(SourceError, match=said):
        read_documents(tmp_path / "d.csv", mapping=mapping)


def _csv(folder: Path) -> Path:
    (folder / "d.csv").write_text('id,text,gold,output:s,output:t\n1,"He coughs,\nbadly.",Cough.,Cough.,\n')
    return folder / "d.csv"


def _parquet_folder(folder: Path) -> Path:
    (folder / "data").mkdir()
    pq.write_table(pa.table({"id": [1], "text": ["He coughs,\nbadly."], "gold": ["Cough."], "output:s": ["Cough."]}),
                   folder / "data" / "test-00000-of-00001.parquet")  # fmt: skip
    return folder / "data"


@pytest.mark.parametrize("write", [_csv, _parquet_folder])
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
    assert first.outputs == {"openai/gpt-4o": "Coughs.", "openai/gpt-4o, epoch 2": "Cough."}
    assert second == Document("2", ("Ill.",), "Ill")


@each(
    "text, expected",
    [
        ("Doctor: How are you?\nFine.\nPatient: I cough.", True),
        ("Doctor: How are you?\nFine.", False),  # half of the lines are not most
        ("[doctor] hello\n\n[patient] hi", True),
        ("Doctor: How are you?", False),
        ("Doctor:\nPatient:", False),
    ],
)
def test_most_lines_of_a_dialogue_begin_with_a_speaker(text: str, expected: bool) -> None:
    assert Document("1", (text,)).is_dialogue is expected


def test_units_are_numbered_parts_turns_or_sentences() -> None:
    assert Document("1", ("[0] He  coughs. [1] No\nfever.",)).units == ("He coughs.", "No fever.")
    assert Document("1", (" Doctor: hello.\n\nPatient: I cough. Badly.",)).units == (
        "Doctor: hello.",
        "Patient: I cough. Badly.",
    )
    assert Document("1", ("He coughs. No fever.", "Well.")).units == ("He coughs.", "No fever.", "Well.")
    assert Document("1", ("a", "b")).text == "a\n\nb"


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


def test_a_folder_of_outputs_names_each_system_by_its_file(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.csv", "readme.md"):
        (tmp_path / name).write_text("")
    found = output_files([str(tmp_path)])
    assert found == {"a": tmp_path / "a.csv", "b": tmp_path / "b.jsonl"}
    assert output_files([f"mine={tmp_path}"]) == found, "a folder holds several systems, which one name cannot name"
    assert output_files([f"mine={tmp_path / 'a.csv'}"]) == {"mine": tmp_path / "a.csv"}
    assert output_files([str(tmp_path / "a.csv")]) == {"a": tmp_path / "a.csv"}
    with pytest.raises(SourceError, match="system a is a duplicate"):
        output_files([str(tmp_path), str(tmp_path / "a.csv")])


TEXT = "Müller has a cough."
CELLS = [["transcript", "gold", "id", "summary_b"], ["Doctor: ill?", TEXT, 7, "Cough; dry"]]


def written_as(folder: Path, kind: str) -> Path:
    """CELLS as people have them."""
    file = folder / f"cases.{kind.partition(' ')[0]}"
    if file.suffix == ".xlsx":
        workbook = openpyxl.Workbook()
        for row in CELLS:
            workbook.worksheets[0].append(row)
        workbook.save(file)
        return file
    separator = {"csv semicolons": ";", "csv tabs": "\t"}.get(kind, ",")
    text = "\n".join(separator.join(f'"{cell}"' if "; " in str(cell) else str(cell) for cell in row) for row in CELLS)
    file.write_bytes(text.encode("cp1252" if kind == "csv windows" else "utf-8-sig"))
    return file


@pytest.mark.parametrize("kind", ["csv", "csv semicolons", "csv tabs", "csv windows", "tsv", "xlsx"])
def test_files_are_read_as_people_have_them_and_the_guessed_columns_are_named(tmp_path: Path, kind: str) -> None:
    file = written_as(tmp_path, kind)
    if kind == "csv windows":
        with pytest.raises(SourceError, match=r"line 2: byte 0xfc is not UTF-8.*give --encoding windows-1252.*Müller"):
            read_documents(file)
    found = read_documents(file, encoding="windows-1252" if kind == "csv windows" else None)
    assert found.documents == [Document("7", ("Doctor: ill?",), reference=TEXT, outputs={"b": "Cough; dry"})]
    assert found.notes == (
        f"{file}: columns read as source=transcript, reference=gold, output:b=summary_b; "
        "others with --map FIELD=COLUMN",
    )


@from_table
def test_a_column_is_guessed_only_where_its_name_leaves_no_doubt(
    columns: list[str], given: dict[str, str], expected: dict[str, str]
) -> None:
    assert guessed([Row("f: row 1", dict.fromkeys(columns, "x"))], given) == expected


def test_texts_are_documents_and_outputs_by_their_names(tmp_path: Path) -> None:
    for folder in ("sources", "mine"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "visit ä.txt").write_text(f"{folder} of ä", encoding="utf-8")
        word = docx.Document()
        word.add_paragraph(f"{folder} of b")
        word.add_table(1, 2).rows[0].cells[1].text = "38.5"
        word.save(str(tmp_path / folder / "b.docx"))
    found = read_documents(tmp_path / "sources", output_files([f"my/model={tmp_path / 'mine'}"])).documents
    assert [(one.id, one.text, one.outputs) for one in found] == [
        ("b", "sources of b\n\t38.5", {"my/model": "mine of b\n\t38.5"}),
        ("visit ä", "sources of ä", {"my/model": "mine of ä"}),
    ]
    single = read_documents(tmp_path / "sources" / "b.docx", {"x": tmp_path / "mine" / "visit ä.txt"}).documents
    assert [(one.id, one.outputs) for one in single] == [("b", {"x": "mine of ä"})]


WORD = (
    "Dry cough.<w:ins> No fever.</w:ins><w:del> High fever.</w:del>",
    "<w:sdt>Allergic to <w:sdt>penicillin.</w:sdt></w:sdt>",
    "<w:moveFrom>Old. </w:moveFrom>Seen on <w:smartTag>12 May</w:smartTag><w:fldSimple>, 10:00</w:fldSimple>",
)


def test_a_word_file_is_read_as_it_is_when_its_changes_are_accepted(tmp_path: Path) -> None:
    document = docx.Document()
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    for at, content in enumerate(WORD):
        runs = re.sub(r"([^<>]+)(?=<|$)", r'<w:r><w:t xml:space="preserve">\1</w:t></w:r>', content)
        runs = runs.replace("<w:sdt>", "<w:sdt><w:sdtPr/><w:sdtContent>").replace("</w:sdt>", "</w:sdtContent></w:sdt>")
        paragraph = f"<w:p>{runs}</w:p>"
        if not at:
            paragraph = f"<w:sdt><w:sdtContent>{paragraph}</w:sdtContent></w:sdt>"
        document.element.body.insert(at, parse_xml(f"<w:body {space}>{paragraph}</w:body>")[0])
    document.save(str(tmp_path / "note.docx"))
    text = "Dry cough. No fever.\nAllergic to penicillin.\nSeen on 12 May, 10:00"
    assert [row.values["text"] for row in read_rows(tmp_path / "note.docx").rows] == [text]


def with_dimension(path: Path, recorded: str) -> None:
    """Write a workbook whose sheet records a range that may be smaller than itself."""
    book = openpyxl.Workbook()
    for row in (["id", "source", "output:A", "output:B"], ["1", "x", "a", "b"], ["2", "y", "c"]):
        book.active.append(row)
    book.save(path)
    with ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = re.sub(rb'<dimension ref="[^"]*"', f'<dimension ref="{recorded}"'.encode(), parts[sheet])
    with ZipFile(path, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)


@pytest.mark.parametrize("recorded", ["A1:D3", "A1:D2", "A1:C3", "A1"])
def test_a_sheet_is_read_whole_whatever_range_it_records(tmp_path: Path, recorded: str) -> None:
    with_dimension(tmp_path / "d.xlsx", recorded)
    found = read_documents(tmp_path / "d.xlsx").documents
    assert [(one.id, one.outputs) for one in found] == [("1", {"A": "a", "B": "b"}), ("2", {"A": "c"})]


SPLIT_FOLDERS = {
    "a folder each": ["train/0000.csv", "test/0000.csv"],
    "below a configuration": ["default/train/0000.csv", "default/train/0001.csv", "default/test/0000.csv"],
    "files of one name": ["train/part.csv", "test/part.csv"],
}


@pytest.mark.parametrize("kind", SPLIT_FOLDERS)
def test_folders_of_splits_are_not_read_together(tmp_path: Path, kind: str) -> None:
    for name in SPLIT_FOLDERS[kind]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"id,source\n{name},x\n")
    with pytest.raises(SourceError, match=r"several splits or files \(test.*, train.*\); choose one with --split"):
        read_rows(tmp_path)
    for split in ("train", "test"):
        ids = [row.values["id"] for row in read_rows(tmp_path, split=split).rows]
        assert ids == sorted(name for name in SPLIT_FOLDERS[kind] if split in name)


@each(
    "content, ids, notes",
    [
        ("id,source,output,clinic,refrence\n1,x,y,north,z\n", "1",
         ["not read: clinic, refrence (did you mean reference?); outputs of a system"]),
        ("id,source,reference\na,x,y\nb,x,\nc,x,\n", "abc",
         ["no reference of b and 1 more; measures that need one leave such documents out"]),
        ("source,output\nx,y\nz,w\n", "12", ["no column id; documents are numbered in the order of the file"]),
        ('id,source,reference,output\n1,x,None,N/A\n2,"None","NA","a, None"\n3,x,None,y\n', "123",
         ["3 cells (N/A, None) read as missing; put what is a text in quotes", "no reference of 1 and 1 more"]),
        ("id,source,output:A,output:B\n1,x,y,\n", "1", ["no output of B in any row, so that it is left out"]),
        ('id,source,outputs\n1,x,"{""A"": ""y"", ""B"": null}"\n', "1",
         ["no output of B in any row, so that it is left out"]),
    ],
)  # fmt: skip
def test_what_is_not_read_or_read_as_missing_is_said(tmp_path: Path, content: str, ids: str, notes: list[str]) -> None:
    (file := tmp_path / "d.csv").write_text(content)
    found = read_documents(file)
    assert "".join(one.id for one in found.documents) == ids
    for said, note in zip(found.notes, notes, strict=True):
        assert said.startswith(f"{file}: {note}")


def test_claims_of_doclens_release_belong_to_the_encounter_whose_reference_they_were_made_of() -> None:
    def note(subjective: str) -> str:
        return f"CHIEF COMPLAINT\n\n{subjective}\n\nPHYSICAL EXAM\n\nLungs clear."

    def entry(encounter: str, subjective: str) -> dict[str, object]:
        claims = {f"subclaims_reference_{part}": [f"{part} of {subjective}"] for part in PARTS}
        return {"example_id": encounter, "reference_subjective": f"CHIEF COMPLAINT {subjective}", **claims}

    documents = [Document(name, ("Doctor: hi.",), note(said)) for name, said in (("a", "Cough."), ("b", "Fever."))]
    of_b, of_a, of_none = entry("a", "Fever."), entry("b", "Cough."), entry("c", "Rash.")
    rows = [Row(f"line {n}", one) for n, one in enumerate((of_b, of_a, of_none), 1)]
    first, second = add_claims(documents, rows, "subclaims.json")
    assert first.claims == {part: (f"{part} of Cough.",) for part in PARTS}
    assert second.claims == {part: (f"{part} of Fever.",) for part in PARTS}
    assert add_claims(documents, rows[:1], "subclaims.json")[0] == documents[0]
    with pytest.raises(SourceError, match=r"subclaims\.json: entry a: its reference fits b a second time"):
        add_claims(documents, [rows[0], rows[0]], "subclaims.json")
