"""The response store: every reply that was paid for under the key of its request, and the ledgers, in one database.

One thread per process writes; all jobs that wait for it go into one transaction, so that a thousand replies a second
cost a few dozen commits. Several processes may use the store at once.
"""

import asyncio
import queue
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

import sqlalchemy as sa
from pydantic import ConfigDict, Field

from schemas.errors import StoreError
from schemas.params.llm import Budget
from tasks.transport.database import Where, beat, connect, is_postgres, named_errors, responses, transaction
from tasks.transport.ledger import forfeit_dead, free, reserve, settle
from tasks.transport.processes import this_process

GROUP = 500
"""Most operations in one transaction."""

HEARTBEAT_S = 20.0
"""Seconds after which a process shows again that it is alive, where several machines use the store."""
WAIT_S = 0.2
"""Seconds between two looks whether a request of another process is answered, or room under a cap free."""

Operation = Callable[[sa.Connection], Any]
_Job = tuple[Operation, "Future[Any]"]

Count = Annotated[int, Field(ge=0, lt=2**63)]
"""A number that the database can hold."""


@dataclass(frozen=True, slots=True)
class Paid:
    """One reply as it is kept. ``request`` and ``reply`` are the bodies as sent and received."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)  # of imported replies

    key: bytes
    identity: str
    role: str
    stage: str
    task: str
    model: str
    request: bytes
    reply: str
    prompt_tokens: Count
    completion_tokens: Count
    dollars: Annotated[float, Field(ge=0.0)] = 0.0
    sample: Count | None = None
    cached_tokens: Count = 0
    estimated: bool = False  # the reply gave no usage: the tokens are an estimate
    created: str | None = None  # now, unless it is copied from another store

    def insert(self, connection: sa.Connection) -> bool:
        """Add the row; False when the key is there already."""
        row = {name: getattr(self, name) for name in COLUMNS}
        row |= {"request": pack(self.request), "reply": pack(self.reply.encode()), "estimated": int(self.estimated)}
        row["created"] = self.created or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return bool(connection.execute(_INSERT, row).rowcount == 1)


COLUMNS = tuple(field.name for field in fields(Paid))
_INSERT = sa.text(
    f"INSERT INTO responses ({', '.join(COLUMNS)}) VALUES (:{', :'.join(COLUMNS)}) ON CONFLICT (key) DO NOTHING"
)
_FIND = sa.select(responses.c.reply).where(responses.c.key == sa.bindparam("key"))


def pack(content: bytes) -> bytes:
    """A request's or reply's body as it is stored."""
    return zlib.compress(content, 1)


class Unreadable(Exception):
    """A row of the store whose content is not what was stored."""


def unpack(stored: bytes) -> str:
    """The body that `pack` stored. Raises Unreadable."""
    try:
        return zlib.decompress(stored).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from error


class ResponseStore(AbstractContextManager["ResponseStore"]):
    """The store as one process uses it; open it as a context."""

    def __init__(self, path: Where) -> None:
        self.path = path
        self._reader = connect(path)
        self._writer = connect(path)
        self._is_shared = is_postgres(path)
        self._swept = set[str]()  # ledgers in which the reservations of dead processes are booked
        self._full = asyncio.Lock()
        self._beat = float("-inf")
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_groups, name="response-store", daemon=True)
        self._thread.start()

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
        """The kept reply's body, or None. Only committed replies are found. Raises Unreadable and StoreError."""
        with named_errors(self._reader.engine.url):
            stored = self._reader.execute(_FIND, {"key": key}).scalar()
        return None if stored is None else unpack(stored)

    async def do(self, operation: Operation) -> Any:
        """Run ``operation`` in a transaction; returns its result once that is committed. Raises StoreError."""
        done: Future[Any] = Future()
        done.set_running_or_notify_cancel()  # it is run even if whoever waits for it is cancelled
        self._queue.put((operation, done))
        return await asyncio.wrap_future(done)

    async def run(self, statement: sa.Executable) -> None:
        """Run one statement, as `do` does."""
        await self.do(lambda connection: connection.execute(statement).close())

    async def reserve(self, key: bytes, budget: Budget, dollars: float, tokens: int) -> bool:
        """Reserve the most that a request can cost.

        False when another process has the same request under way, or its reply has come in the meantime. Waits while
        only requests under way keep it from fitting under the cap; raises BudgetError when none is, and the cap is
        reached.
        """

        def attempt(connection: sa.Connection) -> str:
            if budget.ledger not in self._swept:
                forfeit_dead(connection, budget.ledger)
            return reserve(connection, key, budget, dollars, tokens)

        if (state := await self.do(attempt)) == "full":
            async with self._full:  # a single request looks for room, or those that wait would keep others from writing
                while (state := await self.do(attempt)) == "full":
                    await asyncio.sleep(WAIT_S)
        self._swept.add(budget.ledger)  # not before that is on disk
        return bool(state == "reserved")

    async def keep(self, paid: "Paid", ledger: str | None) -> bool:
        """Commit a reply, and book it under a ledger's name unless it is free; True once it is on disk.

        False, and nothing is booked, where the store had it already.
        """

        def write(connection: sa.Connection) -> bool:
            fresh = paid.insert(connection)
            if fresh and ledger is not None:
                settle(connection, paid.key, ledger, paid.dollars, paid.prompt_tokens + paid.completion_tokens)
            elif ledger is not None:
                free(connection, paid.key)
            return fresh

        return bool(await self.do(write))

    async def delete(self, key: bytes) -> None:
        """Delete a kept reply."""
        await self.run(sa.delete(responses).where(responses.c.key == key))

    def do_now(self, operation: Operation) -> Any:
        """`do` for callers without an event loop, of one statement; one that reads needs no right to write."""
        with named_errors(self._reader.engine.url):
            return operation(self._reader)

    def _write_groups(self) -> None:
        while (job := self._next()) is not None:
            group = [job]
            while len(group) < GROUP and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    self._write(group)
                    return
                group.append(following)
            self._write(group)

    def _next(self) -> _Job | None:
        """The next job; while there is none, other machines are shown that this process is alive."""
        while self._is_shared:
            if time.monotonic() - self._beat >= HEARTBEAT_S:
                self._beat = time.monotonic()
                with suppress(StoreError), transaction(self._writer):
                    beat(self._writer, this_process())
            try:
                return self._queue.get(timeout=HEARTBEAT_S)
            except queue.Empty:
                continue
        return self._queue.get()

    def _write(self, group: list[_Job]) -> None:
        try:
            with transaction(self._writer):
                results = [operation(self._writer) for operation, _ in group]
        except Exception as error:
            if len(group) == 1:
                group[0][1].set_exception(error)
                return
            for job in group:  # one of them failed: each on its own, so that it takes no other with it
                self._write([job])
            return
        for (_, done), result in zip(group, results, strict=True):
            done.set_result(result)
