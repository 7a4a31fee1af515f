"""Where a run keeps what is neither input nor output: response store, servers' state, MLflow, vector cache."""

import os
from pathlib import Path

from schemas.errors import VignetteError

FOLDER = ".vignette"

STORE = "responses.sqlite"
"""File of the response store in the workspace folder."""

FINGERPRINTS = Path("fingerprints")
"""Relative to the working directory, so that an experiment in a copy of the repository has its own."""

QUIET = {
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "DVC_NO_ANALYTICS": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical",  # a worker that ends is no news
}
"""Settings under which no library contacts anyone, and none tells of its own housekeeping."""


def root() -> Path:
    """The repository's root: DVC_ROOT inside a stage (the parent repository in a queued experiment), else found upward.

    Anchoring at DVC_ROOT lets experiments that run in copies of the repository share one response store.
    """
    if "DVC_ROOT" in os.environ:
        return Path(os.environ["DVC_ROOT"])
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / ".dvc").is_dir():
            return folder
    raise VignetteError(f"{here}: no DVC repository here or above; run from a clone of vignette")


def workspace() -> Path:
    """The folder for state that is shared by all runs of this clone; created when missing."""
    folder = root() / FOLDER
    folder.mkdir(exist_ok=True)
    return folder


def be_quiet() -> None:
    """Switch off telemetry and downloads of every library that has them; a value that the user set stays."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
