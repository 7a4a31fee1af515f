"""Files as programs and people write them: each is read with the right values, or refused with what is wrong named."""

import io
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import docx
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docx.oxml import parse_xml
from openpyxl.comments import Comment

from flows.commands.exchange import read_files
from flows.evaluation.api import _documents
from schemas.errors import SourceError
from schemas.params.measures import Evaluate
from tasks.texts import office
from tasks.texts.files import read_rows
from tasks.texts.reading import output_files, read_documents
from tests.support.cases import each

ROWS = [{"id": "1", "source": "Dry cough.", "output:A": "Cough."}]
NO_OUTPUT = [{**ROWS[0], "output:A": None}]

CSV: dict[str, tuple[str, str | bytes, list[dict[str, Any]]]] = {
    "the separator is said": ("d.csv", "sep=;\r\nid;source;output:A\r\n1;Dry cough.;Cough.\r\n", ROWS),
    "said against a header with more commas": (
        "d.csv", 'sep=;\nid;source;"a,b,c,d"\n1;Dry cough.;x\n', [{"id": "1", "source": "Dry cough.", "a,b,c,d": "x"}]
    ),
    "empty rows at the end": ("d.csv", "id,source,output:A\n1,Dry cough.,Cough.\n,,\n\n , ,\n", ROWS),
    "empty columns in the rows alone": ("d.csv", "id,source,output:A\n1,Dry cough.,Cough.,,\n", ROWS),
    "empty columns in the header alone": ("d.csv", "id,source,output:A,,\n1,Dry cough.,Cough.\n", ROWS),
    "a column without a name": (
        "d.csv", ",id,source\n0,1,Dry cough.\n", [{"column 1": "0", "id": "1", "source": "Dry cough."}]
    ),
    "UTF-16 of Windows": ("d.csv", "id\tsource\toutput:A\r\n1\tDry cough.\tCough.\r\n".encode("utf-16"), ROWS),
    "blanks before quotes": ("d.csv", '"id", "source", "output:A"\n"1", "Dry cough.", "Cough."\n', ROWS),
    "a name over two lines": (
        "d.csv", '"free\r\ntext";id;x\r\n"Dry, cough.";1;y\r\n', [{"free text": "Dry, cough.", "id": "1", "x": "y"}]
    ),
    "NA of R": ("d.csv", '"id","source","output:A"\n"1","Dry cough.",NA\n', NO_OUTPUT),
    "NA that somebody wrote": ("d.csv", 'id,source,output:A\n1,Dry cough.,"NA"\n', [{**ROWS[0], "output:A": "NA"}]),
    "NA after an inch": ("d.csv", 'id,source,output:A\n1,5" scar.,NA\n', [{**NO_OUTPUT[0], "source": '5" scar.'}]),
    "NULL of SQL": ("d.csv", "id,source,output:A\n1,Dry cough.,NULL\n", NO_OUTPUT),
    "nan of Python": ("d.csv", "id,source,output:A\n1,Dry cough.,nan\n", NO_OUTPUT),
    "a name that begins so": ("d.csv", "id,source,output:A\n1,Dry cough.,Nana\n", [{**ROWS[0], "output:A": "Nana"}]),
    "an error of Excel": ("d.csv", "id;source;output:A\n1;Dry cough.;#N/A\n", NO_OUTPUT),
    "an error of Excel in German": ("d.csv", "id;source;output:A\n1;Dry cough.;#WERT!\n", NO_OUTPUT),
    "an error of Excel in French": ("d.csv", "id;source;output:A\n1;Dry cough.;#NOM?\n", NO_OUTPUT),
    "an error of Excel in Spanish": ("d.csv", "id;source;output:A\n1;Dry cough.;#¡DIV/0!\n", NO_OUTPUT),
    "an error of LibreOffice": ("d.csv", "id,source,output:A\n1,Dry cough.,Err:502\n", NO_OUTPUT),
    "a column that is too narrow": ("d.csv", "id,source,output:A\n1,Dry cough.,########\n", NO_OUTPUT),
    "a hash tag": ("d.csv", "id,source,output:A\n1,Dry cough.,#Cough!\n", [{**ROWS[0], "output:A": "#Cough!"}]),
    "a text of digits": ("d.csv", 'id,source,output:A\n="1",Dry cough.,Cough.\n', ROWS),
    "two byte order marks": ("d.csv", "\ufeff\ufeffid,source,output:A\n1,Dry cough.,Cough.\n", ROWS),
    "NA within a text": ("d.csv", 'id,source\n1,"Heart,NA,"\n', [{"id": "1", "source": "Heart,NA,"}]),
}  # fmt: skip


