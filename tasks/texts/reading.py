"""Reads documents: one data file, and further files of outputs and of claims of the references."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schemas.errors import MissingSourceError, SourceError, did_you_mean
from tasks.text.soap import PARTS, split_soap
from tasks.texts.document import Document, Sectioning, system_names
from tasks.texts.fields import (
    ALIASES,
    FIELDS,
    Defects,
    Row,
    by_document,
    check_output,
    column_names,
    documents_from,
    guessed,
    id_text,
    is_absent,
    named_systems,
    normal,
    renamed,
    unknown_columns,
)
from tasks.texts.files import TEXT_KINDS, Layout, Table, read_rows, text_files

IDS = ("id", *ALIASES["id"])
TEXTS = ("output", *ALIASES["output"], "text", "note")
"""Columns of an outputs file, the first that it has counts."""
_NAMED = 5
"""Most ids that an error names."""
KINDS = (".csv", ".json", ".jsonl", ".parquet", ".tsv", ".xlsx")
"""Endings of outputs files in a folder."""


@dataclass(frozen=True)
class DataSet:
    """The documents of an evaluation, the layout of their file, and all files that were read.

    ``notes``: what was assumed when reading, to be shown to the user. ``columns``: names of the data file's.
    """

    documents: list[Document]
    layout: Layout
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    columns: str = ""

    @property
    def sectioning(self) -> Sectioning:
        """The sectioning that fits the data: that of ACI-BENCH for its layout, the documents' own, or none."""
        if self.layout == "aci_bench":
            return "soap"
        return "given" if any(document.sections for document in self.documents) else "whole"


def read_documents(
    data: Path,
    outputs: Mapping[str, Path] | None = None,
    mapping: Mapping[str, str] | None = None,
    *,
    claims: Path | None = None,
    split: str | None = None,
    encoding: str | None = None,
    allow_empty: bool = False,
) -> DataSet:
    """Documents of ``data`` with the outputs of further systems (``outputs``: file by name of the system).

    ``mapping``: column by field. ``claims``: file of the references' claims, see `add_claims`. ``encoding``: of files
    that are not UTF-8. Raises SourceError with one line for each defect.
    """
    table = read_rows(data, split=split, encoding=encoding)
    documents, notes = documents_in(table, str(data), mapping or {}, allow_empty=allow_empty)
    files = list(table.paths)
    for system, path in (outputs or {}).items():
        found = read_rows(path, encoding=encoding)
        files += found.paths
        notes += found.notes
        documents = _add(documents, system, found, path, allow_empty)
    if claims is not None:
        found = read_rows(claims, encoding=encoding)
        files += found.paths
        notes += found.notes
        documents = add_claims(documents, found.rows, str(claims))
    return DataSet(documents, table.layout, tuple(files), notes, column_names(table.rows))


def read_table(data: Path) -> tuple[Table, list[Document]]:
    """The rows of a data file, and the documents that they hold. Raises SourceError with one line for each defect."""
    table = read_rows(data)
    return table, documents_in(table, str(data), {})[0]


def documents_in(
    table: Table, data: str, mapping: Mapping[str, str], *, allow_empty: bool = False
) -> tuple[list[Document], tuple[str, ...]]:
    """The documents of a table, and lines on what is not read, and on columns and ids that were guessed or lack."""
    given = {**table.columns, **mapping}
    columns = guessed(table.rows, given)
    rows = by_document(renamed(table.rows, {**columns, **given}, data), data)
    has_ids, has_sources = (any(name in row.values for row in rows) for name in ("id", "source"))
    said = list(table.notes)
    if columns:
        named = ", ".join(f"{field}={column}" for field, column in columns.items())
        said.append(f"{data}: columns read as {named}; others with --map FIELD=COLUMN")
    meant = {name: did_you_mean(name, FIELDS).removeprefix("; ") for name in unknown_columns(rows)}
    if meant:
        unread = ", ".join(name + (f" ({hint})" if hint else "") for name, hint in meant.items())
        said.append(f"{data}: not read: {unread}; outputs of a system with --map output:NAME=COLUMN")
    if has_sources and not has_ids:
        rows = [replace(row, values={"id": number, **row.values}) for number, row in enumerate(rows, 1)]
        said.append(f"{data}: no column id; documents are numbered in the order of the file")
    required = ("id", "source") if has_ids else ("source",)  # what is numbered needs no ids
    documents = documents_from(rows, data, allow_empty=allow_empty, required=required)
    systems = dict.fromkeys(system for row in rows for system in named_systems(row))
    if without := [name for name in systems if name not in system_names(documents)]:
        said.append(f"{data}: no output of {', '.join(without)} in any row, so that it is left out")
    lacking = [document.id for document in documents if not document.reference]
    if 0 < len(lacking) < len(documents):
        more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        said.append(f"{data}: no reference of {lacking[0]}{more}; measures that need one leave such documents out")
    return documents, tuple(said)


