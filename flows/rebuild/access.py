"""Who may use the Prefect server of this clone: its token, and the settings of server and clients that concern it."""

import os
import secrets
from pathlib import Path

from filelock import FileLock

from flows.runtime.workspace import workspace

_CLIENT_SETTINGS = "prefect.toml"
_OURS = "# Written while the server of `vignette` runs, for the prefect command in this folder."


def access() -> str:
    """User and token of this clone's server, drawn once and kept in a file that only the user can read."""
    file = access_file()
    with FileLock(file.with_suffix(".lock")):
        if not file.exists():
            _write_privately(file, f"vignette:{secrets.token_urlsafe(32)}")
    return file.read_text(encoding="utf-8")


def access_file() -> Path:
    """The file that holds user and token."""
    return workspace() / "prefect-access"


def server_settings(address: str) -> dict[str, str]:
    """Settings of a server at ``address`` that admits the pages of that address and who knows the token."""
    return {
        "PREFECT_UI_API_URL": f"{address}/api",
        "PREFECT_SERVER_API_AUTH_STRING": access(),
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": address,
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
    }


def write_client_settings(url: str) -> None:
    """Point the ``prefect`` command, called in the clone's folder, at the server, unless a person did."""
    if _may_write():
        settings = f'{_OURS}\n[api]\nurl = "{url}"\nauth_string = "{access()}"\n'
        _write_privately(_client_settings(), settings)


def remove_client_settings() -> None:
    """Remove these settings, unless a person wrote them."""
    if _may_write():
        _client_settings().unlink(missing_ok=True)


def _may_write() -> bool:
    file = _client_settings()
    return not file.exists() or file.read_text(encoding="utf-8").startswith(_OURS)


def _client_settings() -> Path:
    return workspace().parent / _CLIENT_SETTINGS


def _write_privately(file: Path, text: str) -> None:
    """Write a file that only the user can read."""
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as sink:
        sink.write(text)