@each("case", CSV)
def test_separated_values_are_read_as_programs_write_them(tmp_path: Path, case: str) -> None:
    name, content, expected = CSV[case]
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    assert [dict(row.values) for row in read_rows(tmp_path / name).rows] == expected


def test_a_sheet_has_errors_line_ends_and_cells_without_a_name(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    rows = [["id", "source", None, "score\n(0 to 5)"], [1.0, "Dry_x000D_\ncough_x005F_", None, "#N/A"], [None, " "]]
    for row in [*rows, [2, "No fever.", "a remark", 4, "far out"]]:
        book.active.append(row)
    book.save(tmp_path / "D.XLSX")
    assert [dict(row.values) for row in read_rows(tmp_path / "D.XLSX").rows] == [
        {"id": 1, "source": "Dry\ncough_", "column 3": None, "score (0 to 5)": None, "column 5": None},
        {"id": 2, "source": "No fever.", "column 3": "a remark", "score (0 to 5)": 4, "column 5": "far out"},
    ]


def test_a_merged_cell_of_word_is_read_once_and_a_table_within_a_cell_too(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(3, 3)
    for row in range(3):
        for column in range(3):
            table.cell(row, column).text = f"{row}{column}"
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "high"
    table.cell(2, 2).add_table(1, 1).cell(0, 0).text = "within"
    document.save(str(tmp_path / "N.DOCX"))
    (row,) = read_rows(tmp_path / "N.DOCX").rows
    assert [line.split() for line in row.values["text"].splitlines() if line] == [
        ["wide", "02"], ["high", "11", "12"], ["21", "22"], ["within"]
    ]  # fmt: skip


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
NAMES = f'xmlns:w="{WORD}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
NAMES += ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
BOX = "<w:pict><w:txbxContent><w:p><w:r><w:t>Inside.</w:t></w:r></w:p></w:txbxContent></w:pict>"


@each(
    "content, text",
    [
        (f"<w:r {NAMES}>{BOX}</w:r>", "T \nInside.\nAfter."),
        (f"<w:r {NAMES}><mc:AlternateContent><mc:Choice>{BOX}</mc:Choice><mc:Fallback>{BOX}</mc:Fallback>"
         "</mc:AlternateContent></w:r>", "T \nInside.\nAfter."),
        (f"<m:oMath {NAMES}><m:r><m:t>38.5</m:t></m:r></m:oMath>", "T 38.5\nAfter."),
        (f'<w:r {NAMES}><w:sym w:font="Symbol" w:char="F0B3"/></w:r>', "T \ufffd\nAfter."),
        (f"<w:sdt {NAMES}><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r><w:t>Enter text.</w:t></w:r>"
         "</w:sdtContent></w:sdt>", "T \nAfter."),
        (f'<w:r {NAMES}><w:sym w:font="Segoe UI Symbol" w:char="2611"/></w:r>', "T \u2611\nAfter."),
        (f'<w:r {NAMES}><w:t>a</w:t><w:br w:type="page"/><w:t>b</w:t></w:r>', "T a\nb\nAfter."),
        (f"<w:r {NAMES}><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase>"
         "</w:ruby></w:r>", "T 漢\nAfter."),
        (f"<w:pPr {NAMES}><w:rPr><w:del/></w:rPr></w:pPr>", "T After."),
    ],
)  # fmt: skip
def test_text_boxes_formulas_and_symbols_of_word_are_read(tmp_path: Path, content: str, text: str) -> None:
    document = docx.Document()
    document.add_paragraph("T ")._p.append(parse_xml(content))
    document.add_paragraph("After.")
    document.save(str(tmp_path / "n.docx"))
    (row,) = read_rows(tmp_path / "n.docx").rows
    assert row.values["text"] == text


def written(folder: Path, kind: str, rows: list[dict[str, Any]]) -> Path:
    """The rows as a file of a kind."""
    file = folder / f"file.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    elif kind == "jsonl":
        file.write_text("\n".join(json.dumps(row) for row in rows))
    elif kind == "csv":
        table = [list(rows[0]), *(list(row.values()) for row in rows)]
        file.write_text("\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in table))
    else:
        book = openpyxl.Workbook()
        for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
            book.active.append(row)
        book.save(file)
    return file


@each("kind", ["jsonl", "csv", "parquet", "xlsx"])
def test_null_is_missing_and_ids_are_alike_in_the_data_and_in_outputs(tmp_path: Path, kind: str) -> None:
    texts = [(1.0, "Dry cough."), (2.0, "No fever.")]
    data = written(tmp_path, kind, [{"id": number, "source": text} for number, text in texts])
    (tmp_path / "m").mkdir(exist_ok=True)
    spelt = [" 1 " if kind in ("jsonl", "csv") else 1.0, "2" if kind in ("jsonl", "csv") else 2.0]
    if kind == "csv":
        data.write_text(data.read_text().replace(".0,", ","))
    outputs = written(tmp_path / "m", kind, [{"id": spelt[0], "output": "Cough."}, {"id": spelt[1], "output": None}])
    found = read_documents(data, {"m": outputs}).documents
    assert [(one.id, one.outputs) for one in found] == [("1", {"m": "Cough."}), ("2", {})]


@each(
    "row, said",
    [
        ("v1,,Cough.", r"row 2: dialogue is missing; expected a text"),
        ("v1,Dry cough.,Cough.\nv1,No fever.,Fever.", r"row 3: Visit ID v1 is a duplicate of"),
        (",Dry cough.,Cough.", r"row 2: Visit ID is missing; expected"),
    ],
)
def test_an_error_has_the_names_of_the_file_s_columns(tmp_path: Path, row: str, said: str) -> None:
    (tmp_path / "d.csv").write_text(f"Visit ID,dialogue,summary\n{row}\n")
    with pytest.raises(SourceError, match=said):
        read_documents(tmp_path / "d.csv")
    (tmp_path / "d.csv").write_text("Visit ID,talk,summary\nv1,x,y\n")
    with pytest.raises(SourceError, match="column source is missing; it has Visit ID, talk, summary;"):
        read_documents(tmp_path / "d.csv")


def test_a_text_in_a_folder_that_is_not_read_is_named(tmp_path: Path) -> None:
    for name in ("a.txt", "b.md", "scan.pdf"):
        (tmp_path / name).write_text("Dry cough.")
    for read in (read_rows, lambda folder: output_files([f"m={folder}"])):
        with pytest.raises(SourceError, match=r"2 texts, and files that are not read: scan\.pdf; save these as \.txt"):
            read(tmp_path)
    (tmp_path / "scan.pdf").unlink()
    (tmp_path / "~$b.docx").write_text("Ann")
    assert len(read_rows(tmp_path).rows) == 2


def test_files_of_a_dataset_folder_are_read_or_named_and_those_of_other_programs_passed_over(tmp_path: Path) -> None:
    for name in ("train-0.jsonl", "train-1.jsonl.gz", "._train-0.jsonl", "~$d.xlsx", ".cache/train.json", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(ROWS[0]))
    found = read_rows(tmp_path)
    assert len(found.rows) == 1 and found.notes == (f"{tmp_path}: not read: train-1.jsonl.gz",)


def test_sheets_formulas_and_parts_that_are_not_read_are_named_or_refused(tmp_path: Path) -> None:
    book, rows = openpyxl.Workbook(), [["id", "source", "output:A"], [1, "Dry cough.", "Cough."]]
    for row in rows:
        book.active.append(row)
    book.active.row_dimensions[2].hidden = True
    book.active["C2"].comment = Comment("Is this so?", "Ann")
    book.create_sheet("none")
    book.create_sheet("more")["C9"] = 0
    book.save(tmp_path / "d.xlsx")
    parts, sheets, hidden = read_documents(tmp_path / "d.xlsx").notes
    assert parts == f"{tmp_path}/d.xlsx: not read: comments"
    assert sheets == f"{tmp_path}/d.xlsx: not read: sheets more; only Sheet is"
    assert hidden == f"{tmp_path}/d.xlsx: 1 hidden row read as all others; delete those that are not meant"
    book.create_sheet("empty", 0)
    book.save(tmp_path / "e.xlsx")
    assert [one.id for one in read_documents(tmp_path / "e.xlsx").documents] == ["1"]
    book["Sheet"]["C3"] = '="Cou"&"gh."'
    book.save(tmp_path / "f.xlsx")
    with pytest.raises(SourceError, match=r"f\.xlsx: C3: a formula whose result is not in the file"):
        read_documents(tmp_path / "f.xlsx")
    document = docx.Document()
    document.add_paragraph("Dry cough.")
    document.sections[0].header.paragraphs[0].text = "Ann, 54"
    document.sections[0].footer.paragraphs[0].text = " "
    document.add_comment(document.paragraphs[0].runs, "Is this so?")
    document.element.body.insert(0, parse_xml(f"<w:altChunk {NAMES}/>"))
    document.paragraphs[0].runs[0].font.hidden = True
    document.add_paragraph("Fever.", style="List Number")
    document.add_table(1, 2).cell(0, 1)._tc.get_or_add_tcPr().append(parse_xml(f"<w:cellDel {NAMES}/>"))
    document.tables[0].cell(0, 0).text, document.tables[0].cell(0, 1).text = "kept", "deleted"
    document.save(str(tmp_path / "n.docx"))
    read = read_rows(tmp_path / "n.docx")
    assert read.rows[0].values["text"] == "Dry cough.\nFever.\nkept"
    assert read.notes == (
        f"{tmp_path}/n.docx: not read: comments, embedded files, header, numbers and bullets of lists",
        f"{tmp_path}/n.docx: hidden text is read as all other; delete what is not meant",
    )
    assert (
        read_documents(tmp_path / "d.xlsx", {"B": tmp_path / "n.docx"})
        .notes[3]
        .endswith("n.docx: not read: comments, embedded files, header, numbers and bullets of lists")
    )


def test_an_empty_text_that_a_formula_gave_is_an_empty_cell(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [["id", "source"], [1, "Dry cough."], [2, '=""']]:
        book.active.append(row)
    book.save(tmp_path / "made.xlsx")
    with ZipFile(tmp_path / "made.xlsx") as made, ZipFile(tmp_path / "d.xlsx", "w") as saved:
        for name in made.namelist():
            saved.writestr(name, made.read(name).replace(b'<c r="B3">', b'<c r="B3" t="str">'))
    assert [row.values["source"] for row in read_rows(tmp_path / "d.xlsx").rows] == ["Dry cough.", None]


SAMPLE = {"id": "1", "input": "x", "output": {"completion": "y"}}
LOG = {"eval": {"model": "m"}, "samples": [{**SAMPLE, "epoch": epoch} for epoch in (1, 2)]}


@each("status", ["error", "cancelled", "started"])
def test_an_eval_that_did_not_succeed_is_named(tmp_path: Path, status: str) -> None:
    (tmp_path / "m.json").write_text(json.dumps({**LOG, "samples": LOG["samples"][:1], "status": status}))
    assert read_documents(tmp_path / "m.json").notes[0].endswith(f"did not succeed (status {status}); it has 1 sample")


@each(
    "files, said",
    [
        ({"m.json": json.dumps(LOG)}, r"has several outputs \(m, m, epoch 2\); expected a log of one epoch"),
        ({"m.csv": "id,output\n1,NULL\n"}, r"m\.csv: no output of m; expected a text for at least one document"),
        ({"m.jsonl": ""}, r"m\.jsonl: no output of m"),
        ({"a.csv": "id,output\n1,Cough.\n", "b.csv.gz": ""}, r"m: holds b\.csv\.gz, which is not read; expected \.csv"),
        ({}, "m: is empty; expected"),
    ],
)
def test_a_system_whose_outputs_are_not_read_is_named(tmp_path: Path, files: dict[str, str], said: str) -> None:
    folder = tmp_path / str(len(list(tmp_path.iterdir()))) / "m"
    folder.mkdir(parents=True)
    (folder.parent / "d.csv").write_text("id,source\n1,Dry cough.\n")
    for name, content in files.items():
        (folder / name).write_text(content)
    given = [f"m={folder / next(iter(files))}"] if len(files) == 1 else [str(folder)]
    with pytest.raises(SourceError, match=said):
        read_documents(folder.parent / "d.csv", output_files(given))


@each("size", [1, 7, 64, 2**20])
def test_hidden_rows_are_counted_however_the_sheet_is_divided(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = '<c r="A1"><v>1</v></c>'
    heads = ("", ' hidden="1" ht="0"', ' r="3" hidden="true"', ' hidden="0"', ' hidden="1"')
    rows = [f"<row {head}>{cell * 400}</row>" for head in heads] + ['<row hidden="1"/>', '<row hidden="1"></row>']
    monkeypatch.setattr(office, "_BLOCK", size)
    assert office._hidden_rows(io.BytesIO("".join(rows).encode())) == 3


@each("given", ["7", "7.0", " 7", "\ufeff7", "7\u200b", 7, 7.0])
def test_an_id_is_the_same_however_a_program_writes_it(tmp_path: Path, given: object) -> None:
    (tmp_path / "d.jsonl").write_text(json.dumps({"id": given, "source": "Dry cough."}))
    (tmp_path / "A.csv").write_text("Record ID,text,Summary\n7.0,Dry cough.,Cough.\n")
    (document,) = read_documents(tmp_path / "d.jsonl", {"A": tmp_path / "A.csv"}).documents
    assert (document.id, document.outputs) == ("7", {"A": "Cough."})


def test_lists_and_mappings_are_read_as_parquet_and_pandas_write_them(tmp_path: Path) -> None:
    outputs = pa.array([[("A", "Cough.")]], pa.map_(pa.string(), pa.string()))
    pq.write_table(pa.table({"id": ["1"], "source": [["Dry.", "Cough."]], "outputs": outputs}), tmp_path / "d.parquet")
    frame = pd.DataFrame([{"id": 1, "source": ["Dry.", "Cough."], "outputs": {"A": "Cough."}}])
    frame.to_csv(tmp_path / "d.csv")
    (tmp_path / "n.csv").write_text("id,source\n1,['Dry.' 'Cough.']\n")  # of numpy, which Python would join
    for name in ("d.parquet", "d.csv"):
        (document,) = read_documents(tmp_path / name).documents
        assert (document.source, document.outputs) == (("Dry.", "Cough."), {"A": "Cough."})
    assert read_documents(tmp_path / "n.csv").documents[0].source == ("['Dry.' 'Cough.']",)


@each("form", ["brat", "label-studio"])
def test_annotations_of_other_kinds_are_named(tmp_path: Path, form: str) -> None:
    """As a negation that another project states, whose loss would turn what the span says."""
    (tmp_path / "n.txt").write_text("No cough.")
    (tmp_path / "n.ann").write_text("T1\tcough 3 8\tcough\nA1\tNegation T1\n#1\tAnnotatorNotes T1\tunsure\n")
    place = {"start": 3, "end": 8, "text": "cough"}
    regions = [{"id": "r", "type": "labels", "value": {**place, "labels": ["cough"]}}, {"id": "s", "type": "relation"}]
    task = {"data": {"name": "n", "text": "No cough."}, "annotations": [{"result": []}, {"result": regions}]}
    (tmp_path / "e.json").write_text(json.dumps([task, {**task, "annotations": [], "predictions": [{}]}]))
    source = tmp_path if form == "brat" else tmp_path / "e.json"
    (text,), unread = read_files(form, source, ["cough"])
    expected = {"brat": ["Negation", "AnnotatorNotes"]}
    assert len(text.spans) == 1
    assert unread == expected.get(form, ["earlier annotations", "relation", "tasks without an annotation"])


def test_what_of_an_eval_log_is_not_read_is_named(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Dry cough."}, {"type": "image", "image": "x"}]
    given = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    output = {"completion": "Cough", "choices": [{"message": {"content": "Cough"}, "stop_reason": "max_tokens"}]}
    log = {"eval": {"model": "m"}, "samples": [{"id": 1, "input": given, "choices": ["a"], "output": output}]}
    (tmp_path / "d.json").write_text(json.dumps(log))
    inputs, ends = read_documents(tmp_path / "d.json").notes
    assert inputs.endswith("not read of the inputs: choices, image of user, messages of system")
    assert ends.endswith("1 output ended by max_tokens; they may not be whole")


def test_an_id_is_the_same_with_accents_composed_or_apart(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,source\nM\u00fcller,Dry cough.\n")
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "Mu\u0308ller.txt").write_text("Cough.")
    (document,) = read_documents(tmp_path / "d.csv", {"A": tmp_path / "outputs"}).documents
    assert (document.id, document.outputs) == ("M\u00fcller", {"A": "Cough."})


TWICE = '{"id": 1, "source": "x", "outputs": {"A": "y"}, "output:A": "z"}'


@each(
    "files, said",
    [
        ({"a.jsonl": TWICE}, "outputs has A, which has a column too"),
        ({"a.csv": "id,source\n1,x\n", "b.xlsx": "", "c.json": ""}, r"several splits or files \(a, b, c\)"),
        ({"a.csv": "id,source\n1,x\n", "b.txt": "x", "README.txt": ""}, r"several splits or files \(a, b\)"),
        ({"a.xlsx": "PK"}, r"a\.xlsx: not a readable \.xlsx file"),
        ({"a.txt": r"{\rtf1\ansi Dry cough.}"}, r"a\.txt: is rich text \(RTF\); save it as plain text"),
        ({"a.csv": "Pilot;;\nid;source;n\n1;x;2\n"}, r"row 1: only 'Pilot' is filled.*'id; source; n'"),
        ({"a.csv": "Visit;;;Output;\nid;source;n;A;B\n1;x;2;y;z\n"}, "row 1: only 'Visit', 'Output' is filled"),
        ({"a.csv": "PK\3\4"}, r"a\.csv: is Office or zip; save it as plain text"),
        ({"a.txt": "%PDF-1.4"}, r"a\.txt: is PDF; save it as plain text"),
        ({"a.csv": "# of 2026\nid,source,n\n1,x,2\n"}, "expected 1; .*or has row 1 not the columns' names"),
        ({"a.csv": "\0".join("id,source\n1,x\n")}, r"a\.csv: holds a null character, as UTF-16"),
    ],
)
def test_what_one_of_two_readings_would_lose_is_refused(tmp_path: Path, files: dict[str, str], said: str) -> None:
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
    with pytest.raises(SourceError, match=said):
        read_documents(folder if len(files) > 1 else folder / next(iter(files)))


def test_a_column_that_is_there_twice_is_refused_in_parquet_and_in_a_frame(tmp_path: Path) -> None:
    pq.write_table(pa.table([["1"], ["x"], ["y"]], names=["id", "source", "source"]), tmp_path / "d.parquet")
    with pytest.raises(SourceError, match="column source is a duplicate"):
        read_rows(tmp_path / "d.parquet")
    frame = pd.DataFrame([["1", "x", "y"]], columns=["id", "source", "source"])
    for data, said in ((frame, "column source is a duplicate"), ("d.csv", "a file is read by load_notes")):
        with pytest.raises(SourceError, match=said):
            _documents(data, Evaluate(data="data", metrics=["grounding"]))  # type: ignore[arg-type]


BRAT = {"n.txt": "Dry cough.\n", "n.ann": "T1\tcough 0 9\tDry cough\nA1\tAssertion T1 present\n"}


def spans(form: Any, path: Path) -> list[tuple[int, int, str, str]]:
    (text,), _ = read_files(form, path, ["cough"])
    return [(span.start, span.end, span.label, span.assertion) for span in text.spans]


@each(
    "change",
    [
        lambda name, raw: (name, raw),
        lambda name, raw: (name, b"\xef\xbb\xbf" + raw),
        lambda name, raw: (name, raw.replace(b"\n", b"\r\n")),
        lambda name, raw: (name.upper(), raw),
    ],
)
def test_brat_is_read_with_a_mark_windows_line_ends_and_capitals(tmp_path: Path, change: Any) -> None:
    for file in tmp_path.iterdir():
        file.unlink()
    for name, content in BRAT.items():
        changed, raw = change(name, content.encode())
        (tmp_path / changed).write_bytes(raw)
    assert spans("brat", tmp_path) == [(0, 9, "cough", "present")]


@each(
    "name, content, said",
    [
        ("n.ann", " T1\tcough 0 9\tDry cough\n", r"n\.ann, line 1: found ' T1.*expected an annotation"),
        ("n.ann", BRAT["n.ann"] + "T1\tcough 0 3\tDry\n", r"line 3: found 'T1.*each id once"),
        ("n.ann", BRAT["n.ann"].replace("present", ""), r"line 2: found 'A1.*expected 'A1<tab>Assertion T1 value'"),
        ("n.ann", BRAT["n.ann"].replace(" T1", " T2"), r"line 2: found 'A1.*of a span that is there"),
        ("n.ann", BRAT["n.ann"] + "A2\tAssertion T1 past\n", r"line 3: found 'A2.*once for each"),
        ("m.ann", "T1\tcough 0 9\tDry cough\n", r"m\.ann has no m\.txt in its folder; add the text"),
        ("N.TXT", "Dry cough.", r"N\.txt has no N\.ann"),
    ],
)
def test_an_annotation_of_brat_that_is_not_read_is_named(tmp_path: Path, name: str, content: str, said: str) -> None:
    for file, text in {**BRAT, name: content}.items():
        (tmp_path / file).write_text(text)
    with pytest.raises(SourceError, match=said):
        spans("brat", tmp_path)
    with pytest.raises(SourceError, match="no annotated text"):
        read_files("brat", Path(__file__).parent, [])


def exported(kind: str = "labels", **value: Any) -> str:
    region = {"id": "r1", "type": kind, "from_name": "symptom", "value": {"start": 0, "end": 9, **value}}
    return json.dumps([{"data": {"name": "n", "text": "Dry cough."}, "annotations": [{"result": [region]}]}], indent=1)


def test_label_studio_is_read_with_a_mark_and_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "e.json").write_bytes(b"\xef\xbb\xbf" + exported(labels=["cough"]).replace("\n", "\r\n").encode())
    assert spans("label-studio", tmp_path / "e.json") == [(0, 9, "cough", "")]


@each(
    "value, said",
    [
        ({}, "n: region r1 has no label; choose one, or delete the region"),
        ({"labels": []}, "n: region r1 has no label"),
        ({"labels": ["cogh"]}, "n: label 'cogh' is not one of cough"),
        ({"kind": "hypertextlabels", "hypertextlabels": ["cough"]}, "n: region r1 is of type hypertextlabels"),
        ({"labels": ["cough"], "end": 3.5}, "task 0: expected data.name"),
    ],
)
def test_a_region_without_a_known_label_is_named(tmp_path: Path, value: dict[str, Any], said: str) -> None:
    (tmp_path / "e.json").write_text(exported(**value))
    with pytest.raises(SourceError, match=said):
        spans("label-studio", tmp_path / "e.json")


@each("form", ["rows", "frame", "int columns", "parquet"])
def test_a_frame_and_rows_are_read_as_a_file_is(tmp_path: Path, form: str) -> None:
    rows = [
        {"visit_id": 1.0, "dialogue": ["Dry cough.", "No fever."], "model": "m", "summary": "Cough."},
        {"visit_id": 2.0, "dialogue": ["No fever."], "model": "m", "summary": None},
    ]
    frame = pd.DataFrame(rows)
    numbered = frame.assign(x=1).rename(columns={"x": 7})
    data: Any = {"rows": rows, "frame": frame, "int columns": numbered}.get(form)
    if data is None:
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
        data = pd.read_parquet(tmp_path / "d.parquet")
    found = _documents(data, Evaluate(data="data", metrics=["grounding"]))
    assert [(one.id, one.source, one.outputs) for one in found.documents] == [
        ("1", ("Dry cough.", "No fever."), {"m": "Cough."}), ("2", ("No fever.",), {}),
    ]  # fmt: skip
    assert "columns read as id=visit_id, source=dialogue" in found.notes[0]


@each("column", ["visit_id", "note_id", "encounter_id", "Visit ID"])
def test_ids_by_other_names_are_ids_so_that_a_duplicate_is_refused(tmp_path: Path, column: str) -> None:
    (tmp_path / "d.csv").write_text(f"{column},source\nv1,Dry cough.\nv1,No fever.\n")
    with pytest.raises(SourceError, match=rf"{column} v1 is a duplicate"):
        read_documents(tmp_path / "d.csv")
