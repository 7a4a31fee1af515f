"""Checks what of the user's surroundings would end a command later: variables that libraries read, and databases."""

import os
import re
import sqlite3
import ssl
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from schemas.errors import VignetteError
from tasks.transport.shown import public_url

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PROXIES = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY")
_SCHEMES = ("http", "https", "socks5", "socks5h")
"""Of a proxy's address."""
_EXPECTED = {
    "SOURCE_DATE_EPOCH": ("seconds since 1970", r"\d{1,10}"),
    "PYTHONWARNINGS": ("not every warning as an error", r"(?!error$).*"),
    "PREFECT_LOGGING_LEVEL": ("the name of a level, as INFO", r"(?i:debug|info|warning|error|critical)"),
}
"""By any other value a library would fail when it is loaded."""
_MIGRATIONS = Path("store") / "db_migrations" / "versions"
"""Folder of MLflow with a file for each schema of its database, ``REVISION_what.py``."""


def require_environment() -> None:
    """Raise VignetteError with a line for each variable by which a library, or every connection, would fail."""
    lines = [
        f"{name}={os.environ[name]}: {fault}; correct it or unset it"
        for name in _CERTIFICATES
        if os.environ.get(name) and (fault := _fault(Path(os.environ[name])))
    ]
    for name in [form for proxy in _PROXIES for form in (proxy, proxy.lower())]:
        given = os.environ.get(name, "")
        shown = public_url(given if "://" in given else f"http://{given}")
        scheme = shown.partition("://")[0]
        if given and scheme not in _SCHEMES:
            lines.append(f"{name}={shown}: expected http://HOST:PORT; correct it or unset it")
        elif scheme.startswith("socks") and find_spec("socksio") is None:
            lines.append(f"{name}={shown}: needs the package socksio; install it, or unset the variable")
    for name, (expected, form) in _EXPECTED.items():
        if (given := os.environ.get(name, "")) and not re.fullmatch(form, given):
            lines.append(f"{name}={given}: expected {expected}; correct it or unset it")
    if lines:
        raise VignetteError("\n".join(lines))


def _fault(certificates: Path) -> str | None:
    """What is wrong with a file or folder of certificates."""
    try:
        if not certificates.is_dir():
            ssl.create_default_context(cafile=certificates)
    except FileNotFoundError:
        return "no such file or folder"
    except OSError as error:
        return f"not a file of certificates ({error.strerror or error})"
    return None


def require_schema(database: Path) -> None:
    """Raise VignetteError for an MLflow database of another schema than that of the MLflow that is installed."""
    if not database.is_file():
        return
    with closing(sqlite3.connect(database)) as connection:
        try:
            ((found,),) = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        except (sqlite3.Error, ValueError) as error:
            raise VignetteError(f"{database}: no database of MLflow ({error}); move it away") from error
    spec = find_spec("mlflow")
    package = next(iter(spec.submodule_search_locations or ())) if spec is not None else ""
    known = {file.name.partition("_")[0]: file for file in (Path(package) / _MIGRATIONS).glob("*_*.py")}
    before = "".join(file.read_text(encoding="utf-8") for file in known.values())
    newest = known.keys() - set(re.findall(r'^down_revision = ["\'](\w+)', before, re.MULTILINE))
    if found not in newest:
        remedy = f"mlflow db upgrade sqlite:///{database}" if found in known else "install the version that made it"
        raise VignetteError(
            f"{database}: its schema {found} is not that of the MLflow that is installed; {remedy}, or move it away"
        )
