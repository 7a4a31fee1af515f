"""The dataset's description in Croissant 1.0 (JSON-LD, http://mlcommons.org/croissant/1.0)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files

from schemas.params.records import Export
from tasks.dataset.card import Origin, citation, description
from tasks.dataset.fields import SPAN_FIELDS, Column, columns_of, split_path

FORMATS = {"parquet": "application/x-parquet", "csv": "text/csv", "json": "application/json"}
_LICENSES = {"CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/"}
_TYPES = {"integer": "sc:Integer", "text": "sc:Text", "texts": "sc:Text", "boolean": "sc:Boolean"}


_SPLIT_FILES = {"@id": "split-files"}
_FILE_SET = {
    "@type": "cr:FileSet",
    **_SPLIT_FILES,
    "name": "split-files",
    "description": "One parquet file per split.",
    "encodingFormat": FORMATS["parquet"],
    "includes": split_path("*"),
}


def croissant(export: Export, origin: Origin, files: Mapping[str, bytes]) -> str:
    """The description of ``files`` (path within the dataset -> contents) as JSON-LD text."""
    context = package_files("tasks.dataset").joinpath("templates", "croissant_context.json").read_text(encoding="utf-8")
    described = {
        "@context": json.loads(context),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": export.name,
        "description": description(origin),
        "license": _LICENSES.get(export.license, export.license),
        "url": export.url,
        "version": export.version,
        "citeAs": citation(export),
        **({"datePublished": export.date_published} if export.date_published else {}),
        "isLiveDataset": False,
        **({"creator": [{"@type": "sc:Person", "name": name} for name in export.creators]} if export.creators else {}),
        "distribution": [*(_file_object(path, contents) for path, contents in sorted(files.items())), _FILE_SET],
        "recordSet": [_splits(list(origin.records)), _record_set(origin)],
    }
    return json.dumps(described, ensure_ascii=False, indent=2) + "\n"


def _file_object(path: str, contents: bytes) -> dict[str, object]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{len(contents)} B",
        "encodingFormat": FORMATS[path.rsplit(".", 1)[1]],
        "sha256": hashlib.sha256(contents).hexdigest(),
    }


def _splits(names: Sequence[str]) -> dict[str, object]:
    """The record set that lists the splits, as the specification's section on splits defines it."""
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "dataType": "cr:Split",
        "name": "splits",
        "description": "The splits of the dataset.",
        "key": {"@id": "splits/name"},
        "field": [{"@type": "cr:Field", "@id": "splits/name", "name": "name", "dataType": "sc:Text"}],
        "data": [{"splits/name": name} for name in names],
    }


def _record_set(origin: Origin) -> dict[str, object]:
    return {
        "@type": "cr:RecordSet",
        "@id": "notes",
        "name": "notes",
        "description": "One row per record: simulated variables, prompt, note, compact note, spans.",
        "key": {"@id": "notes/record"},
        "field": [
            _split_field(list(origin.records)),
            *(_field(name, column) for name, column in columns_of(origin.domain).items()),
        ],
    }


def _split_field(splits: Sequence[str]) -> dict[str, object]:
    """The split of a row, from the name of its file."""
    name = rf"{split_path('(' + '|'.join(splits) + ')')}$".replace(".parquet", r"\.parquet")
    return {
        "@type": "cr:Field",
        "@id": "notes/split",
        "name": "split",
        "description": "split of the record",
        "dataType": "sc:Text",
        "source": {"fileSet": _SPLIT_FILES, "extract": {"fileProperty": "fullpath"}, "transform": {"regex": name}},
        "references": {"field": {"@id": "splits/name"}},
    }


def _field(name: str, column: Column) -> dict[str, object]:
    what = f"{column.meaning} ({column.values})" if column.values else column.meaning
    field: dict[str, object] = {"@type": "cr:Field", "@id": f"notes/{name}", "name": name, "description": what}
    source = {"fileSet": _SPLIT_FILES, "extract": {"column": name}}
    if column.kind == "spans":
        parts = [_sub_field(name, part) for part in SPAN_FIELDS]
        return field | {"repeated": True, "source": source, "subField": parts}
    repeated = {"repeated": True} if column.kind == "texts" else {}
    return field | {"dataType": _TYPES[column.kind], "source": source} | repeated


def _sub_field(name: str, part: str) -> dict[str, object]:
    extracted = {"fileSet": _SPLIT_FILES, "extract": {"column": name}, "transform": {"jsonPath": f"$.{part}"}}
    kind = "sc:Integer" if part in ("start", "end") else "sc:Text"
    return {"@type": "cr:Field", "@id": f"notes/{name}/{part}", "name": part, "dataType": kind, "source": extracted}
