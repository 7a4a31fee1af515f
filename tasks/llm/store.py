"""The response store: every reply that was paid for, kept in one sqlite file under the key of its request.

One thread a process writes; what is waiting when it comes round goes into one transaction, so that a thousand replies
a second cost a few dozen commits. Several processes may use the file at once (WAL).
"""

import asyncio
import queue
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.errors import StoreError

BUSY_S = 60.0
"""Seconds to wait for another process's transaction."""

GROUP = 500
"""Most operations in one transaction."""

_TABLES = """
CREATE TABLE IF NOT EXISTS responses (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,        -- hash of role identity, request and sample index
    identity TEXT NOT NULL,          -- identity and epoch of the role that answered
    role TEXT NOT NULL,
    stage TEXT NOT NULL,
    task TEXT NOT NULL,
    model TEXT NOT NULL,             -- as the reply names it
    request BLOB NOT NULL,           -- zlib
    reply BLOB NOT NULL,             -- zlib
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    dollars REAL NOT NULL,
    created TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
);
CREATE TABLE IF NOT EXISTS ledgers (
    name TEXT PRIMARY KEY,
    dollars REAL NOT NULL,
    tokens INTEGER NOT NULL,
    calls INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS reservations (
    key BLOB PRIMARY KEY,            -- a request that is under way
    ledger TEXT NOT NULL,
    dollars REAL NOT NULL,           -- the most that it can cost
    tokens INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    born REAL NOT NULL,              -- when that process started: pids come round again
    in_batch INTEGER NOT NULL        -- 1: under way in a batch, whatever becomes of the process
);
CREATE TABLE IF NOT EXISTS batches (
    token TEXT PRIMARY KEY,          -- ours, sent along as metadata, known before the endpoint's id is
    address TEXT NOT NULL,
    identity TEXT NOT NULL,
    stage TEXT NOT NULL,
    batch_id TEXT,
    keys BLOB NOT NULL               -- the requests' keys, 32 bytes each
);
CREATE TABLE IF NOT EXISTS fingerprints (
    role TEXT NOT NULL,
    identity TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    content TEXT NOT NULL,           -- the file in fingerprints/
    PRIMARY KEY (role, identity, epoch)
);
"""

Operation = Callable[[sqlite3.Connection], Any]


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

    def insert(self, connection: sqlite3.Connection) -> bool:
        """Add the row; False when the key is there already."""
        columns = "key, identity, role, stage, task, model, request, reply, prompt_tokens, completion_tokens, dollars"
        values = (self.key, self.identity, self.role, self.stage, self.task, self.model)
        packed = (zlib.compress(self.request, 1), zlib.compress(self.reply.encode(), 1))
        usage = (self.prompt_tokens, self.completion_tokens, self.dollars)
        sql = f"INSERT OR IGNORE INTO responses ({columns}) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
        return connection.execute(sql, (*values, *packed, *usage)).rowcount == 1


def connect(path: Path) -> sqlite3.Connection:
    """Open the store's file, creating it when absent. Raises StoreError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # a committed reply outlives a power cut too
        connection.executescript(_TABLES)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path}: not a usable response store ({error}); check the disk, or move it away") from error
    return connection


class ResponseStore:
    """The store as one process uses it; open it as a context."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = connect(path)
        self._writer = connect(path)
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_groups, name="response-store", daemon=True)
        self._thread.start()

    def __enter__(self) -> "ResponseStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is waiting and close the file."""
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
        while (job := self._queue.get()) is not None:
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


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """One write transaction, all or nothing. Raises StoreError naming the file."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if connection.in_transaction:  # sqlite itself rolls back on a full disk
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise StoreError(f"{path}: response store cannot be written ({error}); free space and run again") from error
