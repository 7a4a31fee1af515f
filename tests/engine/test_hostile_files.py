"""A hostile file, name or path is one clear line for each defect, with control characters escaped, in little memory."""

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from jinja2 import DictLoader

from flows.commands import cli
from flows.commands.import_forms import import_files
from flows.commands.store import import_
from flows.evaluation.folder import defused
from flows.rebuild.pipeline import StageFiles
from flows.runtime.params import load_params
from flows.runtime.stage import Stage
from tasks.exchange.label_studio import read_export
from tasks.judges.human_labels import read_labels
from tasks.llm.requests import request_key, to_bytes
from tasks.network.cases import read_cases
from tasks.network.definition import load_definition
from tasks.people.rating_form import RatingForm
from tasks.reporting.display import render
from tasks.texts.reading import output_files, read_documents
from tasks.transport.inspection import EXPORTED
from tasks.transport.store import COLUMNS
from tests.support.imports import ROOT
from tests.support.memory import growth_below
from tests.support.returned import file_of, rated
from tests.support.review import drawn
from tests.support.stored import paid

ESC = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe"
DEEP = "[" * 100_000 + "]" * 100_000
LAUGHS = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
FORM = RatingForm(drawn(), [])
SETTINGS = (ROOT / "params.yaml").read_text(encoding="utf-8")
NETWORK = ROOT / "tasks/domains/respiratory/network.yaml"


def form(**changes: Any) -> str:
    """A returned form of ratings as JSON."""
    return file_of(FORM, **{"notes": rated()} | changes)


def row(**fields: Any) -> str:
    """A document as a line of JSON."""
    return json.dumps({"id": "a", "source": "text", **fields})


