"""What may be shown to people: addresses without keys, messages without secrets, texts without control characters.

Replies and files are data and are never changed.
"""

import unicodedata
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

CONTROLS = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that move the cursor, turn the direction of text or cannot be seen."""

HIDDEN = "[redacted]"
SHORTEST = 12
"""Characters of the shortest value taken for a secret; a placeholder such as ``none`` occurs in ordinary text."""


class Redactor:
    """Replaces the given secrets wherever they occur in a text."""

    def __init__(self, *secrets: str | None) -> None:
        self._secrets = sorted({s for s in secrets if s and len(s) >= SHORTEST}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """``text`` without any of the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


def printable(text: str, *, lines: bool = False) -> str:
    """``text`` with control characters, marks of direction and invisible characters escaped, as in Python's literals.

    ``lines``: line breaks stay.
    """
    if text.isprintable():
        return text
    kept = "\n" if lines else ""
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in CONTROLS and character not in kept
        else character
        for character in text
    )


class Printable:
    """A stream that escapes what is written to it as `printable` does; line breaks stay.

    So does a carriage return at the start, with which progress bars are drawn over. ``colours``: False says that the
    stream is no terminal, so that no library colours what it writes.
    """

    def __init__(self, stream: TextIO, *, colours: bool = True) -> None:
        self._stream, self._colours = stream, colours

    def isatty(self) -> bool:
        """Whether the stream is a terminal for whom writes to it."""
        return self._colours and self._stream.isatty()

    def write(self, text: str) -> int:
        """Write the escaped ``text``."""
        start = "\r" if text.startswith("\r") else ""
        self._stream.write(start + printable(text[len(start) :], lines=True))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def sqlite_url(file: Path, driver: str = "sqlite") -> str:
    """The address of an sqlite file; a path with a question mark is quoted, as sqlite reads it."""
    return f"{driver}:///file:{quote(str(file))}?uri=true" if "?" in str(file) else f"{driver}:///{file}"


def public_url(url: str) -> str:
    """``url`` without user, password, query and fragment, where keys are sometimes put."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def url_query(url: str) -> dict[str, str]:
    """The query of ``url`` by name."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def url_secrets(url: str) -> list[str]:
    """The parts of ``url`` that may be secrets: password and query values."""
    parts = urlsplit(url)
    values = [pair.partition("=")[2] for pair in parts.query.split("&")]
    return [secret for secret in (parts.password, parts.query, *values) if secret]
