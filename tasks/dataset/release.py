"""Pushes an exported dataset to Hugging Face, after checks. The only importer of huggingface_hub."""

import hashlib
from collections.abc import Mapping
from io import BytesIO

import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.errors import SourceError
from schemas.params.records import Export
from tasks.dataset.export import CHECKSUMS, SPLITS, citation
from tasks.dataset.fields import split_path
from tasks.dataset.simsum import LABEL

RERUN = "run `vignette repro`"


def require_publishable(files: Mapping[str, bytes], export: Export) -> None:
    """Raise SourceError unless ``files`` are an unchanged export under these params, of texts that this run wrote."""
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
    held = files["README.md"].decode().rpartition("\n## Citation\n")[2].strip()
    expected = f"> {citation(export)}\n\nLicence: {export.license}."
    if held != expected:
        raise SourceError(
            f"export in params.yaml gives the citation {' '.join(expected.split())!r}, "
            f"the card of the exported dataset says {' '.join(held.split())!r}; {RERUN}"
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
        found.append("export.creators is empty; the citation names nobody")
    if export.url == Export().url:
        found.append(f"export.url is the placeholder {export.url}; set the address of the dataset")
    return found


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
        said, status = " ".join(str(error).split())[:300], getattr(getattr(error, "response", 0), "status_code", 0)
        remedy = {
            **dict.fromkeys((401, 403), "set HF_TOKEN to a token with write access, or run `hf auth login`"),
            404: "check the name of the repository, NAMESPACE/NAME",
        }.get(status, "correct this and push again; files that the hub already has are not sent twice")
        raise SourceError(f"{repository}: the dataset was not pushed ({said}); {remedy}") from error
    return str(done.commit_url)
