"""Reads the rows of a data file: JSON Lines, JSON, CSV, Excel, parquet, texts, a dataset folder, or an Inspect log.

Published layouts keep their columns: ACI-BENCH (``encounter_id``, ``dialogue``, ``note``), MeQSum as released with
DocLens (``example_id``, ``input``, ``reference``), radiology reports (``id``, ``findings``, ``impression``).
"""

import csv
import io
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.errors import MissingSourceError, SourceError, repeated
from tasks.progress import number_of
from tasks.texts.fields import Row, bare
from tasks.texts.inspect_log import inspect_rows, is_inspect_log
from tasks.texts.office import document_text, sheet_rows
from tasks.transport.untrusted import LARGEST, MOST_VALUES, parse_json, read_bytes

Layout = Literal["aci_bench", "meqsum", "radiology", "own"]
PUBLISHED: Mapping[Layout, Mapping[str, str]] = {
    "aci_bench": {"id": "encounter_id", "source": "dialogue", "reference": "note"},
    "meqsum": {"id": "example_id", "source": "input", "reference": "reference"},
    "radiology": {"id": "id", "source": "findings", "reference": "impression"},
}
"""Columns of the published layouts, by field."""

TEXT_KINDS = (".txt", ".md", ".docx")
"""Endings of files that hold one text."""
SEPARATORS = (",", ";", "\t", "|")
"""Of columns: the one that the header has most often outside of quotes."""
_NAMED = 5
"""Most files that an error names."""
ROW = 5
"""Values whose memory a row takes in addition to its own values."""

csv.field_size_limit(2**31 - 1)  # a long text is reported with its row and length, not as an error of the csv module


@dataclass(frozen=True)
class Table:
    """The rows of a file, and the layout that its columns show; ``notes``: what of the files is not read."""

    rows: list[Row]
    layout: Layout
    paths: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> Mapping[str, str]:
        """Column of each field in a published layout; empty for other files."""
        return PUBLISHED.get(self.layout, {})


