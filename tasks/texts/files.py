"""Reads eval logs of Inspect (UK AI Security Institute) in their JSON format.

A sample's input becomes the source, its target the reference and its completion the output of the evaluated model.

Reads the rows of a data file: JSON Lines, JSON, CSV, a Hugging Face dataset folder, or an Inspect eval log.

Published layouts keep their columns: ACI-BENCH (``encounter_id``, ``dialogue``, ``note``), MeQSum as released with
DocLens (``example_id``, ``input``, ``reference``), radiology reports (``id``, ``findings``, ``impression``).
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import MissingSourceError, SourceError
from tasks.texts.fields import Row


def is_inspect_log(loaded: object) -> bool:
    """Whether parsed JSON is an eval log."""
    return isinstance(loaded, dict) and isinstance(loaded.get("eval"), dict) and "model" in loaded["eval"]


def inspect_rows(log: Mapping[str, Any], file: str) -> list[Row]:
    """One row per sample; with several epochs, each further epoch is a system of its own.

    A sample that ended with an error has no output. Raises SourceError for a log without samples.
    """
    samples, model = log.get("samples"), str(log["eval"]["model"]).replace("/", ":")
    if not isinstance(samples, list) or not samples:
        raise SourceError(
            f"{file}: an eval log without samples (status {log.get('status')}); write it with log_samples"
        )
    rows: dict[str, dict[str, Any]] = {}
    for number, sample in enumerate(samples):
        place = f"{file}: sample {number}"
        if not isinstance(sample, dict) or "id" not in sample or "input" not in sample:
            raise SourceError(f"{place}: expected an object with id and input")
        name, epoch = str(sample["id"]), sample.get("epoch", 1)
        row = rows.setdefault(name, {"id": name, "source": _input(sample["input"]), "outputs": {}})
        if target := _target(sample.get("target")):
            row["reference"] = target
        system = model if epoch == 1 else f"{model}, epoch {epoch}"
        if system in row["outputs"]:
            raise SourceError(f"{place}: id {name} is a duplicate in epoch {epoch}; expected each id once")
        if not sample.get("error"):
            row["outputs"][system] = _completion(sample, place)
    return [Row(f"{file}: sample {name} (Inspect)", row) for name, row in rows.items()]


def _input(given: Any) -> str | None:
    """The input, or the text of the user's messages."""
    if isinstance(given, str):
        return given
    messages = [message for message in given if isinstance(message, dict)] if isinstance(given, list) else []
    return "\n\n".join(_content(one.get("content")) for one in messages if one.get("role") == "user") or None


def _target(given: Any) -> str | None:
    return "\n".join(map(str, given)) if isinstance(given, list) else given


def _completion(sample: Mapping[str, Any], place: str) -> str:
    output = sample.get("output") or {}
    if isinstance(output.get("completion"), str):
        return str(output["completion"])
    choices = output.get("choices") or []
    if not choices:
        raise SourceError(f"{place}: no completion in output; expected output.completion or output.choices")
    return _content(choices[0].get("message", {}).get("content"))


def _content(given: Any) -> str:
    """A message's content: a text, or the text parts of a list (reasoning and images are left out)."""
    if isinstance(given, list):
        parts = [part for part in given if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(str(part.get("text", "")) for part in parts)
    return str(given or "")


Layout = Literal["aci_bench", "meqsum", "radiology", "inspect", "own"]
PUBLISHED: Mapping[Layout, Mapping[str, str]] = {
    "aci_bench": {"id": "encounter_id", "source": "dialogue", "reference": "note"},
    "meqsum": {"id": "example_id", "source": "input", "reference": "reference"},
    "radiology": {"id": "id", "source": "findings", "reference": "impression"},
}
"""Columns of the published layouts, by field."""

csv.field_size_limit(2**31 - 1)  # a long text is reported with its row and length, not as an error of the csv module


@dataclass(frozen=True)
class Table:
    """The rows of a file, and the layout that its columns show."""

    rows: list[Row]
    layout: Layout
    paths: tuple[Path, ...]

    @property
    def columns(self) -> Mapping[str, str]:
        """Column of each field in a published layout; empty for other files."""
        return PUBLISHED.get(self.layout, {})


def read_rows(path: Path, *, split: str | None = None) -> Table:
    """Read a data file or dataset folder, by the path's ending.

    ``split``: the split of a dataset with several. Raises MissingSourceError and SourceError.
    """
    if not path.exists():
        raise MissingSourceError(f"{path}: no such file; check the spelling and the working directory")
    if path.is_dir():
        return _table(*_dataset(path, split))
    if split is not None:
        raise SourceError(f"{path}: is one file; --split {split} is for dataset folders, leave it out")
    if path.suffix not in _READERS:
        raise SourceError(
            f"{path}: unknown kind of file {path.suffix or '(no ending)'}; expected {', '.join(_READERS)}, "
            "or a Hugging Face dataset folder"
        )
    return _table(_READERS[path.suffix](path), (path,))


def _table(rows: list[Row], paths: tuple[Path, ...]) -> Table:
    columns = {name for row in rows for name in row.values}
    layout: Layout = "inspect" if rows and rows[0].place.endswith("(Inspect)") else "own"
    for name, fields in PUBLISHED.items():
        if set(fields.values()) <= columns and "source" not in columns:
            layout = name
            break
    return Table(rows, layout, paths)


def _decode(path: Path) -> str:
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SourceError(
            f"{path}: line {line}: byte {raw[error.start]:#04x} is not UTF-8; save the file in UTF-8"
        ) from error


def _json_lines(path: Path) -> list[Row]:
    return [
        Row(f"{path}: line {number}", _object(f"{path}: line {number}", line))
        for number, line in enumerate(_decode(path).split("\n"), 1)
        if line.strip()
    ]


def _object(place: str, text: str) -> dict[str, Any]:
    try:
        entry = json.loads(text, object_pairs_hook=_without_duplicates)
    except RecursionError as error:
        raise SourceError(f"{place}: nested too deeply; expected one object per document") from error
    except ValueError as error:
        raise SourceError(f"{place}: not JSON ({error}); expected one object on each line") from error
    if not isinstance(entry, dict):
        raise SourceError(f"{place}: found {type(entry).__name__}; expected an object with id and source")
    return entry


def _without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice} is a duplicate")
    return found


