"""The files of OpenAI's Batch API, and the batches under way as the response store records them.

A file holds one line of JSON a request or a reply, in no set order.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import sqlalchemy as sa

from tasks.llm.replies import Completion, SendFailure, read_completion
from tasks.llm.requests import Request, to_bytes
from tasks.transport.database import batches, reservations
from tasks.transport.endpoint import LARGEST_REPLY, LONGEST_ERROR
from tasks.transport.shown import printable
from tasks.transport.store import ResponseStore, split_keys

MAX_REQUESTS = 50_000
"""Requests in a batch, as documented."""

MAX_BYTES = 200_000_000
"""Size of its file, as documented (200 MB)."""

PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class Result:
    """The result of one request of a batch: body and completion, or else its failure."""

    key: bytes
    body: str = ""
    completion: Completion | None = None
    failure: SendFailure = field(default_factory=lambda: SendFailure("lost", "no result"))


def request_line(request: Request) -> bytes:
    """A request as a line of a batch file; the line holds the request's own bytes."""
    head = f'{{"custom_id":"{request.key.hex()}","method":"POST","url":"{PATH}","body":'
    return head.encode() + request.content + b"}\n"


def split(
    requests: Iterable[Request], max_requests: int = MAX_REQUESTS, max_bytes: int = MAX_BYTES
) -> Iterator[tuple[list[Request], bytes]]:
    """Group requests into files within the limits: the requests of each and its bytes."""
    group: list[Request] = []
    lines: list[bytes] = []
    size = 0
    for request in requests:
        line = request_line(request)
        if group and (len(group) == max_requests or size + len(line) > max_bytes):
            yield group, b"".join(lines)
            group, lines, size = [], [], 0
        group.append(request)
        lines.append(line)
        size += len(line)
    if group:
        yield group, b"".join(lines)


def read_requests(content: bytes) -> dict[bytes, bytes]:
    """The canonical bytes of each request of a batch file, by key."""
    return {key: to_bytes(loaded["body"]) for key, loaded in _lines(content) if isinstance(loaded.get("body"), dict)}


def read_results(content: bytes) -> Iterator[Result]:
    """The results in an output or error file."""
    return (_result(key, loaded) for key, loaded in _lines(content))


def _lines(content: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Key and content of each line; one that cannot be read is left out: its request counts as not answered."""
    for line in BytesIO(content):
        try:
            loaded = json.loads(line if len(line) <= LARGEST_REPLY else b"")
            yield bytes.fromhex(loaded["custom_id"]), dict(loaded)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue


def _result(key: bytes, loaded: dict[str, Any]) -> Result:
    response, error = loaded.get("response"), loaded.get("error")
    if isinstance(response, dict):
        status, body = response.get("status_code"), response.get("body")
        if status == 200:
            text = json.dumps(body, ensure_ascii=False)
            try:
                return Result(key, text, read_completion(text))
            except SendFailure as failure:
                return Result(key, failure=failure)
        message = body.get("error", body) if isinstance(body, dict) else body
        told = message.get("message") if isinstance(message, dict) else message
        passes = isinstance(status, int) and (status in (408, 409, 429) or status >= 500)
        reason = printable(f"HTTP {status}: {str(told)[:LONGEST_ERROR]}")
        return Result(key, failure=SendFailure("lost" if passes else "rejected", reason))
    code = error.get("code") if isinstance(error, dict) else None
    reason = printable(f"batch: {str(code or error)[:LONGEST_ERROR]}")
    return Result(key, failure=SendFailure("lost", reason))  # expired or cancelled, in the documented cases


@dataclass(frozen=True)
class BatchRow:
    """One batch: our token, the stage that sent it, the endpoint's id once known, and the keys of its requests."""

    token: str
    stage: str
    batch_id: str | None
    keys: list[bytes]


class BatchRows:
    """The open batches of one identity at one address."""

    def __init__(self, store: ResponseStore, address: str, identity: str) -> None:
        self._store, self._address, self._identity = store, address, identity

    async def open(self) -> list[BatchRow]:
        """Batches that were sent and whose results are not kept yet."""
        ours = batches.c.address == self._address, batches.c.identity == self._identity
        columns = batches.c.token, batches.c.stage, batches.c.batch_id, batches.c.request_keys
        statement = sa.select(*columns).where(*ours).order_by(batches.c.token)
        rows = await self._store.do(lambda connection: connection.execute(statement).all())
        return [BatchRow(token, stage, batch_id, split_keys(keys)) for token, stage, batch_id, keys in rows]

    async def add(self, row: BatchRow) -> None:
        """Record a batch before it is created, and mark its reservations."""
        values = {"token": row.token, "stage": row.stage, "batch_id": row.batch_id, "request_keys": b"".join(row.keys)}
        values |= {"address": self._address, "identity": self._identity}
        mark = sa.update(reservations).where(reservations.c.key == sa.bindparam("of")).values(in_batch=1)

        def write(connection: sa.Connection) -> None:
            connection.execute(sa.insert(batches), values)
            connection.execute(mark, [{"of": key} for key in row.keys])

        await self._store.do(write)

    async def set_id(self, token: str, batch_id: str) -> None:
        """Note the endpoint's id of a batch."""
        await self._store.run(sa.update(batches).where(batches.c.token == token).values(batch_id=batch_id))

    async def remove(self, token: str) -> None:
        """Forget a batch whose results are kept."""
        await self._store.run(sa.delete(batches).where(batches.c.token == token))
