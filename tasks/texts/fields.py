"""Checks rows of a data file and makes documents of them. Every defect is one line that names file, row and field."""

import math
import re
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import normalize

from schemas.errors import SourceError, did_you_mean
from tasks.texts.document import SOURCE, WHOLE, Document
from tasks.transport.untrusted import parse_json

FIELDS = ("id", "source", "reference", "heading", "sections", "claims", "questions", "system", "output", "outputs")
SYSTEM = "output:"
"""Prefix of a column with the output of one system: ``output:gpt-4``."""
LONGEST = 200_000
"""Most characters of one text; longer ones are a mistake in the file, and exceed the context of most models."""
_QUESTION = {"question", "answer"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_AS_FRACTION = re.compile(r"(\d+)\.0")
_UNSEEN = re.compile(r"^[\s\ufeff\u200b\u2060]+|[\s\ufeff\u200b\u2060]+$")


SHOWN = 20
"""Most defects that are listed."""


@dataclass(frozen=True)
class Row:
    """One row of a data file, and its place for messages (``data.jsonl: line 3``).

    ``columns``: the file's column of each field that has another name there.
    """

    place: str
    values: Mapping[str, Any]
    columns: Mapping[str, str] | None = None

    def named(self, field: str) -> str:
        """A field by its name in the file, for messages."""
        return (self.columns or {}).get(field, field)


class Defects:
    """Collects defects, to report them together."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, place: str, message: str) -> None:
        """Add one defect."""
        self._lines.append(f"{place}: {message}")

    def of(self, row: Row, field: str, message: str) -> None:
        """Add one defect of a field of a row."""
        self.add(row.place, f"{row.named(field)} {message}")

    def __len__(self) -> int:
        return len(self._lines)

    def refuse(self) -> None:
        """Raises SourceError with a line for each defect, if there are any."""
        if self._lines:
            more = len(self._lines) - SHOWN
            rest = [f"... and {more} more"] if more > 0 else []
            raise SourceError("\n".join([*self._lines[:SHOWN], *rest]))


ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": (
        *("document", "document_id", "doc_id", "encounter_id", "example_id", "note_id", "visit_id", "case_id", "uid"),
        *("record_id", "sample_id", "item_id", "dialogue_id", "report_id"),
    ),
    "source": ("transcript", "dialogue", "dialog", "conversation", "text", "input", "article", "document_text"),
    "reference": ("gold", "gold_summary", "reference_summary", "reference_note", "target", "ground_truth"),
    "heading": ("section_header", "section_heading"),
    "system": ("model", "model_name", "system_name"),
    "output": ("prediction", "summary", "generated", "hypothesis"),
}
"""Other names that columns of a field often have."""
PREFIXES = ("output_", "summary_", "prediction_", "generated_")
"""Beginnings of columns with the outputs of a system, whose name follows."""


def guessed(rows: Sequence[Row], given: Mapping[str, str]) -> dict[str, str]:
    """Column by field, for fields that neither the rows nor ``given`` have, where just one column has a usual name.

    Case, spaces, hyphens and underscores make no difference: ``Note ID`` is ``note_id``.
    """
    columns = {normal(name): str(name) for row in rows for name in row.values}
    known = {*given, *(str(name).partition(":")[0] for row in rows for name in row.values)}
    free = {low: name for low, name in columns.items() if name not in FIELDS and name not in given.values()}
    found = {}
    for field in FIELDS:
        names = (field,) if field in free else ALIASES.get(field, ())
        fitting = [free[name] for name in names if name in free]
        if field not in known and len(fitting) == 1:
            found[field] = fitting[0]
    if not {"output", "outputs"} & {*known, *found}:
        for low, name in free.items():
            start = next((start for start in PREFIXES if low.startswith(start) and low != start), "")
            if start:
                found[f"{SYSTEM}{name[len(start) :]}"] = name
    if "output" not in {*known, *found}:
        found.pop("system", None)  # what one row says of a system is read with its output alone
    return found


def normal(name: object) -> str:
    """The name of a column in lower case, with an underscore for each space and hyphen."""
    return re.sub(r"[\s_-]+", "_", str(name).strip().lower())


def renamed(rows: Sequence[Row], mapping: Mapping[str, str], file: str) -> list[Row]:
    """Rows with the columns of ``mapping`` (field -> column) under the names of the fields.

    Raises SourceError for an unknown field and for a column that no row has.
    """
    for name, column in mapping.items():
        if name not in FIELDS and not (name.startswith(SYSTEM) and len(name) > len(SYSTEM)):
            known = f"expected {', '.join(FIELDS)}, output:NAME{did_you_mean(name, FIELDS)}"
            raise SourceError(f"--map {name}={column}: unknown field {name}; {known}")
        if rows and not any(column in row.values for row in rows):
            had = f"{column_names(rows)}{did_you_mean(column, rows[0].values)}"
            raise SourceError(f"{file}: no column {column} (--map {name}={column}); it has {had}")
    taken = dict[str, str]()
    for name, column in mapping.items():
        if (first := taken.setdefault(column, name)) != name:
            raise SourceError(f"--map: column {column} is mapped to {first} and {name}; expected one field")
    hidden = set(mapping) - set(taken)  # a column that has the name of a mapped field is not that field
    return [
        Row(row.place, {taken.get(key, key): value for key, value in row.values.items() if key not in hidden}, mapping)
        for row in rows
    ]


def by_document(rows: Sequence[Row], file: str) -> list[Row]:
    """One row a document, of `renamed` rows that have the output of one system each: columns id, system, output.

    Other rows are as before. A field of the document needs to be in one of its rows only. Raises SourceError without
    ids, for a row without a system, and for two rows of a document that differ in a field or in the output of a system.
    """
    if not all(any(name in row.values for row in rows) for name in ("system", "output")):
        return list(rows)
    if not any("id" in row.values for row in rows):
        raise SourceError(f"{file}: column id is missing; a line for each document and system needs it")
    defects, found = Defects(), dict[str, Row]()
    for place, given in enumerate(rows):
        row = _of_system(_without_absent(given), defects)
        key = f"id {id_text(row.values['id'])}" if "id" in row.values else f"{place}"
        found[key] = _joined(found[key], row, defects) if key in found else row
    defects.refuse()
    return list(found.values())


def _of_system(row: Row, defects: Defects) -> Row:
    """The row with its output under the name of its system."""
    values = dict(row.values)
    system, output = values.pop("system", None), values.pop("output", None)
    if not isinstance(system, str):
        expected = "expected the name of the system whose output the row has (column system, or model)"
        defects.of(row, "system", f"is {_shown(system)}; {expected}")
        return replace(row, values=values)
    return replace(row, values={f"{SYSTEM}{system.strip()}": output, **values})


def _joined(first: Row, row: Row, defects: Defects) -> Row:
    """Two rows of one document as one: what both have must be the same."""
    merged = dict(first.values)
    for column, value in row.values.items():
        is_read = column.startswith(SYSTEM) or (column in FIELDS and column != "id")
        if merged.setdefault(column, value) != value and is_read:
            defects.of(row, column, f"differs from that of {first.place}, a row of the same document")
    return replace(first, values=merged)


def unknown_columns(rows: Sequence[Row]) -> list[str]:
    """Columns of `renamed` rows that are no field."""
    columns = dict.fromkeys(str(name) for row in rows for name in row.values)
    read = [name for name in FIELDS if name != "system" or "output" in columns]
    return [name for name in columns if name not in read and not name.startswith(SYSTEM)]


def documents_from(
    rows: Sequence[Row], file: str, *, allow_empty: bool = False, required: Sequence[str] = ("id", "source")
) -> list[Document]:
    """Documents of the rows of a file with columns ``required``. Raises SourceError with one line for each defect."""
    if not rows:
        raise SourceError(f"{file}: no document; expected at least one row with id and source")
    if missing := [name for name in required if not any(name in row.values for row in rows)]:
        named = " ".join(f"--map {name}=COLUMN" for name in missing)
        some = f"columns {' and '.join(missing)} are" if missing[1:] else f"column {missing[0]} is"
        raise SourceError(f"{file}: {some} missing; it has {column_names(rows)}; name the column with {named}")
    defects, found, seen = Defects(), [], dict[str, str]()
    for row in rows:
        document = _document(row, defects, allow_empty)
        if document is None:
            continue
        if document.id in seen:
            defects.of(row, "id", f"{document.id} is a duplicate of {seen[document.id]}; expected each id once")
        seen.setdefault(document.id, row.place)
        found.append(document)
    defects.refuse()
    return found


def _document(row: Row, defects: Defects, allow_empty: bool) -> Document | None:
    row, before = _without_absent(row), len(defects)
    name = id_text(row.values.get("id"))
    if not isinstance(name, str) or not name:
        defects.of(row, "id", f"is {_shown(name)}; expected a text or a whole number")
    elif "\n" in name or _SURROGATE.search(name):
        defects.of(row, "id", f"{_shown(name)} holds a line break or half of a character; replace it")
    source = _source(row, defects)
    reference, heading = (_text(row, field, defects) for field in ("reference", "heading"))
    sections = _sections(row, defects)
    claims = _claims(row, sections, defects)
    outputs = _outputs(row, defects, allow_empty)
    questions = _questions(row, defects)
    if len(defects) > before:
        return None
    return Document(str(name), source, reference, sections, claims, outputs, questions, heading=heading)


def is_absent(value: object) -> bool:
    """Whether a cell is empty: null, or the nan of a column of numbers."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _without_absent(row: Row) -> Row:
    return replace(row, values={name: value for name, value in row.values.items() if not is_absent(value)})


def id_text(given: object) -> object:
    """An id as a text without blanks around it; a whole number that a program keeps as 7.0 is ``7``.

    Accents are composed, as file names have them apart on some systems.
    """
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    is_id = isinstance(given, str | int) and not isinstance(given, bool)
    if not is_id:
        return given
    name = bare(normalize("NFC", str(given)))
    return whole[1] if (whole := _AS_FRACTION.fullmatch(name)) else name


def bare(text: str) -> str:
    """The text without blanks around it and characters that are not seen, such as a byte order mark."""
    return _UNSEEN.sub("", text)


def _source(row: Row, defects: Defects) -> tuple[str, ...]:
    given = row.values.get("source")
    given = listed if _are_texts(listed := _decoded(given)) else given
    listed = given if isinstance(given, list) else [given]
    if not listed or not all(isinstance(text, str) and text.strip() for text in listed):
        defects.of(row, "source", f"is {_shown(given)}; expected a text, or a list of texts, none of them empty")
        return ()
    texts = tuple(str(text) for text in listed)
    for text in texts:
        _check_length(row, "source", text, defects)
    return texts


def _text(row: Row, name: str, defects: Defects) -> str | None:
    given = row.values.get(name)
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip():
        defects.of(row, name, f"is {_shown(given)}; expected a text that is not empty, or no value")
        return None
    _check_length(row, name, given, defects)
    return given


def _check_length(row: Row, name: str, text: str, defects: Defects) -> None:
    name = row.named(name)
    if len(text) > LONGEST:
        defects.add(
            row.place, f"{name} has {len(text):,} characters; expected at most {LONGEST:,}; divide the document"
        )
    elif "\x00" in text:
        defects.add(row.place, f"{name} holds a null character; is the file damaged?")
    elif _SURROGATE.search(text):
        defects.add(row.place, f"{name} holds half of a character (a lone surrogate); is the file damaged?")


def _sections(row: Row, defects: Defects) -> tuple[str, ...] | None:
    given = _decoded(row.values.get("sections"))
    if given is None:
        return None
    if not _are_texts(given) or not given or len(set(given)) < len(given):
        defects.of(row, "sections", f"is {_shown(given)}; expected a list of different headings")
        return None
    return tuple(heading.strip() for heading in given)


def _claims(row: Row, sections: tuple[str, ...] | None, defects: Defects) -> dict[str, tuple[str, ...]] | None:
    given = _decoded(row.values.get("claims"))
    if given is None:
        return None
    by_section = {WHOLE: given} if isinstance(given, list) else given
    if not isinstance(by_section, dict) or not all(_are_texts(claims) for claims in by_section.values()):
        defects.of(row, "claims", f"is {_shown(given)}; expected a list of texts, or such a list for each section")
        return None
    unknown = sorted(set(by_section) - {*(sections or by_section), WHOLE})
    if unknown:
        defects.add(row.place, f"claims name section {unknown[0]}; sections are {', '.join(sections or ())}")
    return {name: tuple(claims) for name, claims in by_section.items()}


def named_systems(row: Row) -> list[str]:
    """Systems with a column or a place in ``outputs``, whether or not they have an output in this row."""
    given = _decoded(row.values.get("outputs"))
    columns = [name.removeprefix(SYSTEM) for name in row.values if name.startswith(SYSTEM)]
    return [*map(str, given if isinstance(given, dict) else ()), *columns]


def _outputs(row: Row, defects: Defects, allow_empty: bool) -> dict[str, str]:
    given = _decoded(row.values.get("outputs"))
    if given is not None and not isinstance(given, dict):
        defects.of(row, "outputs", f"is {_shown(given)}; expected an object of texts by system, or use output")
        given = None
    found: dict[str, Any] = {str(system): text for system, text in (given or {}).items() if not is_absent(text)}
    columns = {name.removeprefix(SYSTEM): text for name, text in row.values.items() if name.startswith(SYSTEM)}
    if "output" in row.values:
        columns = {"output": row.values["output"], **columns}
    for system in found.keys() & columns.keys():
        defects.of(row, "outputs", f"has {system}, which has a column too; expected the output once")
    found |= columns
    for system, text in found.items():
        check_output(row, system, text, defects, allow_empty=allow_empty)
    return found


def _questions(row: Row, defects: Defects) -> tuple[tuple[str, str], ...] | None:
    given = _decoded(row.values.get("questions"))
    if given is None:
        return None
    asked = given if isinstance(given, list) else []
    if not asked or not all(isinstance(one, dict) and set(one) == _QUESTION for one in asked):
        expected = 'expected a list of objects {"question": text, "answer": text}'
        defects.of(row, "questions", f"is {_shown(given)}; {expected}")
        return None
    pairs = [(one["question"], one["answer"]) for one in asked]
    if not _are_texts([text for pair in pairs for text in pair]) or len(dict(pairs)) < len(pairs):
        defects.add(row.place, "questions: expected different questions, each with an answer, none of them empty")
        return None
    return tuple(pairs)


def check_output(row: Row, system: str, text: object, defects: Defects, *, allow_empty: bool) -> None:
    """Add a defect if ``text`` is not the output of a system."""
    if system == SOURCE:
        defects.add(
            row.place, f"system {SOURCE}: this name stands for the source, from which questions are answered, too"
        )
    elif not system.strip() or "\n" in system or _SURROGATE.search(system):
        defects.add(row.place, f"system {_shown(system)}: expected a name without line break")
    elif not isinstance(text, str):
        defects.add(row.place, f"output of {system} is {_shown(text)}; expected a text")
    elif not text.strip() and not allow_empty:
        defects.add(
            row.place,
            f"output of {system} is empty; where the system failed clear the cell, or give null or no file, which "
            "counts as unscored, or score it as an empty text with --allow-empty",
        )
    else:
        _check_length(row, f"output of {system}", text, defects)


def _decoded(value: Any) -> Any:
    """A cell of a CSV file may hold a list or an object as JSON, or as pandas writes those of Python."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            return parse_json(value)
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            listed = literal_eval(value.strip()) if len(value) <= LONGEST else value
            return listed if repr(listed) == value.strip() else value  # as ['a' 'b'] of numpy is one text
    return value


def _are_texts(given: object) -> bool:
    return isinstance(given, list) and all(isinstance(one, str) and one.strip() for one in given)


def _shown(value: object) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def column_names(rows: Iterable[Row]) -> str:
    """The columns of the rows, in the words of the file."""
    names = (row.named(str(name)) for row in rows for name in row.values)
    return ", ".join(dict.fromkeys(names)) or "no column"
