"""What may be shown to people: addresses without keys, messages without secrets, texts without control characters.

Replies and files are data and are never changed.
"""

import re
import sys
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote, urlsplit, urlunsplit

CONTROLS = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that move the cursor, turn the direction of text or cannot be seen."""

HIDDEN = "[redacted]"
_INVALID = "an invalid address"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://\S+")
_PRIVATE = {"query", "headers"}
"""Settings of a role whose values may be keys."""
SHORTEST = 12
"""Characters of the shortest value taken for a secret; a placeholder such as ``none`` occurs in ordinary text."""


def redacted(text: str, secrets: Iterable[str]) -> str:
    """``text`` without any of the secrets, those that hold others first, whatever divides their letters and digits.

    Nor is one there with its breaks escaped, or in base64, alone or within a longer text, such as user and password.
    """
    forms = {form for one in secrets if len(one) >= SHORTEST for form in (one, repr(one)[1:-1])}
    for secret in sorted(forms, key=len, reverse=True):
        raw, ends = secret.encode(), r"[\w+/=-]{0,4}"  # characters of base64 that hold bits of the bytes around, too
        for before in range(3):
            packed = b64encode(bytes(before) + raw).decode()[-(-before * 4 // 3) : (before + len(raw)) * 4 // 3]
            text = re.sub(ends + _divided(packed) + ends, HIDDEN, text, flags=re.IGNORECASE)
        text = re.sub(_divided(secret), HIDDEN, text, flags=re.IGNORECASE)
    return text


def _divided(secret: str) -> str:
    """A pattern of a secret with any signs between its letters and digits."""
    letters = re.findall(r"[^\W_]", secret)
    return r"[\W_]*+".join(letters) if len(letters) >= SHORTEST / 2 else re.escape(secret)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Escape what is printed within: file names, names of models and systems, and messages of endpoints among it."""
    with redirect_stdout(_Escaping(sys.stdout)), redirect_stderr(_Escaping(sys.stderr)):
        yield


class _Escaping:
    """A stream of text that is no terminal, in which control characters arrive escaped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"  # not every terminal has every character
        self._stream.write(printable(text, lines=True).encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def isatty(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def printable(text: str, *, lines: bool = False) -> str:
    """``text`` with control characters, marks of direction and invisible characters escaped, as in Python's literals.

    ``lines``: line breaks and tabs stay.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in CONTROLS and character not in kept
        else character
        for character in text
    )


def sqlite_url(file: Path, driver: str = "sqlite") -> str:
    """The address of an sqlite file; a path with a question mark is quoted, as sqlite reads it."""
    return f"{driver}:///file:{quote(str(file))}?uri=true" if "?" in str(file) else f"{driver}:///{file}"


def public_url(url: str) -> str:
    """``url`` without user, password, query and fragment, where keys are sometimes put."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError, as for a password with a slash, which would be part of the path
    except ValueError:
        return _INVALID
    if "@" in url and not parts.netloc:
        return _INVALID
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def public_params(value: Any, name: str = "") -> Any:
    """Params, or the settings of a role, as they may be printed and recorded.

    Addresses are shown as by `public_url`; of a role's ``query`` and ``headers`` only the names are. ``name``: of the
    setting, dotted where it is one of dvc.yaml's.
    """
    if not _PRIVATE.isdisjoint(name.split(".")):
        return dict.fromkeys(value, HIDDEN) if isinstance(value, Mapping) else HIDDEN
    if isinstance(value, Mapping):
        return {key: public_params(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [public_params(inner, name) for inner in value]
    if not isinstance(value, str):
        return value
    return public_url(value) if name.endswith("base_url") else _ADDRESS.sub(lambda found: public_url(found[0]), value)


def url_secrets(url: str) -> list[str]:
    """The parts of ``url`` that may be secrets: password and query values."""
    parts = urlsplit(url)
    values = [pair.partition("=")[2] for pair in parts.query.split("&")]
    return [secret for secret in (parts.password, parts.query, *values) if secret]