def read_rows(path: Path, *, split: str | None = None, encoding: str | None = None) -> Table:
    """Read a data file, dataset folder or folder of texts, by the path's ending.

    ``split``: the split of a dataset with several. ``encoding``: of files that are not UTF-8, such as windows-1252;
    where none is given, such a file is refused. Raises MissingSourceError and SourceError.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise MissingSourceError(f"{path}: no such file; check the spelling and the working directory") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); check name and permissions") from error
    if path.is_dir():
        texts = text_files(path)
        return _table(texts or _dataset(path, split), encoding, [] if texts else _unread(path))
    if split is not None:
        raise SourceError(f"{path}: is one file; --split {split} is for dataset folders, leave it out")
    if path.suffix.lower() not in _READERS:
        raise SourceError(
            f"{path}: unknown kind of file {path.suffix or '(no ending)'}; expected {', '.join(_READERS)}, "
            "or a Hugging Face dataset folder"
        )
    return _table([path], encoding, [])


def _table(paths: Sequence[Path], encoding: str | None, notes: list[str]) -> Table:
    rows = [row for path in paths for row in _READERS[path.suffix.lower()](path, encoding, notes)]
    columns = {name for row in rows for name in row.values}
    published = {} if "source" in columns else PUBLISHED
    layout: Layout = next((name for name, fields in published.items() if set(fields.values()) <= columns), "own")
    return Table(rows, layout, tuple(paths), tuple(notes))


def text_files(folder: Path) -> list[Path]:
    """The texts of a folder, hidden files aside; empty for a folder of data files.

    Raises SourceError for texts among other files, none of which is data.
    """
    files = sorted(file for file in folder.iterdir() if not _is_hidden(file))
    others = [file for file in files if file.suffix.lower() not in TEXT_KINDS]
    if not others or len(others) == len(files) or any(one.is_dir() or one.suffix.lower() in _READERS for one in others):
        return [] if others else files
    named = _some([file.name for file in others])
    raise SourceError(
        f"{folder}: {len(files) - len(others)} texts, and files that are not read: {named}; save these as "
        f"{', '.join(TEXT_KINDS)}, or move them out of the folder"
    )


_NO_TEXT = {b"PK\3\4": "Office or zip", b"\xd0\xcf\x11\xe0": "older Office", b"PAR1": "parquet", b"%PDF": "PDF"}
_NO_TEXT |= {b"\x1f\x8b": "gzip", b"(\xb5/\xfd": "zstandard", b"{\\rtf": "rich text (RTF)"}
"""Kinds of files that are no plain text, by their first bytes."""


def _decode(path: Path, encoding: str | None = None) -> str:
    raw = read_bytes(path)
    if kind := next((kind for start, kind in _NO_TEXT.items() if raw.startswith(start)), None):
        raise SourceError(f"{path}: is {kind}; save it as plain text, or give it the ending of its kind")
    try:
        text = raw.decode("utf-16" if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
        if "\0" not in text:
            return text
    except UnicodeDecodeError as error:
        line, byte = raw[: error.start].count(b"\n") + 1, raw[error.start]
        if encoding is None and 4 * raw.count(b"\0") < len(raw):
            shown = raw[max(error.start - 20, 0) : error.start + 20].decode("cp1252", errors="replace")
            raise SourceError(
                f"{path}: line {line}: byte {byte:#04x} is not UTF-8; save the file in UTF-8, or give --encoding "
                f"windows-1252, where the command has it, if it should read {' '.join(shown.split())!r}"
            ) from error
    if encoding is None:
        order = "be" if raw.startswith(b"\0") else "le"
        raise SourceError(
            f"{path}: holds a null character, as UTF-16 has them in Latin letters; save the file in UTF-8, or "
            f"give --encoding utf-16-{order} where the command has it"
        )
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise SourceError(f"{path}: cannot be read as {encoding} ({error}); save the file in UTF-8") from error


def _json_lines(path: Path, encoding: str | None, *_: object) -> list[Row]:
    text, found = _decode(path, encoding), []
    _limit(path, text.count(",") + text.count("{") + text.count("[") + ROW * text.count("\n"))
    for place, line in ((f"{path}: line {number}", line) for number, line in enumerate(text.split("\n"), 1)):
        if not line.strip():
            continue
        try:
            entry = parse_json(line)
        except ValueError as error:
            raise SourceError(f"{place}: not JSON ({error}); expected one object on each line") from error
        if not isinstance(entry, dict):
            raise SourceError(f"{place}: found {type(entry).__name__}; expected an object with id and source")
        found.append(Row(place, entry))
    return found


def _limit(path: Path, values: int) -> None:
    """Raises SourceError where a file has more values than the memory is for."""
    if values > MOST_VALUES:
        raise SourceError(
            f"{path}: holds more than {MOST_VALUES:,} values, a row counted as {ROW} more; divide the file"
        )


def _json(path: Path, encoding: str | None, notes: list[str]) -> list[Row]:
    text = _decode(path, encoding)
    try:
        loaded = parse_json(text)
    except ValueError as error:
        raise SourceError(f"{path}: not JSON ({error}); for JSON Lines use the ending .jsonl") from error
    if is_inspect_log(loaded):
        return inspect_rows(loaded, str(path), notes)
    if not isinstance(loaded, list):
        raise SourceError(f"{path}: found {type(loaded).__name__}; expected a list of objects or an Inspect eval log")
    for number, entry in enumerate(loaded):
        if not isinstance(entry, dict):
            raise SourceError(f"{path}: entry {number}: found {type(entry).__name__}; expected an object")
    return [Row(f"{path}: entry {number}", entry) for number, entry in enumerate(loaded)]


def _csv(path: Path, encoding: str | None, notes: list[str]) -> list[Row]:
    """The rows of separated values, as R and Excel write them too: ``sep=;`` ahead, NA for missing cells.

    Such words are named in ``notes``: a reference may be one. Rows are numbered as in a spreadsheet: the header is 1.
    """
    text = _decode(path, encoding)
    said = _SAID.match(text)
    text = text[said.end() :] if said else text
    header = _HEADER.match(text)[0]  # type: ignore[index]
    separator = said["separator"] if said else max(SEPARATORS, key=re.sub('"[^"]*"', "", header).count)
    if re.search(_MISSING, text):
        ends = re.escape(separator) + "\r\n"
        bare, cell = rf"(?<![^{ends}])(?:{_MISSING})(?![^{ends}])", rf'(?<![^{ends}]) *+"(?:[^"]|"")*+"'
        if words := [found[1] for found in re.finditer(rf"{cell}|({bare})", text) if found[1]]:
            text = re.sub(rf"{cell}|({bare})", lambda found: "" if found[1] else found[0], text)
            held = f"{number_of(len(words), 'cell')} ({', '.join(sorted(set(words)))})"
            notes.append(f"{path}: {held} read as missing; put what is a text in quotes")
    blanks = re.search(rf'{re.escape(separator)} +"', header) is not None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=blanks)
    found, number = list[tuple[str, list[str | None]]](), 0
    try:
        for number, cells in enumerate(reader, 1):
            if cells:
                found.append((f"{path}: row {number}", [_TYPED.sub(r"\1", cell) or None for cell in cells]))
                _limit(path, len(found) * (ROW + len(found[0][1])))
    except csv.Error as error:
        raise SourceError(f"{path}: row {number + 1}: not CSV ({error}); is a quote not doubled?") from error
    return _below_header(path, found)


_SAID = re.compile(r"sep=(?P<separator>[,;|\t])[ \t]*\r?\n", re.IGNORECASE)
"""The line by which Excel is told the separator."""
_ERROR = r"#(?:[¡¿]?[^\W\da-zà-ÿ]+(?:/[^\W\da-zà-ÿ]+|/0)?[!?]|N/?[ADV]|Н/Д|GETTING_DATA|##+)|Err:5\d\d"
_MISSING = rf"NA|N/A|n/a|NULL|null|None|[Nn]a[Nn]|NaT|<NA>|\\N|{_ERROR}"
"""Cells without a value as R, databases and Python write them, and errors of a spreadsheet in any language."""
_TYPED = re.compile(r'="([^"]*)"')
"""A cell that Excel is to read as a text: ``="001"``."""
_HEADER = re.compile(r'(?:"[^"]*+"|[^"\n])*+')
"""The header, whose quoted names may hold line breaks."""


def _below_header(path: Path, found: Sequence[tuple[str, Sequence[Any]]]) -> list[Row]:
    """The rows below the first, by its names; ``found``: place and cells of each row.

    Empty rows are left out. A column without a name that holds a value is called by its number; one that holds none, at
    the end of the rows as between them, is left out. Raises SourceError for a name that two columns have, a title where
    names are expected, and a row that lacks cells of CSV.
    """
    found = [one for one in found if not all(map(_is_blank, one[1]))]
    if not found:
        return []
    header = [" ".join(bare(str(name)).split()) if name is not None else "" for name in found[0][1]]
    width, is_sheet = len(header), path.suffix.lower() == ".xlsx"
    named = max((at for at, name in enumerate(header, 1) if name), default=0)
    held = {at for _, cells in found[1:] for at, value in enumerate(cells) if not _is_blank(value)}
    for place, cells in found[1:]:
        more = any(not _is_blank(value) for value in cells[width:])
        if not is_sheet and (more or len(cells) < named):
            asked = f"is a comma or quote not quoted, or has {found[0][0].rpartition(': ')[2]} not the columns' names?"
            raise SourceError(f"{place}: found {len(cells)} cells, expected {named}; {asked}")
    names = [name for name in header if name]
    if 2 * len(names) < len(held):
        below = "; ".join(str(cell)[:20] for cell in found[1][1] if not _is_blank(cell))[:80]
        raise SourceError(
            f"{found[0][0]}: only {', '.join(map(repr, names))} is filled, as in a title; expected the names of the "
            f"columns there, as {below!r} may be; delete the rows above them"
        )
    last = max({width - 1, *held})
    columns = {at: header[at] if at < width else "" for at in range(last + 1)}
    columns = {at: name or f"column {at + 1}" for at, name in columns.items() if name or at in held}
    require_different(path, list(columns.values()))
    return [
        Row(place, {name: cells[at] if at < len(cells) else None for at, name in columns.items()})
        for place, cells in found[1:]
    ]


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def require_different(path: Path | str, names: Sequence[str]) -> None:
    """Raises SourceError for a name that two columns have."""
    if (twice := repeated(names)) is not None:
        raise SourceError(f"{path}: column {twice} is a duplicate; rename one")


def _excel(path: Path, _: str | None, notes: list[str]) -> list[Row]:
    """The rows of the first sheet; the numbers of rows are those that Excel shows."""
    filled, cells = [], 0
    for number, row in sheet_rows(path, notes):
        cells += len(row)
        _limit(path, cells)
        filled.append((f"{path}: row {number}", row))
    return _below_header(path, filled)


def _text(path: Path, encoding: str | None, notes: list[str]) -> list[Row]:
    """One row: the file's text, with its stem as id."""
    text = document_text(path, notes) if path.suffix.lower() == ".docx" else _decode(path, encoding)
    return [Row(str(path), {"id": path.stem, "text": text})]