def add_claims(documents: Sequence[Document], rows: Sequence[Row], file: str) -> list[Document]:
    """The documents with claims of their references: rows with id and claims, or DocLens's release for ACI-BENCH.

    Raises SourceError for an unknown or duplicate id.
    """
    if rows and "reference_subjective" in rows[0].values:
        aligned = _aligned_subclaims([row.values for row in rows], documents, file)
    else:
        known = {document.id for document in documents}
        given = documents_from(
            [replace(row, values={"source": "-", **row.values}) for row in rows], file, required=("id", "claims")
        )
        if unknown := sorted({one.id for one in given} - known):
            raise SourceError(f"{file}: id {unknown[0]} is not in the data file")
        aligned = {one.id: one.claims for one in given if one.claims is not None}
    return [replace(one, claims=aligned[one.id]) if one.id in aligned else one for one in documents]


def _aligned_subclaims(
    entries: Sequence[Mapping[str, Any]], documents: Sequence[Document], file: str
) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Claims by document and part of the note.

    In DocLens's released file, the section references and subclaims of an entry belong to a different encounter than
    its id; they are aligned by the text of the subjective part. Raises SourceError for two entries of one encounter.
    """
    by_text = {" ".join(split_soap(one.reference or "").get("subjective", "").split()): one.id for one in documents}
    found: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for entry in entries:
        name = by_text.get(" ".join(entry["reference_subjective"].split()))
        if name in found:
            raise SourceError(f"{file}: entry {entry['example_id']}: its reference fits {name} a second time")
        if name is not None:
            found[name] = {part: tuple(entry[f"subclaims_reference_{part}"]) for part in PARTS}
    return found


def outputs_by_id(path: Path) -> dict[str, str]:
    """Outputs of one system by document id, from a file with an id and a text in each row."""
    pairs = (_pair(row, path.stem) for row in read_rows(path).rows)
    return {name: "" if is_absent(text) else str(text) for name, text in pairs}


def output_files(given: Sequence[str]) -> dict[str, Path]:
    """Files of outputs by system: ``NAME=FILE``, a file (its stem is the name), or a folder of such files.

    Raises SourceError for a missing file and for a name that is given twice.
    """
    found: dict[str, Path] = {}
    for entry in given:
        name, equals, rest = entry.partition("=")
        path = Path(rest if equals else entry)
        if not path.exists():
            raise MissingSourceError(
                f"{path}: no such file (--outputs {entry}); expected NAME=FILE, a file or a folder"
            )
        files = [path]  # a folder of texts is one system's outputs
        if path.is_dir() and not text_files(path):
            files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
            others = [file.name for file in files if file.suffix.lower() not in (*KINDS, ".md")]
            if others or not files:
                held = f"holds {', '.join(others[:_NAMED])}, which is not read" if others else "is empty"
                raise SourceError(f"{path}: {held}; expected {', '.join(KINDS)} files in this folder (--outputs)")
            files = [file for file in files if file.suffix.lower() in KINDS]
        for file in files:
            system = name if equals and file == path else file.stem
            if system in found:
                raise SourceError(f"{file}: system {system} is a duplicate of {found[system]}; name one NAME=FILE")
            found[system] = file
    return found


def _add(documents: Sequence[Document], system: str, table: Table, path: Path, allow_empty: bool) -> list[Document]:
    if system in system_names(documents):
        raise SourceError(f"{path}: system {system} already has outputs in the data file; give it another name")
    defects, known, texts = Defects(), {document.id for document in documents}, dict[str, str | None]()
    for row in table.rows:
        name, text = _pair(row, system)
        if len(documents) == 1 and path.suffix.lower() in TEXT_KINDS:
            name = documents[0].id  # one text for the one document, whatever the file is called
        if name not in known:
            defects.add(row.place, f"id {name} is not in the data file{_ids(name, known)}; rename it, or leave it out")
        elif name in texts:
            defects.add(row.place, f"id {name} is a duplicate; expected each id once")
        elif is_absent(text):
            texts[name] = None  # missing, as in the data file
        else:
            check_output(row, system, text, defects, allow_empty=allow_empty)
            texts[name] = str(text)
    defects.refuse()
    given = {name: text for name, text in texts.items() if text is not None}
    if not given:
        raise SourceError(f"{path}: no output of {system}; expected a text for at least one document, or leave it out")
    return [replace(d, outputs={**d.outputs, system: given[d.id]}) if d.id in given else d for d in documents]


def _ids(name: str, known: Collection[str]) -> str:
    """The id that an unknown one may be, or the first ones that are known."""
    first = ", ".join(sorted(known)[:_NAMED]) + (", ..." if len(known) > _NAMED else "")
    return did_you_mean(name, known) or f", which has {first}"


def _pair(row: Row, system: str) -> tuple[str, object]:
    """Id and output of a row of an outputs file."""
    if isinstance(outputs := row.values.get("outputs"), dict):  # an eval log
        if len(outputs) > 1:
            raise SourceError(f"{row.place}: has several outputs ({', '.join(outputs)}); expected a log of one epoch")
        return str(id_text(row.values["id"])), next(iter(outputs.values()), None)
    columns = {normal(column): column for column in row.values} | {column: column for column in row.values}
    name = next((columns[column] for column in IDS if column in columns), None)
    text = next((columns[column] for column in (f"output:{system}", *TEXTS) if column in columns), None)
    if name is None or text is None:
        raise SourceError(
            f"{row.place}: expected a column {', '.join(IDS)} and a column {', '.join(TEXTS)}; "
            f"found {', '.join(map(str, row.values))}"
        )
    return str(id_text(row.values[name])), row.values[text]
