"""One OpenAI-compatible endpoint: sends a body, returns the raw reply or raises SendFailure. Imports openai.

Retries nothing and keeps nothing: `tasks.llm.direct` and `tasks.llm.batch` decide what follows from a failure.
"""

import email.utils
import json
import os
import time
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import openai

from schemas.params.llm import Role, Sending, key_variable
from tasks.llm.failures import SendFailure
from tasks.llm.redaction import Redactor, public_url, url_query, url_secrets

FATAL = {401, 402, 403, 404}
"""The key is refused, the account has no credit, or the model is unknown: no request to this endpoint can succeed."""
TRANSIENT = {408, 409, 425, 429}
NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "insufficient_credits")
"""Codes and types of errors that mean an exhausted account, whatever their HTTP status."""

AZURE_DEPLOYMENT = "/openai/deployments/"


class Endpoint:
    """The endpoint of a role. ``base_url`` replaces the role's own (the address of the simulator).

    The key is read from the environment and used for nothing but the request header.
    """

    def __init__(self, role: Role, sending: Sending, base_url: str | None = None) -> None:
        url = base_url or role.base_url
        variable = key_variable(role, sending)
        key = os.environ.get(variable) if variable else None
        self.address = public_url(url)
        self._missing_key = None if key else _missing_key(variable)
        self.redact = Redactor(key, *url_secrets(url), *role.query.values(), *role.headers.values())
        self._client = openai.AsyncOpenAI(
            base_url=_without_query(url),
            api_key=key or "none",
            timeout=sending.timeout_s,
            max_retries=0,
            default_query={**url_query(url), **role.query},
            default_headers={**_default_headers(role), **role.headers},
        )
        self._headers = _key_headers(role, sending, key)

    async def chat(self, content: bytes) -> str:
        """Send the JSON bytes of a chat completion request; the reply's body as text. Raises SendFailure."""
        options: Any = {"headers": {**self._headers, "Content-Type": "application/json"}}
        try:
            return await self._client.post("/chat/completions", cast_to=str, content=content, options=options)
        except openai.OpenAIError as error:
            raise self._failure(error) from None  # the cause holds the request with its headers

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON at ``path``. Raises SendFailure."""
        return _json_object(await self.get_text(path))

    async def get_text(self, path: str) -> str:
        """The text at ``path`` (the content of a file). Raises SendFailure."""
        try:
            return await self._client.get(path, cast_to=str, options={"headers": self._headers})
        except openai.OpenAIError as error:
            raise self._failure(error) from None

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send ``body`` as JSON; the reply's JSON. Raises SendFailure."""
        try:
            return _json_object(
                await self._client.post(path, cast_to=str, body=body, options={"headers": self._headers})
            )
        except openai.OpenAIError as error:
            raise self._failure(error) from None

    async def upload(self, content: bytes) -> str:
        """Upload a file of batch requests; its id. Raises SendFailure."""
        try:
            file = await self._client.files.create(
                file=("requests.jsonl", content), purpose="batch", extra_headers=self._headers
            )
        except openai.OpenAIError as error:
            raise self._failure(error) from None
        return file.id

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def _failure(self, error: openai.OpenAIError) -> SendFailure:
        if isinstance(error, openai.APITimeoutError):
            return SendFailure("lost", "timeout")
        if isinstance(error, openai.APIStatusError):
            return self._status_failure(error)
        cause = error.__cause__ or error
        return SendFailure("lost", self.redact(f"connection failed ({type(cause).__name__}: {cause})"))

    def _status_failure(self, error: openai.APIStatusError) -> SendFailure:
        status, code, param = error.status_code, str(error.code or error.type or ""), str(error.param or "")
        reason = self.redact(f"HTTP {status}: {_message(error)}")
        if status in (401, 403) and self._missing_key:
            reason += self._missing_key
        if code in NO_CREDIT or error.type in NO_CREDIT or status == 402:
            reason += " (the account's credit or quota is used up: add credit, then run again)"
            return SendFailure("fatal", reason, status=status, code=code)
        if status in FATAL:
            return SendFailure("fatal", reason, status=status, code=code)
        if status in TRANSIENT or status >= 500:
            kind = "busy" if status in (429, 503) else "lost"
            return SendFailure(kind, reason, _wait(error.response.headers), status, code)
        return SendFailure("rejected", reason, status=status, code=code, param=param)


def _missing_key(variable: str | None) -> str:
    if variable:
        return f"; the variable {variable} is not set: export it, then run again"
    return "; no key was sent: name the variable that holds it in runtime.sending.<role>.api_key_env"


def _default_headers(role: Role) -> dict[str, Any]:
    """Keeps the client library from sending OPENAI_ORG_ID and OPENAI_PROJECT_ID to other hosts than OpenAI's."""
    return {} if role.is_openai else {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}


def _key_headers(role: Role, sending: Sending, key: str | None) -> dict[str, Any]:
    """The headers for the key, where it is not sent as a bearer token or there is none."""
    name = sending.api_key_header or ("api-key" if AZURE_DEPLOYMENT in role.base_url else None)
    if key is None:
        return {"Authorization": openai.Omit()}
    return {} if name is None else {"Authorization": openai.Omit(), name: key}


def _without_query(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def _json_object(text: str) -> dict[str, Any]:
    try:
        loaded = json.loads(text)
    except ValueError as error:
        raise SendFailure("lost", f"reply is not JSON: {text[:100]!r}") from error
    if not isinstance(loaded, dict):
        raise SendFailure("lost", f"reply is not a JSON object: {text[:100]!r}")
    return loaded


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict):
        return str(body.get("message") or body)[:500]
    return str(body or error.message)[:500]


def _wait(headers: Any) -> float | None:
    """Seconds that a reply's headers ask to wait: ``retry-after-ms``, or ``Retry-After`` in seconds or as a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        if "retry-after" not in headers:
            return None
        value = headers["retry-after"]
        date = email.utils.parsedate_tz(value)
        return max(0.0, email.utils.mktime_tz(date) - time.time() if date else float(value))
    except ValueError:
        return None
