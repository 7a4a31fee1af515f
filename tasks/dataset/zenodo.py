"""The dataset as one archive with Zenodo's metadata (developers.zenodo.org, deposit metadata)."""

import json
import zipfile
from collections.abc import Mapping
from io import BytesIO

from schemas.params.notes import Export

METADATA = ".zenodo.json"

_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: zip stores one, and no clock is read."""


def archive_name(export: Export) -> str:
    """Name of the archive and, without its suffix, of the folder in it."""
    return f"{export.name}-{export.version}.zip"


def archive(export: Export, files: Mapping[str, bytes]) -> bytes:
    """A zip file with one folder that holds ``files``. The same files give the same bytes.

    Entries are stored, not compressed, because zlib's output depends on its version; the parquet files are compressed.
    """
    folder = archive_name(export).removesuffix(".zip")
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as packed:
        for path, contents in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{path}", date_time=_EARLIEST)
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # Unix, whatever the machine
            packed.writestr(entry, contents)
    return written.getvalue()


def zenodo_metadata(export: Export, description: str) -> str:
    """Contents of ``.zenodo.json``; creators and date are left out where params do not give them."""
    metadata = {
        "upload_type": "dataset",
        "title": export.name,
        "description": description,
        "version": export.version,
        "license": export.license.lower(),
        "access_right": "open",
        "language": "eng",
        "keywords": ["clinical natural language processing", "synthetic data", "information extraction"],
        **({"creators": [{"name": name} for name in export.creators]} if export.creators else {}),
        **({"publication_date": export.date_published} if export.date_published else {}),
    }
    return json.dumps(metadata, ensure_ascii=False, indent=2) + "\n"