def arrow(path: Path, table: pa.Table, **options: Any) -> None:
    """Write a table as a stream of Arrow."""
    with pa.ipc.new_stream(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as sink:
        sink.write_table(table)


def repeated(size: int = 1_000_000, times: int = 1000) -> pa.Array:
    """``times`` one text of ``size`` characters, which a file holds once."""
    return pa.array(["x" * size]).dictionary_encode().take(pa.array([0] * times))


def documents(source: pa.Array) -> pa.Table:
    return pa.table({"id": pa.array(range(len(source))), "source": source})


def packed(path: Path, **parts: bytes | int) -> None:
    """A zip file; a part given as a number is as many null bytes."""
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        for name, part in parts.items():
            with file.open(name, "w", force_zip64=True) as entry:
                for _ in range(part // 1_000_000 if isinstance(part, int) else 0):
                    entry.write(bytes(1_000_000))
                entry.write(part if isinstance(part, bytes) else b"")


def sheet(path: Path, rows: str) -> None:
    """A workbook whose one sheet holds ``rows`` of XML."""
    import openpyxl

    openpyxl.Workbook().save(path)
    with ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    start = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    parts["xl/worksheets/sheet1.xml"] = start + rows.encode() + b"</sheetData></worksheet>"
    packed(path, **parts)


def read(name: str) -> Callable[[Path], object]:
    return lambda folder: read_documents(folder / name)


def take_in(*names: str) -> Callable[[Path], object]:
    return lambda folder: import_files([folder / name for name in names])


def check_form(folder: Path) -> object:
    return FORM.read({"f.json": (folder / "f.json").read_text()})


@dataclass(frozen=True)
class Case:
    """What is written, what reads it, and what the line says."""

    write: Callable[[Path], object]
    act: Callable[[Path], object]
    says: str
    most: int = 1_000_000_000  # bytes; with the imports, 1.5 GB


def file(name: str, content: str | bytes, says: str, act: Callable[[Path], object] | None = None) -> Case:
    """A file of that content."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return Case(lambda folder: (folder / name).write_bytes(data), act or read(name), says)


def made(name: str, write: Callable[[Path], object], says: str) -> Case:
    """A file that ``write`` writes."""
    return Case(lambda folder: write(folder / name), read(name), says)


def returned(content: str, says: str) -> Case:
    """A returned form."""
    return file("f.json", content, says, check_form)


def put(content: str | bytes, says: str) -> Case:
    """A form that was put into the folder of a stage by hand."""
    return file("f.json", content, says, stage_reads)


def stage_reads(folder: Path) -> object:
    return FORM.read(Stage(StageFiles("review", {"forms": folder}, {}), load_params()).returned("forms", FORM.id))


def label_rows(folder: Path) -> object:
    return read_labels(folder / "l.csv")


def settings(content: str, says: str) -> Case:
    return file("params.yaml", content, says, lambda folder: load_params(folder / "params.yaml"))


def network(content: str, says: str) -> Case:
    return file("n.yaml", content, says, lambda folder: load_definition(folder / "n.yaml"))


def cases_of(content: str | bytes, says: str) -> Case:
    act: Callable[[Path], object] = lambda folder: read_cases(load_definition(NETWORK), "days_at_home", folder / "c")  # noqa: E731
    return file("c", content, says, act)


def export(content: str, says: str) -> Case:
    return file("l", content, says, lambda folder: read_export((folder / "l").read_text()))


def replies(name: str, content: bytes, says: str) -> Case:
    """A file of replies that is imported into a new store."""
    act: Callable[[Path], object] = lambda folder: import_(folder / name, store=str(folder / "s.sqlite"))  # noqa: E731
    return replace(file(name, content, says, act), most=200_000_000)


def reply_of(**fields: Any) -> bytes:
    """A line of the replies of a store, with other fields."""
    kept = paid(1)
    line = {name: getattr(kept, name) for name in COLUMNS if name in EXPORTED} | {"sample": 0, "created": "2026-01-01"}
    line |= {"request": json.loads(kept.request), "reply": json.loads(kept.reply)}
    key = request_key(kept.identity, 0, to_bytes(line["request"])).hex()
    return json.dumps(line | {"key": key} | fields).encode()


def spaces(megabytes: int) -> bytes:
    """As many megabytes of spaces, packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(b" " * 1_000_000) for _ in range(megabytes)) + packer.flush()


def nothing(_: Path) -> None:
    """Write no file."""


FILES = {
    # forms
    "a form with a key twice": returned(form().replace('"rater"', '"rater": "x", "rater"'), "key rater is a duplicate"),
    "a form with an answer twice": returned(
        form().replace('"comment"', '"comment": "x", "comment"', 1), "key comment is a duplicate"
    ),
    "a deep form": returned(DEEP, "nested too deeply"),
    "a form with a deep answer": returned(form(notes=json.loads("[" * 200 + "]" * 200)), "at most 100 levels"),
    "a form of nulls": returned("\x00" * 100, "not a file of the"),
    "a form of half characters": returned(form(signature="\ud800"), "not a file of the"),
    "a form of many values": returned("[" + "0," * 5_000_001 + "0]", "more than 5,000,000 values"),
    "a form with a long number": returned(
        form().replace('"record": 4', '"record": ' + "5" * 5000), "not a file of the"
    ),
    "a form with unknown fields": returned(form(**{ESC: 1}), r"\\x1b\]0;owned"),
    "a form of another hash": returned(form(form=ESC), r"is of form \S+ \\x1b"),
    "a form whose rater is a path": file(
        "f.json", form(rater=["../../x"], format="x"), "not a returned file of a form", take_in("f.json")
    ),
    "a form without a format": file("f.json", "{}", "not a returned file of a form", take_in("f.json")),
    "a deep form to be imported": file("f.json", DEEP, "nested too deeply", take_in("f.json")),
    "a form in UTF-16": file("f.json", form().encode("utf-16"), "not in UTF-8", take_in("f.json")),
    "a form of 21 MB": file("f.json", " " * 21_000_000, "has 21,000,000 bytes", take_in("f.json")),
    "a form in UTF-16 put in by hand": put(form().encode("utf-16"), r"f\.json: not in UTF-8"),
    "a form of 21 MB put in by hand": put(" " * 21_000_000, "has 21,000,000 bytes"),
    "labels in UTF-16": file("l.csv", "item,judged,label\n".encode("utf-16"), r"l\.csv: not in UTF-8", label_rows),
    # tables
    "JSON with a key twice": file("d.json", '[{"id": 1, "id": 2}]', "key id is a duplicate"),
    "deep JSON": file("d.json", DEEP, "nested too deeply"),
    "a deep line": file("d.jsonl", DEEP, "line 1: not JSON .nested too deeply"),
    "a deep cell": file("d.csv", f'id,source,claims\na,b,"{"[" * 50_000}"\n', "row 1: claims is '"),
    "a claim of lists": file("d.jsonl", row(claims=json.loads("[" * 99 + "]" * 99)), r"line 1: claims is \[.*\.\.\.; "),
    "JSON of many values": file("d.json", "[" + "{}," * 2_600_000 + "{}]", "more than 5,000,000 values"),
    "lines of many values": file("d.jsonl", "{}\n" * 5_000_001, "more than 5,000,000 values"),
    "CSV of many cells": file(
        "d.csv", ",".join(map(str, range(9_999))) + "\n" + ("," * 9_998 + "\n") * 501, "more than 5,000,000 values"
    ),
    "CSV of many columns": file("d.csv", ",".join(f"c{n}" for n in range(300_000)) + "\n" + "," * 9, "found 10 cells"),
    "CSV with a quote that does not end": file("d.csv", 'id,source\na,"' + "x" * 1_000_000, "not CSV"),
    "CSV with a column twice": file("d.csv", f"id,{ESC},{ESC}\n", r"column \\x1b"),
    "a null character": file("d.jsonl", row(source="a\x00b"), "holds a null character"),
    "half of a character": file("d.jsonl", row(source="a\ud800b"), "half of a character"),
    "a long text": file("d.jsonl", row(source="x" * 1_000_000), "has 1,000,000 characters"),
    "a number without end": file("d.jsonl", '{"id": ' + "9" * 5000 + "}", "not JSON"),
    "bytes": file("d.jsonl", bytes(range(256)), "is not UTF-8"),
    "no parquet": file("d.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1", "not a readable parquet file"),
    "parquet that repeats a text": made(
        "d.parquet", lambda to: pq.write_table(documents(repeated()), to), "more than 200,000,000 bytes"
    ),
    "parquet that repeats a text in lists": made(
        "d.parquet",
        lambda to: pq.write_table(documents(pa.ListArray.from_arrays([0, 1000], repeated().cast(pa.string()))), to),
        "bytes",
    ),
    "parquet of nulls": made(
        "d.parquet", lambda to: pq.write_table(pa.table({"id": pa.nulls(5_000_001)}), to), "more than 5,000,000 values"
    ),
    "parquet of one long page": made(
        "d.parquet",
        lambda to: pq.write_table(
            documents(pa.array(["x" * 1_000_000] * 300)), to, compression="zstd", use_dictionary=False
        ),
        "unpacks to 300,",
    ),
    "no arrow": file("d.arrow", b"\xff\xff\xff\xff\xff\xff\xff\x7f", "not a readable arrow file"),
    "arrow that repeats a text": made("d.arrow", lambda to: arrow(to, documents(repeated())), "more than 200,000,000"),
    "arrow that is packed": made(
        "d.arrow", lambda to: arrow(to, documents(pa.array(["x" * 1_000_000] * 300)), compression="zstd"), "is packed"
    ),
    "arrow of nulls": made("d.arrow", lambda to: arrow(to, pa.table({"id": pa.nulls(5_000_001)})), "more than 5,000"),
    "no workbook": file("d.xlsx", b"PK\x03\x04" + bytes(100), "not a readable .xlsx file"),
    "a workbook that unpacks to 200 MB": made(
        "d.xlsx", lambda to: packed(to, **{"xl/worksheets/sheet1.xml": 201_000_000}), "unpacks to 201,000,000 bytes"
    ),
    "a workbook of styles": made("d.xlsx", lambda to: packed(to, **{"xl/styles.xml": 21_000_000}), "unpacks to 21,000"),
    "a sheet of the widest rows": made(
        "d.xlsx",
        lambda to: sheet(to, "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 400))),
        "more than 5,000,000 values",
    ),
    "a document that unpacks to 21 MB": made(
        "d.docx", lambda to: packed(to, **{"word/document.xml": 21_000_000}), "unpacks to 21,000,000 bytes"
    ),
    "no document": made("d.docx", lambda to: packed(to, **{"word/document.xml": b"<"}), "not a readable .docx file"),
    "an export of Label Studio without end": export(DEEP, "nested too deeply"),
    "an export with a key twice": export('[{"data": {}, "data": {}}]', "key data is a duplicate"),
    "cases in no UTF-8": cases_of(b"\xff\xfe", "UTF-8"),
    "cases with a quote that does not end": cases_of('a,"b', "c"),
    # names
    "an id of control characters": file("d.jsonl", f"{row(id=ESC)}\n{row(id=ESC)}", r"id \\x1b\]0;owned.* is a dupl"),
    "an id with a line break": file("d.jsonl", row(id="a\nb: fine"), "holds a line break"),
    "a system of control characters": file("d.jsonl", row(outputs={ESC: ""}), r"output of \\x1b\]0;owned.* is empty"),
    "a column of control characters": file("d.csv", f"{ESC[4:]}\x07\nx\n", r"it has owned\\x07\\x1b"),
    "a file of control characters": file(f"d{ESC.replace('/', '')}.csv", "id\n", r"d\\x1b\]0;owned.*csv"),
    # params and networks
    "a billion laughs": settings(LAUGHS, "with its aliases, it holds more than 5,000,000 values"),
    "an alias of itself": settings("sample: &a [*a]", "line 1: an alias names what it is part of"),
    "deep YAML": settings("[" * 5000, "not valid YAML"),
    "YAML that makes an object": settings("sample: !!python/object/apply:os.system [id]", "not valid YAML"),
    "a param of control characters": settings(f"{SETTINGS}\n{json.dumps(ESC)}: 1\n", r"unknown key \\x1b\]0;owned"),
    "a network of laughs": network(LAUGHS, "with its aliases, it holds more than 5,000,000 values"),
    "a network that names itself": network("variables: &a {b: *a}", "an alias names what it is part of"),
    "a network of control characters": network(json.dumps({ESC: 1}), r"found \['\\x1b\]0"),
    # replies of another store
    "replies that are not UTF-8": replies("r.jsonl", b"\n\xff\xfe", r"r\.jsonl: line 2: byte 0xff is not UTF-8"),
    "replies in one line without end": replies(
        "r.jsonl.gz", spaces(800), r"r\.jsonl\.gz: line 1: longer than 32,000,000 bytes"
    ),
    "replies that are not packed": replies("r.jsonl.gz", b"{}", r"r\.jsonl\.gz: line 1: cannot be unpacked"),
    "replies of which the end is missing": replies(
        "r.jsonl.gz", gzip.compress(reply_of())[:-9], r"r\.jsonl\.gz: line 1: cannot be unpacked"
    ),
    "replies whose packing is damaged": replies(
        "r.jsonl.gz", gzip.compress(reply_of())[:20] + b"\xff" * 99, r"r\.jsonl\.gz: line 1: cannot be unpacked"
    ),
    "replies of a device": Case(
        lambda folder: (folder / "r").symlink_to("/dev/zero"),
        lambda folder: import_(folder / "r", store=str(folder / "s.sqlite")),
        "line 1: longer than 32,000,000 bytes",
    ),
    "a deep reply": replies("r.jsonl", DEEP.encode(), r"r\.jsonl: line 1: not JSON .nested too deeply"),
    "a file without replies": replies("r.jsonl", b"\n \n", r"r\.jsonl: holds no reply"),
    "a reply of half characters": replies("r.jsonl", reply_of(model="\ud800"), r"r\.jsonl: line 1: not a line of"),
    "a reply with a list as its model": replies("r.jsonl", reply_of(model=["m"]), "line 1: not a line of .*model"),
    "a reply that cost no number": replies(
        "r.jsonl", reply_of(dollars=float("nan")), "line 1: not a line of .*dollars"
    ),
    "a reply of many tokens": replies("r.jsonl", reply_of(prompt_tokens=10**30), "line 1: not a line of .*prompt_tok"),
    "a reply with a key of text": replies("r.jsonl", reply_of(key=ESC), r"line 1: not a line of"),
    # paths
    "a pipe": Case(lambda folder: os.mkfifo(folder / "d.csv"), read("d.csv"), "a folder or a device"),
    "a link to itself": Case(lambda folder: (folder / "d.csv").symlink_to("d.csv"), read("d.csv"), r"d\.csv: "),
    "a link to a device": Case(lambda folder: (folder / "d.csv").symlink_to("/dev/zero"), read("d.csv"), "a device"),
    "a name of 300 characters": Case(nothing, read("x" * 300 + ".csv"), "File name too long"),
    "a null in a path": Case(nothing, read("\x00.csv"), r"\\x00\.csv: "),
    "a folder below a file": Case(lambda folder: (folder / "d").touch(), read("d/e.csv"), r"d/e\.csv: no such file"),
    "outputs in an empty folder": Case(nothing, lambda folder: output_files([str(folder)]), "file in this folder"),
    "a form that is a folder": Case(lambda folder: (folder / "f.json").mkdir(), take_in("f.json"), "a folder or a dev"),
    "a form that is a device": Case(
        lambda folder: (folder / "f.json").symlink_to("/dev/zero"), take_in("f.json"), "a folder or a device"
    ),
    "a form that is a device put in by hand": Case(
        lambda folder: (folder / "f.json").symlink_to("/dev/zero"), stage_reads, "a folder or a device"
    ),
    "labels that are a device": Case(
        lambda folder: (folder / "l.csv").symlink_to("/dev/zero"), label_rows, "a folder or a device"
    ),
    "params that are a folder": Case(nothing, load_params, "Is a directory"),
    "a dataset without names": file("state.json", "{}", "state.json", lambda folder: read_documents(folder)),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_hostile_file_is_one_printable_line_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    case = FILES[kind]
    case.write(tmp_path)
    app = typer.Typer(**cli.SETTINGS)
    app.command()(lambda: case.act(tmp_path) and None)
    monkeypatch.setattr(cli, "load_command", lambda _: typer.main.get_command(app))
    with growth_below(case.most):
        assert cli.run(["evaluate"]) == 1
    said = capsys.readouterr().err.rstrip("\n")
    assert said.isprintable() and len(said) < 1500
    assert re.search(case.says, said), said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=HYPERLINK(0)", "'=HYPERLINK(0)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1", "'\t=1"),
        ("a=1", "a=1"),
    ],
)
def test_no_cell_and_no_column_of_a_table_is_a_formula(text: str, shown: str) -> None:
    frame = pd.DataFrame({"system": [text, None], text: [-1.0, 2.0], "judged": [True, False]})
    found = defused(frame)
    assert list(found) == ["system", shown, "judged"]
    assert found["system"].tolist()[0] == shown and found["system"].isna().tolist() == [False, True]
    assert found[shown].tolist() == [-1.0, 2.0] and found["judged"].tolist() == [True, False]


def test_what_turns_the_direction_of_text_is_shown_on_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.reporting.display.PackageLoader", lambda _: DictLoader({"t": "{{ text }}"}))
    turns = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert render("t", style="", text=f"a{turns}b\u2029<\u05d0") == "a" + "\ufffd" * 12 + "b\u2029&lt;\u05d0"
