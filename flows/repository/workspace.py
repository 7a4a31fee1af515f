"""Locates the clone, or what an installation without one uses in its place, and disables telemetry."""

import os
import shlex
import sys
import tomllib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from platformdirs import user_cache_path

from schemas.errors import TableError, VignetteError, with_remedy

FOLDER = ".vignette"
_PRIVATE = 0o700
_TRUSTED = ("", ".dvc", FOLDER, "pyproject.toml", "params.yaml", "flows", "flows/commands", "flows/commands/cli.py")
"""Files and folders of a clone by which a command is led; one of another user could lead it anywhere."""

LOGGER = "vignette"
"""Logger whose messages are shown with the flow run in Prefect, and not in the terminal."""

WORKSPACE = "VIGNETTE_WORKSPACE"
"""Environment variable that names the folder of state where it is not in the root."""

_BESIDE = Path(__file__).parents[2]
SHIPPED = (
    _BESIDE,
    *(folder / "share" / "vignette" for folder in (_BESIDE, *_BESIDE.parents[2:3], Path(sys.prefix))),
)
"""Where files are outside a clone: beside the code of an editable installation, or in share/vignette of the target, the
prefix or the environment into which the wheel was installed.
"""

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
    """The clone's root, None outside of one: DVC_ROOT inside a stage, else the nearest parent folder with .dvc that
    `is_own`.

    In a queued experiment DVC_ROOT is the parent repository, so experiments in copies share its response store.
    """
    named = Path(os.environ.get("DVC_ROOT", ""))
    if "DVC_ROOT" in os.environ and (_is_vignette(named) or not (named / ".dvc").is_dir()):  # not another project's
        return named
    return next((folder for folder in _with_dvc() if is_own(folder)), None)


def _with_dvc() -> list[Path]:
    """The working directory and its parents that have a folder .dvc, the nearest first."""
    here = Path.cwd()
    return [folder for folder in (here, *here.parents) if (folder / ".dvc").is_dir()]


def is_own(folder: Path) -> bool:
    """Whether a folder is a working tree of vignette that the user or root made, whose code and params may be used.

    In a folder of another user, code and endpoints would be that user's choice, and run and paid with this one's keys.
    """
    return _is_vignette(folder) and all(belongs_to_user(folder / name) for name in _TRUSTED)


def _is_vignette(folder: Path) -> bool:
    file = folder / "pyproject.toml"
    try:
        return _names_vignette(file, file.stat().st_mtime_ns)
    except (OSError, ValueError):
        return False


@lru_cache
def _names_vignette(file: Path, changed: int) -> bool:
    project = tomllib.loads(file.read_text(encoding="utf-8")).get("project")
    return isinstance(project, dict) and project.get("name") == "vignette"


def belongs_to_user(path: Path) -> bool:
    """Whether a file or folder, or a link in its place, belongs to the user or root; true where there is none."""
    try:
        return path.lstat().st_uid in (0, os.geteuid())
    except OSError:
        return not os.path.lexists(path)


def root() -> Path:
    """The clone's root. Raises VignetteError outside a clone."""
    found = clone()
    if found is None:
        if foreign := next(filter(_is_vignette, _with_dvc()), None):
            raise VignetteError(
                f"{Path.cwd()}: no clone of yours here or above; {foreign} is one that belongs to another user, in "
                "whole or in part. Work in a clone of your own, or as that user; if it is yours: sudo chown -R "
                f"$(id -u) {shlex.quote(str(foreign))}"
            )
        raise VignetteError(
            f"{Path.cwd()}: no clone of vignette here or above, and this needs one (git clone, then make quick); "
            "evaluate, audit, plan, agreement and exchange --dataset work anywhere"
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
    """The folder of state shared by all runs (response store, MLflow, servers), of the user alone; made when missing.

    It belongs to the clone or, without one, to the user's cache. The tree of a watch uses the folder of the clone that
    it belongs to, named by VIGNETTE_WORKSPACE.
    """
    found = clone()
    own = user_cache_path("vignette") if found is None else found / FOLDER
    named = os.environ.get(WORKSPACE)
    folder = Path(named or own)
    folder.mkdir(_PRIVATE, parents=found is None, exist_ok=True)
    if not named and folder.stat().st_uid == os.geteuid() and folder.stat().st_mode & 0o077:
        folder.chmod(folder.stat().st_mode & _PRIVATE)  # made by an earlier version; replies may be confidential
    return folder


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write through a temporary file in the same folder, so that a full disk or a kill leaves the old file.

    Raises TableError for what cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(partial)
        partial.replace(path)
    except OSError as error:
        raise TableError(f"{path}: could not be written: {with_remedy(error)}") from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text as `write_atomically` does."""
    write_atomically(path, lambda to: to.write_text(text, encoding="utf-8"))


def be_quiet() -> None:
    """Disable telemetry and downloads of all libraries, except where the user set the variable.

    Proxies are bypassed for the servers of this machine, which they do not reach, and traces go to no collector of
    OpenTelemetry, which would get them in place of MLflow.
    """
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        del os.environ[name]
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    direct = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")
    hosts = dict.fromkeys(host.strip() for host in (*direct, *LOOPBACK) if host.strip())
    listed = "*" if "*" in hosts else ",".join(hosts)  # in a list of hosts, libraries take a star for a name
    os.environ.update(no_proxy=listed, NO_PROXY=listed)
