"""Publishes an exported dataset: checks it, and packs it with Zenodo's metadata or pushes it to Hugging Face.

Zenodo's metadata: developers.zenodo.org, deposit metadata. This is the only importer of huggingface_hub.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.errors import SourceError
from schemas.params.records import Export
from tasks.dataset.export import CHECKSUMS
from tasks.dataset.fields import split_path
from tasks.dataset.simsum import LABEL
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
    for path in files.keys() & set(map(split_path, SPLITS)):
        columns = pq.read_table(BytesIO(files[path]), columns=["provenance", "compact_provenance"])
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


def push_dataset(files: Mapping[str, bytes], repository: str, *, message: str, public: bool) -> str:
    """Commit ``files`` (path within the dataset -> contents) to a dataset repository; returns the commit's address.

    The repository is created if need be, private unless ``public``; an existing one keeps its visibility. The token is
    read from HF_TOKEN or the file that ``hf auth login`` writes. Raises SourceError with the hub's reason.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    hub = HfApi()
    operations = [CommitOperationAdd(path, contents) for path, contents in sorted(files.items())]
    try:
        hub.create_repo(repository, repo_type="dataset", private=not public, exist_ok=True)
        done = hub.create_commit(repository, operations, commit_message=message, repo_type="dataset")
    except Exception as error:  # the errors of its HTTP library, which is another one in each major release
        raise SourceError(f"{repository}: the dataset was not pushed ({_reason(error)}); {_remedy(error)}") from error
    return str(done.commit_url)


def _reason(error: Any) -> str:
    return " ".join(str(error).split())[:300]


def _remedy(error: Any) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return "set HF_TOKEN to a token with write access to the repository, or run `hf auth login`"
    if status == 404:
        return "check the name of the repository, NAMESPACE/NAME"
    return "correct this and push again; files that the hub already has are not sent twice"
