"""The response store: every reply that was paid for, kept in one database under the key of its request.

One thread per process writes; all jobs that wait for it go into one transaction, so that a thousand replies a second
cost a few dozen commits. Several processes may use the store at once.
"""

import asyncio
import queue
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from schemas.errors import StoreError
from tasks.llm.database import Connection, Where, connect, is_postgres, transaction
from tasks.llm.processes import HEARTBEAT_S, beat

GROUP = 500
"""Most operations in one transaction."""

COLUMNS = (
    "key, identity, role, stage, task, model, request, reply, prompt_tokens, completion_tokens, dollars, "
    "created, sample, cached_tokens, estimated"
)

Operation = Callable[[Connection], Any]


@dataclass(frozen=True, slots=True)
class Paid:
    """One reply as it is kept. ``request`` and ``reply`` are the bodies as sent and received."""

    key: bytes
    identity: str
    role: str
    stage: str
    task: str
    model: str
    request: bytes
    reply: str
    prompt_tokens: int
    completion_tokens: int
    dollars: float = 0.0
    sample: int | None = None
    cached_tokens: int = 0
    estimated: bool = False  # the reply gave no usage: the tokens are an estimate
    created: str | None = None  # now, unless it is copied from another store

    def insert(self, connection: Connection) -> bool:
        """Add the row; False when the key is there already."""
        created = self.created or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        values = (self.key, self.identity, self.role, self.stage, self.task, self.model)
        packed = (zlib.compress(self.request, 1), pack(self.reply))
        usage = (self.prompt_tokens, self.completion_tokens, self.dollars)
        more = (created, self.sample, self.cached_tokens, int(self.estimated))
        sql = f"INSERT INTO responses ({COLUMNS}) VALUES ({', '.join('?' * 15)}) ON CONFLICT (key) DO NOTHING"
        return bool(connection.execute(sql, (*values, *packed, *usage, *more)).rowcount == 1)


def pack(reply: str) -> bytes:
    """A reply's body as it is stored."""
    return zlib.compress(reply.encode(), 1)


class ResponseStore:
    """The store as one process uses it; open it as a context."""

    def __init__(self, path: Where) -> None:
        self.path = path
        self._reader = connect(path)
        self._writer = connect(path)
        self._is_shared = is_postgres(path)
        self._beat = float("-inf")
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_groups, name="response-store", daemon=True)
        self._thread.start()

    def __enter__(self) -> "ResponseStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write pending operations and close the file."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
            self._writer.close()
            self._reader.close()

    def find(self, key: bytes) -> str | None:
        """The kept reply's body, or None. Only committed replies are found."""
        row = self._reader.execute("SELECT reply FROM responses WHERE key = ?", (key,)).fetchone()
        return None if row is None else zlib.decompress(row[0]).decode()

    async def do(self, operation: Operation) -> Any:
        """Run ``operation`` in a transaction; returns its result once that is committed. Raises StoreError."""
        loop = asyncio.get_running_loop()
        job = _Job(operation, loop.create_future(), loop)
        self._queue.put(job)
        return await job.future

    def do_now(self, operation: Operation) -> Any:
        """`do` for callers without an event loop."""
        with transaction(self._reader, self.path):
            return operation(self._reader)

    def _write_groups(self) -> None:
        while (job := self._next()) is not None:
            group, ended = [job], False
            while len(group) < GROUP and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    ended = True
                    break
                group.append(following)
            self._write(group)
            if ended:
                return

    def _next(self) -> "_Job | None":
        """The next job; while there is none, other machines are shown that this process is alive."""
        while self._is_shared:
            if time.monotonic() - self._beat >= HEARTBEAT_S:
                self._beat = time.monotonic()
                with suppress(StoreError), transaction(self._writer, self.path):
                    beat(self._writer)
            try:
                return self._queue.get(timeout=HEARTBEAT_S)
            except queue.Empty:
                continue
        return self._queue.get()

    def _write(self, group: list["_Job"]) -> None:
        try:
            with transaction(self._writer, self.path):
                for job in group:
                    job.result = job.operation(self._writer)
        except Exception as error:
            if len(group) > 1:  # one of them failed: each on its own, so that it takes no other with it
                for job in group:
                    self._write([job])
                return
            group[0].error = error
        loops: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        for job in group:
            loops.setdefault(job.loop, []).append(job)
        for loop, jobs in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_tell, jobs)


class _Job:
    __slots__ = ("error", "future", "loop", "operation", "result")

    def __init__(self, operation: Operation, future: "asyncio.Future[Any]", loop: asyncio.AbstractEventLoop) -> None:
        self.operation, self.future, self.loop = operation, future, loop
        self.result: Any = None
        self.error: Exception | None = None


def _tell(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():  # its waiter was cancelled
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
