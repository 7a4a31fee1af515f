"""Opens the response store's database: an sqlite file, or PostgreSQL for runs on several machines.

SQL elsewhere is written once, with ``?`` for values, in the dialect that both share.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from schemas.errors import StoreError
from tasks.llm.redaction import public_url
from tasks.llm.tables import TABLES

BUSY_S = 60.0
"""Seconds to wait for another process's transaction."""

_ADDED = {
    "responses": {
        "sample": "INTEGER",
        "cached_tokens": "INTEGER NOT NULL DEFAULT 0",
        "estimated": "INTEGER NOT NULL DEFAULT 0",
    },
    "reservations": {"host": "TEXT NOT NULL DEFAULT ''"},
}
"""Columns that files of earlier versions lack."""


POSTGRES = "postgresql"
"""Beginning of the address of a PostgreSQL store: ``postgresql+psycopg://user@host/database``."""

Where = Path | str
"""A file, or the address of a PostgreSQL database."""


class Connection(Protocol):
    """The part of a DB-API connection that the store uses; sqlite3's own fits it."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """Run one statement with ``?`` for each value; its cursor."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


def is_postgres(where: Where) -> bool:
    """Whether ``where`` is the address of a PostgreSQL database."""
    return isinstance(where, str) and where.startswith(POSTGRES)


def exists(where: Where) -> bool:
    """Whether there is a store to read; a database is always taken to be there."""
    return is_postgres(where) or Path(where).exists()


def connect(where: Where) -> Connection:
    """Open the store's database, creating its tables when absent. Raises StoreError."""
    if is_postgres(where):
        from tasks.llm.postgres import connect_postgres  # loads psycopg, an optional dependency

        return connect_postgres(str(where))
    return _connect_sqlite(Path(where))


def _connect_sqlite(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous=FULL")  # a committed reply outlives a power cut too
        connection.executescript(TABLES)
        _add_columns(connection)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path}: not a usable response store ({error}); check the disk, or move it away") from error
    return connection


@retry(
    retry=retry_if_exception_message(match="database is locked"),
    stop=stop_after_delay(BUSY_S),
    wait=wait_random(0.01, 0.1),
    reraise=True,
)
def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn on write-ahead logging. sqlite does not wait for its lock when others do so for a new file."""
    connection.execute("PRAGMA journal_mode=WAL")


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
def transaction(connection: Connection, where: Where) -> Iterator[None]:
    """One write transaction, all or nothing, one at a time. Raises StoreError naming the store."""
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
        name = public_url(str(where)) if is_postgres(where) else where
        raise StoreError(f"{name}: response store cannot be written ({error}); free space and run again") from error