def _json(path: Path) -> list[Row]:
    text = _decode(path)
    try:
        loaded = json.loads(text)
    except RecursionError as error:
        raise SourceError(f"{path}: nested too deeply; expected a list of objects") from error
    except ValueError as error:
        raise SourceError(f"{path}: not JSON ({error}); for JSON Lines use the ending .jsonl") from error
    if is_inspect_log(loaded):
        return inspect_rows(loaded, str(path))
    if not isinstance(loaded, list):
        raise SourceError(f"{path}: found {type(loaded).__name__}; expected a list of objects or an Inspect eval log")
    for number, entry in enumerate(loaded):
        if not isinstance(entry, dict):
            raise SourceError(f"{path}: entry {number}: found {type(entry).__name__}; expected an object")
    return [Row(f"{path}: entry {number}", entry) for number, entry in enumerate(loaded)]


def _csv(path: Path) -> list[Row]:
    text = _decode(path)
    reader = csv.DictReader(
        io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ",", strict=True
    )
    names = reader.fieldnames or []
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SourceError(f"{path}: column {twice} is a duplicate; rename one")
    rows = []
    try:
        for number, values in enumerate(reader, 1):
            place = f"{path}: row {number}"
            if None in values or None in values.values():
                raise SourceError(
                    f"{place}: found {sum(v is not None for v in values.values())} cells, expected {len(names)}; "
                    "is a comma or quote not quoted?"
                )
            rows.append(Row(place, {name: value or None for name, value in values.items()}))
    except csv.Error as error:
        raise SourceError(f"{path}: row {len(rows) + 1}: not CSV ({error})") from error
    return rows


def _parquet(path: Path) -> list[Row]:
    try:
        return _numbered(path, pq.read_table(path))
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path}: not a readable parquet file ({' '.join(str(error).split())[:120]})") from error


def _arrow(path: Path) -> list[Row]:
    try:
        with path.open("rb") as file:
            return _numbered(path, pa.ipc.open_stream(file).read_all())
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path}: not a readable arrow file ({' '.join(str(error).split())[:120]})") from error


def _numbered(path: Path, table: pa.Table) -> list[Row]:
    return [Row(f"{path}: row {number}", values) for number, values in enumerate(table.to_pylist(), 1)]


_READERS: dict[str, Callable[[Path], list[Row]]] = {
    ".jsonl": _json_lines,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
}


def _dataset(folder: Path, split: str | None) -> tuple[list[Row], tuple[Path, ...]]:
    """Rows of a Hugging Face dataset folder: saved with ``save_to_disk``, or in the layout of the hub."""
    if (folder / "dataset_dict.json").exists():
        return _dataset(_split_folder(folder, split), None)
    if (folder / "state.json").exists():
        files = [folder / entry["filename"] for entry in json.loads(_decode(folder / "state.json"))["_data_files"]]
        missing = [file for file in files if not file.exists()]
        if missing:
            raise MissingSourceError(f"{missing[0]}: no such file, though {folder}/state.json names it")
    else:
        files = [file for file in sorted(folder.rglob("*")) if file.suffix in (".parquet", ".jsonl", ".csv")]
        splits = sorted({file.name.split("-")[0].split(".")[0] for file in files})
        if len(splits) > 1 and split is None:
            raise SourceError(f"{folder}: holds several splits or files ({', '.join(splits)}); choose one with --split")
        files = [file for file in files if split is None or file.name.split("-")[0].split(".")[0] == split]
    if not files:
        raise SourceError(f"{folder}: no data file{f' of split {split}' if split else ''}; expected a dataset folder")
    return [row for file in files for row in _READERS[file.suffix](file)], tuple(files)


def _split_folder(folder: Path, split: str | None) -> Path:
    names = json.loads(_decode(folder / "dataset_dict.json"))["splits"]
    if split is None and len(names) > 1:
        raise SourceError(f"{folder}: has the splits {', '.join(names)}; choose one with --split")
    chosen = split or names[0]
    if chosen not in names:
        raise SourceError(f"{folder}: no split {chosen}; it has {', '.join(names)}")
    return folder / chosen
