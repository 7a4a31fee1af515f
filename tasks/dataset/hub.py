"""Pushes the dataset to a Hugging Face repository. The only importer of huggingface_hub."""

from collections.abc import Mapping
from typing import Any

from schemas.errors import SourceError


def push_dataset(
    files: Mapping[str, bytes], repository: str, *, message: str, public: bool, endpoint: str | None = None
) -> str:
    """Commit ``files`` (path within the dataset -> contents) to a dataset repository; returns the commit's address.

    The repository is created if need be, private unless ``public``; an existing one keeps its visibility. The token is
    read from HF_TOKEN or the file that ``hf auth login`` writes. ``endpoint`` replaces the hub's address. Raises
    SourceError with the hub's reason.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    hub = HfApi(endpoint=endpoint)
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
