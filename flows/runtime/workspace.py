"""Locates the repository and the folder of state that is neither input nor output, and disables telemetry."""

import os
from pathlib import Path

from schemas.errors import VignetteError

FOLDER = ".vignette"

WORKSPACE = "VIGNETTE_WORKSPACE"
"""Environment variable that names the folder of state where it is not in the root."""

STORE = "responses.sqlite"
"""File of the response store in the workspace folder."""

FINGERPRINTS = Path("fingerprints")
"""Relative to the working directory, so that an experiment in a copy of the repository has its own."""

QUIET = {
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "DVC_NO_ANALYTICS": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical",  # else every worker that ends is reported
}
"""Disables telemetry, downloads and log noise."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def answerer_fingerprints(name: str, folder: Path = FINGERPRINTS) -> Path:
    """Folder with the fingerprint of an answerer of ``note_qa_outside.answerers``."""
    return folder / "answerers" / name


def root() -> Path:
    """The repository's root: DVC_ROOT inside a stage, else the nearest parent folder with .dvc.

    In a queued experiment DVC_ROOT is the parent repository, so experiments in copies share its response store.
    Raises VignetteError outside a repository.
    """
    if "DVC_ROOT" in os.environ:
        return Path(os.environ["DVC_ROOT"])
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / ".dvc").is_dir():
            return folder
    raise VignetteError(f"{here}: no DVC repository here or above; run from a clone of vignette")


def workspace() -> Path:
    """The folder of state shared by all runs of this clone (response store, MLflow, servers); created when missing.

    The tree of a watch uses the folder of the clone that it belongs to, named by VIGNETTE_WORKSPACE.
    """
    folder = Path(os.environ.get(WORKSPACE) or root() / FOLDER)
    folder.mkdir(exist_ok=True)
    return folder


def be_quiet() -> None:
    """Disable telemetry and downloads of all libraries, except where the user set the variable.

    Proxies are bypassed for the servers of this machine, which they do not reach.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    direct = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")
    hosts = ",".join(dict.fromkeys(host.strip() for host in (*direct, *LOOPBACK) if host.strip()))
    os.environ.update(no_proxy=hosts, NO_PROXY=hosts)