def _parquet(path: Path, _: str | None, *__: object) -> list[Row]:
    try:
        table = bounded_table(path)
        require_different(path, table.column_names)
        rows = table.to_pylist(maps_as_pydicts="strict")
        return [Row(f"{path}: row {number}", values) for number, values in enumerate(rows, 1)]
    except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
        raise SourceError(f"{path}: not a readable parquet file ({' '.join(str(error).split())[:120]})") from error


def bounded_table(path: Path) -> pa.Table:
    """The table of a parquet file. Raises SourceError before more than `LARGEST` bytes of texts are unpacked.

    A column may repeat one long text in a few bytes: texts are read as dictionaries, and their length is counted first.
    """
    with pq.ParquetFile(io.BytesIO(read_bytes(path))) as file:
        held, columns = file.metadata, [file.schema.column(at) for at in range(file.metadata.num_columns)]
        unpacked = sum(held.row_group(at).total_byte_size for at in range(held.num_row_groups))
        _limit(path, held.num_rows * (ROW + len(columns)))
    if unpacked > LARGEST:
        raise SourceError(f"{path}: unpacks to {unpacked:,} bytes; expected at most {LARGEST:,}; divide the file")
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        batches, size, rows = list[pa.RecordBatch](), 0, 0
        for batch in file.iter_batches(batch_size=256):
            size, rows = size + sum(map(_bytes, batch.columns)), rows + batch.num_rows
            if size > LARGEST:
                raise SourceError(f"{path}: holds more than {LARGEST:,} bytes of texts; divide the file")
            _limit(path, rows * (ROW + batch.num_columns))
            batches.append(batch)
        return pa.Table.from_batches(batches, file.schema_arrow) if batches else file.read()


