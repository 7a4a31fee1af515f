"""Opens the response store's database and runs transactions in it.

SQL elsewhere is written once, with ``?`` for values, in the dialect that sqlite and PostgreSQL share.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from schemas.errors import StoreError

BUSY_S = 60.0
"""Seconds to wait for another process's transaction."""

TABLES = """
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
    created TEXT NOT NULL,           -- UTC
    sample INTEGER,                  -- the request's sample index
    cached_tokens INTEGER NOT NULL DEFAULT 0,   -- of prompt_tokens, those that the endpoint had cached
    estimated INTEGER NOT NULL DEFAULT 0        -- 1: the reply gave no usage, the tokens are an estimate
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
    born REAL NOT NULL,              -- when that process started: pids are reused
    in_batch INTEGER NOT NULL,       -- 1: under way in a batch, whatever becomes of the process
    host TEXT NOT NULL DEFAULT ''    -- where that process runs
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
CREATE TABLE IF NOT EXISTS rates (
    name TEXT PRIMARY KEY,           -- endpoint and what is limited
    free_at REAL NOT NULL            -- when the next unit may be used, in seconds since 1970
);
"""

_ADDED = {
    "responses": {
        "sample": "INTEGER",
        "cached_tokens": "INTEGER NOT NULL DEFAULT 0",
        "estimated": "INTEGER NOT NULL DEFAULT 0",
    },
    "reservations": {"host": "TEXT NOT NULL DEFAULT ''"},
}
"""Columns that files of earlier versions lack."""


class Connection(Protocol):
    """The part of a DB-API connection that the store uses; sqlite3's own fits it."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """Run one statement with ``?`` for each value; its cursor."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


def connect(path: Path) -> sqlite3.Connection:
    """Open the store's file, creating it when absent. Raises StoreError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # a committed reply outlives a power cut too
        connection.executescript(TABLES)
        _add_columns(connection)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path}: not a usable response store ({error}); check the disk, or move it away") from error
    return connection


def _add_columns(connection: sqlite3.Connection) -> None:
    for table, columns in _ADDED.items():
        present = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for name, kind in columns.items():
            if name in present:
                continue
            try:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
            except sqlite3.OperationalError as error:  # another process has just added it
                if "duplicate column" not in str(error):
                    raise


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
