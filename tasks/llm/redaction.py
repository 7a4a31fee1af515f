"""Keeps secrets out of all that is kept or shown."""

from urllib.parse import urlsplit, urlunsplit

HIDDEN = "[redacted]"


class Redactor:
    """Replaces the given secrets wherever they occur in a text."""

    def __init__(self, *secrets: str | None) -> None:
        self._secrets = sorted({s for s in secrets if s and len(s) >= 4}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """``text`` without any of the secrets."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        return text


def public_url(url: str) -> str:
    """``url`` without user, password, query and fragment, where keys are sometimes put."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def url_secrets(url: str) -> list[str]:
    """The parts of ``url`` that may be secrets: password and query values."""
    parts = urlsplit(url)
    values = [pair.partition("=")[2] for pair in parts.query.split("&")]
    return [secret for secret in (parts.password, parts.query, *values) if secret]
