"""Locates the clone, or what an installation without one uses in its place, and disables telemetry."""

import os
import sys
from pathlib import Path

from platformdirs import user_cache_path

from schemas.errors import VignetteError

FOLDER = ".vignette"

LOGGER = "vignette"
"""Logger whose messages are shown with the flow run in Prefect, and not in the terminal."""

WORKSPACE = "VIGNETTE_WORKSPACE"
"""Environment variable that names the folder of state where it is not in the root."""

SHIPPED = (Path(__file__).parents[2], Path(sys.prefix) / "share" / "vignette")
"""Where files are outside a clone: beside the code of an editable installation, or where the wheel puts them."""

STORE = "responses.sqlite"
"""File of the response store in the workspace folder."""

VECTORS = "encoded.sqlite"
"""File of the sentence vectors there. An earlier one, vectors.sqlite, did not distinguish instruction sets."""

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


def clone() -> Path | None:
    """The clone's root, None outside of one: DVC_ROOT inside a stage, else the nearest parent folder with .dvc.

    In a queued experiment DVC_ROOT is the parent repository, so experiments in copies share its response store.
    """
    if "DVC_ROOT" in os.environ:
        return Path(os.environ["DVC_ROOT"])
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".dvc").is_dir()), None)


def root() -> Path:
    """The clone's root. Raises VignetteError outside a clone."""
    found = clone()
    if found is None:
        raise VignetteError(
            f"{Path.cwd()}: no clone of vignette here or above, and this needs one (git clone, then make setup); "
            "evaluate, audit, plan, agreement, prompts and exchange --dataset work anywhere"
        )
    return found


def shipped(name: str, first: Path | None = None) -> Path:
    """A file that ships with an installation, from folder ``first`` if that has it."""
    places = [folder / name for folder in (first, *SHIPPED) if folder is not None]
    return next((file for file in places if file.is_file()), places[-1])


def params_file() -> Path:
    """params.yaml of the clone, or as it ships with an installation."""
    return shipped("params.yaml", clone())


def workspace() -> Path:
    """The folder of state shared by all runs (response store, MLflow, servers); created when missing.

    It belongs to the clone or, without one, to the user's cache. The tree of a watch uses the folder of the clone that
    it belongs to, named by VIGNETTE_WORKSPACE.
    """
    found = clone()
    own = user_cache_path("vignette") if found is None else found / FOLDER
    folder = Path(os.environ.get(WORKSPACE) or own)
    folder.mkdir(parents=found is None, exist_ok=True)
    return folder


def replace_text(file: Path, text: str) -> None:
    """Write a file of the workspace, whole or not at all."""
    file.parent.mkdir(exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)


def be_quiet() -> None:
    """Disable telemetry and downloads of all libraries, except where the user set the variable.

    Proxies are bypassed for the servers of this machine, which they do not reach.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    direct = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")
    hosts = ",".join(dict.fromkeys(host.strip() for host in (*direct, *LOOPBACK) if host.strip()))
    os.environ.update(no_proxy=hosts, NO_PROXY=hosts)