def _bytes(column: pa.Array) -> int:
    """Bytes of a column's values when each is written out."""
    if pa.types.is_dictionary(column.type):
        if pa.types.is_primitive(column.dictionary.type):
            return int(column.nbytes)
        return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    if isinstance(column, pa.MapArray):
        return _bytes(column.keys) + _bytes(column.items)
    if pa.types.is_struct(column.type):
        return sum(map(_bytes, column.flatten()))
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return _bytes(column.flatten())
    return int(column.nbytes)


_ABOUT = re.compile(r"(?i)read.?me|licen[cs]e|dataset_info|requirements|.*\.md$")
"""Files of a dataset folder that are about the data."""
_READERS: dict[str, Callable[[Path, str | None, list[str]], list[Row]]] = {
    ".jsonl": _json_lines,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".xlsx": _excel,
    **dict.fromkeys(TEXT_KINDS, _text),
}


def _dataset(folder: Path, split: str | None) -> list[Path]:
    """Data files of a Hugging Face dataset folder in the layout of the hub."""
    if any((folder / name).exists() for name in ("dataset_dict.json", "state.json")):
        raise SourceError(f"{folder}: a dataset of save_to_disk; write each split with Dataset.to_parquet instead")
    files = _of_split(folder, [file for file in _data_files(folder) if file.suffix.lower() in _READERS], split)
    if not files:
        raise SourceError(f"{folder}: no data file{f' of split {split}' if split else ''}; expected a dataset folder")
    return files


def _data_files(folder: Path) -> list[Path]:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not _ABOUT.match(file.name)]
    return [file for file in files if not any(map(_is_hidden, map(Path, file.relative_to(folder).parts)))]


def _is_hidden(file: Path) -> bool:
    """Whether a name is that of a file of the system or of an open program."""
    return file.name.startswith((".", "~$", "__MACOSX"))


def _unread(folder: Path) -> list[str]:
    """A line on the files of a dataset folder that no reader is for, such as compressed shards."""
    files = [str(one.relative_to(folder)) for one in _data_files(folder) if one.suffix.lower() not in _READERS]
    return [f"{folder}: not read: {_some(files)}"] if files else []


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _of_split(folder: Path, files: Sequence[Path], split: str | None) -> list[Path]:
    """The files of one split: of one beginning of the file names in one folder. Raises SourceError for several.

    A folder's name, as in ``default/train/0000.parquet``, names its files; leading folders that all share are left out.
    """
    names = [(*file.relative_to(folder).parts[:-1], file.name.split("-")[0].split(".")[0]) for file in files]
    names = [name[:-1] if name[-1].isdigit() and len(name) > 1 else name for name in names]
    shared = 0
    while names and min(map(len, names)) > shared + 1 and len({name[: shared + 1] for name in names}) == 1:
        shared += 1
    labels = ["/".join(name[shared:]) for name in names]
    found, below = sorted(set(labels)), list[str]()
    if split is not None:
        below = [name for name in found if name == split or name.startswith(f"{split}/")]
        found = below or [name for name in found if name.endswith(f"/{split}")]
    if len(found) > 1 and not below:
        raise SourceError(f"{folder}: holds several splits or files ({', '.join(found)}); choose one with --split")
    return [file for file, label in zip(files, labels, strict=True) if label in found]
