"""Points the ``prefect`` command, called in the clone's folder, at this clone's server, by ``prefect.toml``."""

from pathlib import Path

from flows.engine.workspace import workspace

_FILE = "prefect.toml"
_OURS = "# Written while the server of `vignette` runs, for the prefect command in this folder."


def write_client_settings(url: str) -> None:
    """Write the file for the server at ``url``, unless a person wrote one."""
    file = workspace().parent / _FILE
    if not file.exists() or _is_ours(file):
        file.write_text(f'{_OURS}\n[api]\nurl = "{url}"\n', encoding="utf-8")


def remove_client_settings() -> None:
    """Remove the file, unless a person wrote it."""
    file = workspace().parent / _FILE
    if file.exists() and _is_ours(file):
        file.unlink()


def _is_ours(file: Path) -> bool:
    return file.read_text(encoding="utf-8").startswith(_OURS)
