"""The openai client of an endpoint, and what its errors mean. Imports openai.

A rejection of a request for its content fails one call. One for a setting would repeat for each call, so it stops the
stage and names the setting.

The client retries nothing: `tasks.transport.client` decides what follows from a failure. It follows no redirect, which
would hand keys and prompts to another address, and reads no more than a limit.
"""

import email.utils
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2 as httpx  # of the client library
import openai

from schemas.params.llm import Role, RoleName, Sending, by_hand
from tasks.llm.replies import LONGEST_ERROR, SendFailure, error_of, words_of
from tasks.transport.shown import public_url

FATAL = {401, 402, 403, 404, 501}
"""The key is refused, the account has no credit, or the model or path is unknown: no request here can succeed."""
TRANSIENT = {408, 409, 425, 429}
NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "insufficient_credits")
"""Codes and types of errors that mean an exhausted account, whatever their HTTP status."""

AZURE_DEPLOYMENT = "/openai/deployments/"

NOT_SENT = (
    *(httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError),
    *(httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL),
)
"""Failures before the request left; after any other one, the model may have answered."""
GATEWAY = {502, 504, 522, 524}
"""Statuses of a gateway that gave up waiting: the model behind it may have answered."""

LARGEST_REPLY = 16_000_000
"""Bytes of a reply, unpacked. A reply of a million tokens has some four million."""
ENCODINGS = ("", "identity", "gzip", "deflate")
"""Those in which a few bytes cannot unpack to more than a thousand times as many."""

REPEATS = 20
"""Rejections in a row for the same reason, without a success between them, that stop the stage."""

REFUSALS = re.compile(
    r"unsupported|not supported|n.t support|unknown|unrecognized|not permitted|extra_forbidden|unavailable|invalid"
)

NOT_SENT_WITHOUT_KEY = "no key"
"""Code of the failure of requests that are not sent, as the key that the params name is not there."""
PACKING = (b"content-encoding", b"content-length", b"transfer-encoding", b"content-type")
"""Headers that do not hold of the unpacked body; JSON is UTF-8, whatever charset its type names."""
ACCEPTED = {"Accept": "application/json", "Accept-Encoding": "gzip, deflate"}
CONNECTIONS = httpx.Limits(max_connections=None, max_keepalive_connections=100)

App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]
"""An ASGI application."""
IN_PROCESS = "http://simulator/v1"
"""The address under which an application in this process is asked."""


def connect(
    role: Role, sending: Sending, url: str, key: str | None, app: App | None = None, unsent: str | None = None
) -> openai.AsyncOpenAI:
    """The openai client of an address. ``app`` answers in its place within this process.

    ``unsent``: why nothing may be sent. The key is used for nothing but the header of requests, see `key_headers`.
    """
    address = httpx.URL(url)
    # Keeps the client library from sending OPENAI_ORG_ID and OPENAI_PROJECT_ID to other hosts than OpenAI's.
    account: Any = {} if role.is_openai else {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    within = httpx.ASGITransport(app, raise_app_exceptions=False) if app else _Bounded(address, unsent)
    return openai.AsyncOpenAI(
        base_url=address.copy_with(query=None),
        api_key=key or "none",
        timeout=sending.timeout_s,
        max_retries=0,
        default_query={**dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)), **role.query},
        default_headers={**ACCEPTED, **account, **role.headers},
        http_client=httpx.AsyncClient(
            transport=within, timeout=sending.timeout_s, follow_redirects=False, trust_env=False
        ),
    )


def failure_of(error: openai.OpenAIError, path: str, no_key: str | None) -> SendFailure:
    """What an error of a request to ``path`` means; its reason may hold secrets. ``no_key``: why no key was sent."""
    if isinstance(error, openai.APIStatusError):
        reply = error.response
        if not reply.is_redirect:
            return _status_failure(reply.status_code, reply.headers, reply.text, no_key)
        to = public_url(reply.headers.get("location", ""))
        reason = f"{path} redirects to {to}, and redirects are not followed: set base_url to the address meant"
        return SendFailure("fatal", reason, status=reply.status_code)
    cause = error.__cause__ or error
    if isinstance(cause, SendFailure):
        return cause
    is_unknown = not isinstance(cause, NOT_SENT)
    if is_unknown and isinstance(error, openai.APITimeoutError):
        return SendFailure("lost", "timeout", unknown=True)
    name, said = type(cause).__name__, cause
    while not str(said) and (said.__cause__ or said.__context__):  # the outer errors may be without words
        said = said.__cause__ or said.__context__
    return SendFailure("lost", f"connection failed ({name}: {said})", unknown=is_unknown)


def _status_failure(status: int, headers: Mapping[str, str], body: str, no_key: str | None) -> SendFailure:
    error = _error_of(body)
    kinds = [str(error[name])[:LONGEST_ERROR] for name in ("code", "type") if error.get(name)]
    code, param = kinds[0] if kinds else "", str(error.get("param") or "")
    reason = f"HTTP {status}: {words_of(error)}"
    if status in (401, 403) and no_key:
        reason += f"; {no_key}"
    if status == 402 or not set(kinds).isdisjoint(NO_CREDIT):
        reason += " (the account's credit or quota is used up: add credit, then run again)"
        return SendFailure("fatal", reason, status=status, code=code)
    if status in FATAL:
        return SendFailure("fatal", reason, status=status, code=code)
    if status in TRANSIENT or status >= 500:
        kind = "busy" if status in (429, 503) else "lost"
        return SendFailure(kind, reason, _wait(headers), status, code, unknown=status in GATEWAY)
    return SendFailure("rejected", reason, status=status, code=code, param=param)


