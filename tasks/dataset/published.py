"""Reads a published dataset to use instead of generated records, notes and spans."""

import hashlib
from pathlib import Path

import pandas as pd

from schemas.errors import SourceError
from schemas.params.notes import Published
from tasks.dataset.simsum_csv import Texts, read_simsum
from tasks.dataset.span_json import read_span_json

LABEL = "published"
"""Provenance of texts and spans read from a published dataset."""


def read_texts(published: Published) -> Texts:
    """Records and notes of the published files; raises SourceError unless they match the digest in params."""
    require_pinned(published)
    return read_simsum(_path(published.notes, "notes"))


def read_spans(published: Published, notes: pd.DataFrame, compact_notes: pd.DataFrame) -> pd.DataFrame:
    """Spans of both note versions as SPANS."""
    require_pinned(published)
    versions = {
        "normal": (published.normal_spans, notes, "note"),
        "compact": (published.compact_spans, compact_notes, "compact"),
    }
    parts = []
    for version, (path, frame, column) in versions.items():
        texts = dict(zip(frame["record"].tolist(), frame[column], strict=True))
        parts.append(read_span_json(_path(path, f"{version}_spans"), version, texts))
    order = ["record", "version", "start", "end", "symptom"]
    return pd.concat(parts, ignore_index=True).sort_values(order, ignore_index=True)


def require_pinned(published: Published) -> None:
    """Raise SourceError unless ``write.published.sha256`` is the digest of the files' contents.

    DVC does not track files outside the repository: the digest in params.yaml makes a change of them visible.
    """
    digest = hashlib.sha256()
    for name in ("notes", "normal_spans", "compact_spans"):
        if (given := getattr(published, name)) is not None:
            path = _path(given, name)
            try:
                digest.update(hashlib.sha256(path.read_bytes()).digest())
            except OSError as error:
                raise SourceError(f"write.published.{name}: {path} cannot be read ({error.strerror})") from error
    if published.sha256 != digest.hexdigest():
        raise SourceError(
            f"write.published.sha256 is {published.sha256}, the files' digest is {digest.hexdigest()}; "
            "set it in params.yaml if these are the files you mean"
        )


def _path(given: str | None, name: str) -> Path:
    if given is None:
        raise SourceError(f"write.source is published but write.published.{name} is null; give the file's path")
    return Path(given).expanduser()
