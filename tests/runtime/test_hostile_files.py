"""A hostile file, name or path is one clear line for each defect, with control characters escaped, in little memory."""

import gzip
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from jinja2 import DictLoader

from flows.commands import agreement, parser, plan
from flows.commands.import_forms import import_files
from flows.commands.store import import_
from flows.evaluation.cards import read_card, stems
from flows.repository.params import load_params
from flows.repository.pipeline import StageFiles
from flows.runtime.folders import defused
from flows.runtime.stage import Stage
from schemas.errors import SourceError
from tasks.exchange.annotated import LabelledSpan, annotated
from tasks.exchange.brat import read_brat
from tasks.exchange.label_studio import read_export
from tasks.judges.human_labels import read_labels
from tasks.llm.json_in_text import json_in
from tasks.llm.requests import request_key, to_bytes
from tasks.network.definition import load_definition
from tasks.people.rating_form import RatingForm
from tasks.reporting.display import render
from tasks.texts.files import require_different
from tasks.texts.reading import output_files, read_documents
from tasks.transport.inspection import EXPORTED
from tasks.transport.store import COLUMNS
from tests.support.cases import each
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
MOST, MOST_OF_REPLIES = 1_000_000_000, 200_000_000
"""Bytes of memory; with the imports, 1.5 GB."""
NETWORK = ROOT / "tasks/domains/respiratory/network.yaml"


def form(**changes: Any) -> str:
    """A returned form of ratings as JSON."""
    return file_of(FORM, **{"notes": rated()} | changes)


def row(**fields: Any) -> str:
    """A document as a line of JSON."""
    return json.dumps({"id": "a", "source": "text", **fields})


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


def read_replies(path: Path) -> None:
    """Import replies into a new store."""
    import_(path, store=str(path.with_name("s.sqlite")))


def read_in_stage(path: Path) -> object:
    """A form that was put into the folder of a stage by hand."""
    stage = Stage(StageFiles("review", {"forms": path.parent}, {}), load_params())
    return FORM.read(stage.returned("forms", FORM.id))


def cells(**fields: Any) -> str:
    """Ten lines of people's scores and a metric."""
    return "".join(json.dumps({"id": str(n), "human": n, "metric": n, **fields}) + "\n" for n in range(10))


def scores(path: Path) -> None:
    agreement.main(path, ["human"])


def take_in(path: Path) -> object:
    return import_files([path])


Reader = Callable[[Path], object]
READERS: dict[str, Reader] = {
    "f.json": lambda path: FORM.read({path.name: path.read_text()}),
    "l.csv": read_labels,
    "params.yaml": load_params,
    "n.yaml": load_definition,
    "export.json": lambda path: read_export(path.read_text()),
    "r.jsonl": read_replies,
    "r.jsonl.gz": read_replies,
}
"""What reads a file of this name; all others are documents."""


@dataclass(frozen=True)
class Case:
    """A file, its content or what makes it, what the line says, and what reads the file."""

    name: str
    content: str | bytes | Callable[[Path], object]
    says: str
    reader: Reader | None = None

    def write(self, folder: Path) -> None:
        if callable(self.content):
            self.content(folder / self.name)
        else:
            data = self.content if isinstance(self.content, bytes) else self.content.encode("utf-8", "surrogatepass")
            (folder / self.name).write_bytes(data)

    def read(self, folder: Path) -> None:
        (self.reader or READERS.get(self.name, read_documents))(folder / self.name)


def reply_of(**fields: Any) -> bytes:
    """A line of the replies of a store, with other fields."""
    kept = paid(1)
    line = {name: getattr(kept, name) for name in COLUMNS if name in EXPORTED} | {"sample": 0, "created": "2026-01-01"}
    line |= {"request": json.loads(kept.request), "reply": json.loads(kept.reply)}
    key = request_key(kept.identity, 0, to_bytes(line["request"])).hex()
    return json.dumps(line | {"key": key} | fields).encode()


def spaces(megabytes: int) -> bytes:
    """As many megabytes of spaces, packed one by one."""
    return gzip.compress(b" " * 1_000_000) * megabytes


def nothing(_: Path) -> None:
    """Make no file."""


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


