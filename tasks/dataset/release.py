"""Checks of an exported dataset before it is published."""

import hashlib
import json
from collections.abc import Mapping
from io import BytesIO

import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.errors import SourceError
from schemas.params.notes import Export
from tasks.dataset.export import CHECKSUMS
from tasks.dataset.parquet import split_path
from tasks.dataset.published import LABEL
from tasks.dataset.splits import SPLITS

RERUN = "run `vignette repro`"


def require_publishable(files: Mapping[str, bytes], export: Export) -> None:
    """Raise SourceError unless ``files`` are an unchanged export under these params, of texts that this run wrote."""
    _require_unchanged(files)
    described = json.loads(files["croissant.json"])
    for name in ("name", "version", "url"):
        if described[name] != getattr(export, name):
            raise SourceError(
                f"export.{name} is {getattr(export, name)!r}, the exported dataset says {described[name]!r}; {RERUN}"
            )
    for split in SPLITS:
        columns = pq.read_table(BytesIO(files[split_path(split)]), columns=["provenance", "compact_provenance"])
        if any(pc.any(pc.equal(column, LABEL)).as_py() for column in columns.columns):
            raise SourceError(
                "the notes were read from write.published: they are not simulated by this run, and their licence is "
                "their owner's; publish a run with write.source: model"
            )


def open_points(export: Export) -> list[str]:
    """Metadata that still has its placeholder, each with the remedy."""
    found = []
    if not export.creators:
        found.append("export.creators is empty; Zenodo requires at least one creator")
    if export.url == Export().url:
        found.append(f"export.url is the placeholder {export.url}; set the address of the dataset")
    return found


def _require_unchanged(files: Mapping[str, bytes]) -> None:
    if CHECKSUMS not in files:
        raise SourceError(f"the exported dataset has no {CHECKSUMS}; {RERUN}")
    lines = [line.split("  ", 1) for line in files[CHECKSUMS].decode().splitlines()]
    listed = {path: digest for digest, path in lines}
    for path in sorted(listed.keys() | files.keys() - {CHECKSUMS}):
        digest = hashlib.sha256(files[path]).hexdigest() if path in files else "missing"
        if digest != listed.get(path):
            raise SourceError(
                f"the exported {path} is {digest}, {CHECKSUMS} says {listed.get(path, 'nothing')}; restore it with "
                "`dvc checkout`"
            )
