"""One OpenAI-compatible endpoint: sends a body, gives back the raw reply or says what went wrong. Imports openai.

Retries nothing and keeps nothing: `tasks.llm.direct` and `tasks.llm.batch` decide what follows from a failure.
"""

import email.utils
import json
import time
from typing import Any

import openai

from tasks.llm.redaction import Redactor, public_url, url_secrets

FATAL = {401, 403, 404}
"""The key is refused or the model unknown: no request to this endpoint can succeed."""
TRANSIENT = {408, 409, 425, 429}


class SendFailure(Exception):
    """A request that brought no usable reply.

    ``kind``: "fatal" (no request can succeed), "rejected" (this request cannot), "busy" (asked to slow down) or "lost"
    (anything that may pass: timeouts, dropped lines, server errors). ``wait_s`` is what the endpoint asked to wait.
    """

    def __init__(self, kind: str, reason: str, wait_s: float | None = None, status: int | None = None) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.wait_s, self.status = kind, reason, wait_s, status


class Endpoint:
    """The endpoint at ``base_url``; ``api_key`` is used for nothing but the request header.

    ``key_name``, the variable that holds the key, is named when the endpoint wants one and there is none.
    """

    def __init__(self, base_url: str, api_key: str | None, timeout_s: float, key_name: str = "the API key") -> None:
        self.address = public_url(base_url)
        self._missing_key = None if api_key else f"; the variable {key_name} is not set: export it, then run again"
        self.redact = Redactor(api_key, *url_secrets(base_url))
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout_s, max_retries=0
        )

    async def chat(self, content: bytes) -> str:
        """Send the JSON bytes of a chat completion request; the reply's body as text. Raises SendFailure."""
        json_type: Any = {"headers": {"Content-Type": "application/json"}}
        try:
            return self.redact(
                await self._client.post("/chat/completions", cast_to=str, content=content, options=json_type)
            )
        except openai.OpenAIError as error:
            raise self._failure(error) from None  # the cause holds the request with its headers

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON at ``path``. Raises SendFailure."""
        try:
            return _json_object(await self._client.get(path, cast_to=str))
        except openai.OpenAIError as error:
            raise self._failure(error) from None

    async def get_text(self, path: str) -> str:
        """The text at ``path`` (the content of a file). Raises SendFailure."""
        try:
            return self.redact(await self._client.get(path, cast_to=str))
        except openai.OpenAIError as error:
            raise self._failure(error) from None

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send ``body`` as JSON; the reply's JSON. Raises SendFailure."""
        try:
            return _json_object(await self._client.post(path, cast_to=str, body=body))
        except openai.OpenAIError as error:
            raise self._failure(error) from None

    async def upload(self, content: bytes) -> str:
        """Upload a file of batch requests; its id. Raises SendFailure."""
        try:
            file = await self._client.files.create(file=("requests.jsonl", content), purpose="batch")
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
        status, code = error.status_code, str(error.code or "")
        reason = self.redact(f"HTTP {status}: {_message(error)}")
        if status in (401, 403) and self._missing_key:
            reason += self._missing_key
        if status in FATAL or code == "insufficient_quota":
            return SendFailure("fatal", reason, status=status)
        if status in TRANSIENT or status >= 500:
            kind = "busy" if status in (429, 503) else "lost"
            return SendFailure(kind, reason, _wait(error.response.headers), status)
        return SendFailure("rejected", reason, status=status)


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