FILES = {
    # forms
    "a form with a key twice": Case(
        "f.json", form().replace('"rater"', '"rater": "x", "rater"'), "key rater is a duplicate"
    ),
    "a deep form": Case("f.json", DEEP, "nested too deeply"),
    "a form of half characters": Case("f.json", form(signature="\ud800"), "not a file of the"),
    "a form of many values": Case("f.json", "[" + "0," * 5_000_001 + "0]", "more than 5,000,000 values"),
    "a form with a long number": Case(
        "f.json", form().replace('"record": 4', '"record": ' + "5" * 5000), "not a file of the"
    ),
    "a form with unknown fields": Case("f.json", form(**{ESC: 1}), r"\\x1b\]0;owned"),
    "a form of another hash": Case("f.json", form(form=ESC), r"is of form \S+ \\x1b"),
    "a form whose rater is a path": Case(
        "f.json", form(rater=["../../x"], format="x"), "not a returned file of a form", take_in
    ),
    "a form without a format": Case("f.json", "{}", "not a returned file of a form", take_in),
    "a form in UTF-16": Case("f.json", form().encode("utf-16"), "not in UTF-8", take_in),
    "a form of 21 MB": Case("f.json", " " * 21_000_000, "has 21,000,000 bytes", take_in),
    "labels in UTF-16": Case("l.csv", "item,judged,label\n".encode("utf-16"), r"l\.csv: no label, as"),
    # tables
    "JSON with a key twice": Case("d.json", '[{"id": 1, "id": 2}]', "key id is a duplicate"),
    "deep JSON": Case("d.json", DEEP, "nested too deeply"),
    "a deep line": Case("d.jsonl", DEEP, "line 1: not JSON .nested too deeply"),
    "a deep cell": Case("d.csv", f'id,source,claims\na,b,"{"[" * 50_000}"\n', "row 2: claims is '"),
    "a claim of lists": Case("d.jsonl", row(claims=json.loads("[" * 99 + "]" * 99)), r"line 1: claims is \[.*\.\.\.; "),
    "JSON of many values": Case("d.json", "[" + "{}," * 2_600_000 + "{}]", "more than 5,000,000 values"),
    "lines of many values": Case("d.jsonl", "{}\n" * 5_000_001, "more than 5,000,000 values"),
    "CSV of many cells": Case(
        "d.csv", ",".join(map(str, range(9_999))) + "\n" + ("," * 9_998 + "\n") * 501, "more than 5,000,000 values"
    ),
    "CSV of many columns": Case("d.csv", ",".join(f"c{n}" for n in range(300_000)) + "\n1" + "," * 9, "found 10 cells"),
    "CSV with a quote that does not end": Case("d.csv", 'id,source\na,"' + "x" * 1_000_000, "not CSV"),
    "a null character": Case("d.jsonl", row(source="a\x00b"), "holds a null character"),
    "half of a character": Case("d.jsonl", row(source="a\ud800b"), "half of a character"),
    "a long text": Case("d.jsonl", row(source="x" * 1_000_000), "has 1,000,000 characters"),
    "a number without end": Case("d.jsonl", '{"id": ' + "9" * 5000 + "}", "not JSON"),
    "bytes": Case("d.jsonl", bytes(range(256)), "is not UTF-8"),
    "no parquet": Case("d.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1", "not a readable parquet file"),
    "parquet that repeats a text": Case(
        "d.parquet", lambda to: pq.write_table(documents(repeated()), to), "more than 200,000,000 bytes"
    ),
    "parquet that repeats a text in lists": Case(
        "d.parquet",
        lambda to: pq.write_table(documents(pa.ListArray.from_arrays([0, 1000], repeated().cast(pa.string()))), to),
        "bytes",
    ),
    "parquet of nulls": Case(
        "d.parquet", lambda to: pq.write_table(pa.table({"id": pa.nulls(5_000_001)}), to), "more than 5,000,000 values"
    ),
    "parquet of one long page": Case(
        "d.parquet",
        lambda to: pq.write_table(
            documents(pa.array(["x" * 1_000_000] * 201)), to, compression="zstd", use_dictionary=False
        ),
        "unpacks to 201,",
    ),
    "a card that pandas is told to read otherwise": Case(
        "verdicts.parquet",
        lambda to: pq.write_table(documents(pa.array(["x"])).replace_schema_metadata({"pandas": "{}"}), to),
        "not the verdicts of a card",
        lambda path: read_card(path.parent),
    ),
    "no workbook": Case("d.xlsx", b"PK\x03\x04" + bytes(100), "not a readable .xlsx file"),
    "a workbook that unpacks to 200 MB": Case(
        "d.xlsx", lambda to: packed(to, **{"xl/worksheets/sheet1.xml": 201_000_000}), "unpacks to 201,000,000 bytes"
    ),
    "a sheet of the widest rows": Case(
        "d.xlsx",
        lambda to: sheet(to, "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 310))),
        "more than 5,000,000 values",
    ),
    "a sheet of a far row": Case("d.xlsx", lambda to: sheet(to, '<row r="99999999999"/>'), "more than 1,048,576 rows"),
    "a document that unpacks to 21 MB": Case(
        "d.docx", lambda to: packed(to, **{"word/document.xml": 21_000_000}), "unpacks to 21,000,000 bytes"
    ),
    "no document": Case("d.docx", lambda to: packed(to, **{"word/document.xml": b"<"}), "not a readable .docx file"),
    "an export of Label Studio without end": Case("export.json", DEEP, "nested too deeply"),
    "an export whose region begins nowhere": Case(
        "export.json",
        '[{"data": {"name": "n", "text": "cough"}, "annotations": [{"result": [{"type": "labels", "value": '
        '{"start": null, "end": 5, "labels": ["cough"]}}]}]}]',
        "task 0: expected data.name",
    ),
    "people's scores of lists": Case("s.jsonl", cells(system=[1]), "column system holds \\[1\\]", scores),
    "people's scores of half characters": Case("s.jsonl", cells(system="\ud800"), "in each cell", scores),
    "a pilot of lists": Case("s.jsonl", cells(score=[1, 2]), "in each cell", lambda path: plan.main(path, "10")),
    # names
    "an id of control characters": Case("d.jsonl", f"{row(id=ESC)}\n{row(id=ESC)}", r"id \\x1b\]0;owned.* is a dupl"),
    "an id with a line break": Case("d.jsonl", row(id="a\nb: fine"), "holds a line break"),
    "a system of control characters": Case("d.jsonl", row(outputs={ESC: ""}), r"output of \\x1b\]0;owned.* is empty"),
    "a column of control characters": Case("d.csv", f"{ESC[4:]}\x07\nx\n", r"it has owned\\x07\\x1b"),
    "a file of control characters": Case(f"d{ESC.replace('/', '')}.csv", "id\n", r"d\\x1b\]0;owned.*csv"),
    # params and networks
    "a billion laughs": Case("params.yaml", LAUGHS, "with its aliases, it holds more than 5,000,000 values"),
    "an alias of itself": Case("params.yaml", "sample: &a [*a]", "line 1: an alias names what it is part of"),
    "deep YAML": Case("params.yaml", "[" * 5000, "not valid YAML"),
    "a number of 5,000 digits": Case(
        "params.yaml", "seed: " + "9" * 5000, "params.yaml: line 1.*not valid YAML: Exceeds"
    ),
    "params in Latin-1": Case("params.yaml", b"a: \xe9", "params.yaml: byte 0xe9 is not UTF-8"),
    "YAML that makes an object": Case("params.yaml", "sample: !!python/object/apply:os.system [id]", "not valid YAML"),
    "a param of control characters": Case(
        "params.yaml", f"{SETTINGS}\n{json.dumps(ESC)}: 1\n", r"unknown key \\x1b\]0;owned"
    ),
    "a network of laughs": Case("n.yaml", LAUGHS, "with its aliases, it holds more than 5,000,000 values"),
    "a network that names itself": Case("n.yaml", "variables: &a {b: *a}", "an alias names what it is part of"),
    # replies of another store
    "replies that are not UTF-8": Case("r.jsonl", b"\n\xff\xfe", r"r\.jsonl: line 2: byte 0xff is not UTF-8"),
    "replies in one line without end": Case(
        "r.jsonl.gz", spaces(800), r"r\.jsonl\.gz: line 1: longer than 32,000,000 bytes"
    ),
    "replies that are not packed": Case("r.jsonl.gz", b"{}", r"r\.jsonl\.gz: line 1: cannot be unpacked"),
    "replies of which the end is missing": Case(
        "r.jsonl.gz", gzip.compress(reply_of())[:-9], r"r\.jsonl\.gz: line 1: cannot be unpacked"
    ),
    "replies of a device": Case("r.jsonl", device, "a folder or a device"),
    "replies of a pipe": Case("r.jsonl", os.mkfifo, "a folder or a device"),
    "a deep reply": Case("r.jsonl", DEEP.encode(), r"r\.jsonl: line 1: not JSON .nested too deeply"),
    "a file without replies": Case("r.jsonl", b"\n \n", r"r\.jsonl: holds no reply"),
    "a reply of half characters": Case("r.jsonl", reply_of(model="\ud800"), r"r\.jsonl: line 1: not a line of"),
    "a reply with a list as its model": Case("r.jsonl", reply_of(model=["m"]), "line 1: not a line of .*model"),
    "a reply that cost no number": Case("r.jsonl", reply_of(dollars=float("nan")), "line 1: not a line of .*dollars"),
    "a reply of many tokens": Case("r.jsonl", reply_of(prompt_tokens=10**30), "line 1: not a line of .*prompt_tok"),
    # paths
    "a pipe": Case("d.csv", os.mkfifo, "a folder or a device"),
    "a link to itself": Case("d.csv", lambda to: to.symlink_to("d.csv"), r"d\.csv: "),
    "a link to a device": Case("d.csv", device, "a device"),
    "a name of 300 characters": Case("x" * 300 + ".csv", nothing, "File name too long"),
    "a null in a path": Case("\x00.csv", nothing, r"\\x00\.csv: "),
    "a folder below a file": Case("d/e.csv", lambda to: to.parent.touch(), r"d/e\.csv: no such file"),
    "outputs in an empty folder": Case("", nothing, "files in this folder", lambda path: output_files([str(path)])),
    "a form that is a device": Case("f.json", device, "a folder or a device", take_in),
    "a form that is a device put in by hand": Case("f.json", device, "a folder or a device", read_in_stage),
    "verdicts of a pipe": Case("v.jsonl", os.mkfifo, "a folder or a device", lambda path: stems([path])),
    "verdicts that are not there": Case("v.jsonl", nothing, "No such file", lambda path: stems([path])),
    "params that are a folder": Case("params.yaml", Path.mkdir, "a folder or a device"),
    "params that are a device": Case("params.yaml", device, "a folder or a device"),
    "params that are a pipe": Case("params.yaml", os.mkfifo, "a folder or a device"),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_hostile_file_is_one_printable_line_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    case = FILES[kind]
    case.write(tmp_path)
    app = typer.Typer(**parser.SETTINGS)
    app.command()(lambda: case.read(tmp_path))
    monkeypatch.setattr(parser, "load_command", lambda _: typer.main.get_command(app))
    with growth_below(MOST_OF_REPLIES if case.name.startswith("r.jsonl") else MOST):
        assert parser.run(["evaluate"]) == 1
    said = capsys.readouterr().err.rstrip("\n")
    assert said.isprintable() and len(said) < 1500
    assert re.search(case.says, said), said


NAMES = [*map(str, range(50_000)), "49999"]
PLACES = [(start, end) for start in range(300) for end in range(start + 1, 301)]


@each(
    "read",
    [
        lambda: require_different("d.csv", NAMES),
        lambda: annotated("n", "x" * 300, [LabelledSpan(*place, "cough") for place in [*PLACES, PLACES[-1]]]),
        lambda: read_brat({"n.txt": "x", "n.ann": "".join(f"T{name}\tcough 0 1\tx\n" for name in NAMES)}, ["cough"]),
        lambda: json_in("{" + ", ".join(f'"{name}": 1' for name in NAMES) + "}"),
    ],
)
def test_what_is_there_twice_is_found_without_comparing_all_with_all(read: Callable[[], object]) -> None:
    begun = time.process_time()
    with pytest.raises((SourceError, ValueError), match=r"twice|duplicate|each id once"):
        read()
    assert time.process_time() - begun < 10


@each(
    "text, shown",
    [
        ("=HYPERLINK(0)", "'=HYPERLINK(0)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1", "'\t=1"),
        ("a=1", "a=1"),
        ("a\r=1\r\n", "a\n=1\r\n"),  # a lone one is not quoted: the rest of the cell would be a row
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