class _Bounded(httpx.AsyncBaseTransport):
    """Reads replies whole, unpacked, up to a limit; goes through the proxy of the environment, if there is one.

    ``missing``: why nothing may be sent, such as a key that was named and is not there.
    """

    def __init__(self, url: httpx.URL, missing: str | None = None) -> None:
        self._missing = missing
        proxy = None if proxy_bypass(url.host) else getproxies().get(url.scheme) or getproxies().get("all")
        proxy = f"http://{proxy}" if proxy and "://" not in proxy else proxy  # as other programs read it
        secure = url.scheme == "https" or proxy is not None  # certificates take 20 ms to load
        self._inner = httpx.AsyncHTTPTransport(verify=secure, limits=CONNECTIONS, proxy=proxy)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The reply without its encoding. Raises SendFailure for one that is too long or strangely encoded."""
        if self._missing:
            raise SendFailure("fatal", self._missing, code=NOT_SENT_WITHOUT_KEY)
        packed = await self._inner.handle_async_request(request)
        try:
            body = await _unpacked(packed, LARGEST_REPLY)
        finally:
            await packed.aclose()
        headers = [pair for pair in packed.headers.raw if pair[0].lower() not in PACKING]
        return httpx.Response(packed.status_code, headers=headers, content=body)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


async def _unpacked(response: httpx.Response, most: int) -> bytes:
    """The body of a reply, unpacked as it comes; the beginning of a longer one, where it is an error."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ENCODINGS:
        raise SendFailure("garbled", f"reply is encoded as {encoding[:40]!r}, which was not asked for")
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most and response.is_success:
            raise SendFailure("garbled", f"reply is longer than {most / 1e6:.0f} MB")
        if len(body) > most:
            break
    return bytes(body[:most])


def missing_key(role: RoleName, variable: str | None) -> str:
    """Why no key is sent, and what to do."""
    if variable:
        return f"the variable {variable} is not set: export it, then run again"
    here = f"runtime.sending.{role}.api_key_env"
    return f"no key was sent: name the variable that holds it in {here} ({by_hand('api_key_env=VARIABLE')})"


def key_headers(role: Role, sending: Sending, key: str | None) -> dict[str, Any]:
    """The headers of each request for the key, where it is not sent as a bearer token or there is none."""
    name = sending.api_key_header or ("api-key" if AZURE_DEPLOYMENT in role.base_url else None)
    if key is None:
        return {"Authorization": openai.Omit()}
    return {} if name is None else {"Authorization": openai.Omit(), name: key}


def _error_of(body: str) -> dict[str, Any]:
    """The fields of an OpenAI-style error; any other text is its message."""
    try:
        loaded = json.loads(body)
        return error_of(loaded) or {"message": loaded or "no message"}
    except (ValueError, RecursionError):
        return {"message": body.strip() or "no message"}


def json_object(text: str) -> dict[str, Any]:
    """The JSON object that a reply is. Raises SendFailure."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SendFailure("garbled", f"reply is not JSON: {text[:100]!r}") from error
    if not isinstance(loaded, dict):
        raise SendFailure("garbled", f"reply is not a JSON object: {text[:100]!r}")
    return loaded


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply's headers ask to wait: ``retry-after-ms``, or ``Retry-After`` in seconds or as a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        if "retry-after" not in headers:
            return None
        value = headers["retry-after"]
        date = email.utils.parsedate_tz(value)
        return max(0.0, email.utils.mktime_tz(date) - time.time() if date else float(value))
    except (ValueError, OverflowError):
        return None


def of_structure(failure: SendFailure) -> bool:
    """Whether an endpoint rejects the way in which a structured reply was asked for."""
    if failure.kind != "rejected" or failure.is_of_one_text:
        return False
    return failure.param.startswith("response_format") or bool(
        re.search(r"response_format|json_schema|json_object|structured output|guided|grammar", failure.reason)
    )


def setting_at_fault(failure: SendFailure, role: Role) -> str | None:
    """The setting of a role that a rejection names, with the value to try; None where it names none."""
    said = failure.reason.lower()
    if of_structure(failure):
        return f"structured: auto (or json_object, or prompt; {by_hand('structured=prompt')})"
    settings = _settings(role)
    if failure.param in settings:
        return settings[failure.param]
    if failure.param or not REFUSALS.search(said):
        return None
    return next((setting for field, setting in settings.items() if re.search(rf"\b{field}\b", said)), None)


def _settings(role: Role) -> dict[str, str]:
    """The setting to change for each field of a request's body."""
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[role.max_tokens_field]
    limits = f"max_tokens_field: {other} (or a smaller max_tokens; {by_hand(f'max_tokens_field={other}')})"
    return {
        "max_tokens": limits,
        "max_completion_tokens": limits,
        "temperature": f"temperature: null (or the value that the model accepts; {by_hand('temperature=null')})",
        "seed": f"send_seed: false ({by_hand('send_seed=false')})",
        **{name: f"extra_body without {name!r}" for name in role.extra_body},
    }
