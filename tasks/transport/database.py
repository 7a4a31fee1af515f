"""The database of the response store: its tables, and connections to it. Imports sqlalchemy.

It is an sqlite file or, for runs on several machines, PostgreSQL. Statements are written once for both.
"""

import os
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import BigInteger, Double, Integer, LargeBinary, Table, Text
from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from schemas.errors import StoreError
from tasks.transport.processes import Process, is_alive

Where = Path | str
"""A file, or the address of a PostgreSQL database: ``postgresql+psycopg://user@host/database``."""

POSTGRES = "postgresql"

BUSY_S = 60.0
"""Seconds to wait for another process's transaction."""

SILENT_S = 120.0
"""Seconds without a sign of life after which a process on another machine counts as gone."""

BEGIN = {"sqlite": "BEGIN IMMEDIATE", POSTGRES: "BEGIN; SELECT pg_advisory_xact_lock(7305)"}
"""Begins a write transaction, one at a time: sqlite locks the file, and PostgreSQL this number."""

DAMAGED = (
    "it is damaged: put back a copy, or move the file away and ask the models again; "
    "`vignette store check` tells what can still be read"
)
REMEDIES = {
    "full": "free space and run again",
    "malformed": DAMAGED,
    "not a database": DAMAGED,
    "locked": "another process writes to it: wait for it, or end it",
    "unable to open": "check the disk and its permissions, or move it away",
    "readonly": "allow this user to write the file and its folder, or copy it to where you may",
    "Read-only": "copy the store to a disk that can be written",
}
"""What to do, by words of the database's message."""

LAYOUT = 3
"""Number of the tables' layout, kept in the store."""
METADATA = sa.MetaData()


def _column(name: str, kind: type[sa.types.TypeEngine[Any]], *, key: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=key, nullable=False)


layout = Table("layout", METADATA, _column("number", BigInteger, key=True))
responses = Table(
    "responses",
    METADATA,
    sa.Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    sa.Column("key", LargeBinary, nullable=False, unique=True),  # hash of role identity, request and sample index
    _column("identity", Text),  # identity and epoch of the role that answered
    _column("role", Text),
    _column("stage", Text),
    _column("task", Text),
    _column("model", Text),  # as the reply names it
    _column("request", LargeBinary),  # zlib
    _column("reply", LargeBinary),  # zlib
    _column("prompt_tokens", BigInteger),
    _column("completion_tokens", BigInteger),
    _column("dollars", Double),
    _column("created", Text),  # UTC
    sa.Column("sample", BigInteger),  # the request's sample index
    _column("cached_tokens", BigInteger),  # of prompt_tokens, those that the endpoint had cached
    _column("estimated", BigInteger),  # 1: the reply gave no usage, the tokens are an estimate
)
ledgers = Table(
    "ledgers",
    METADATA,
    _column("name", Text, key=True),
    _column("dollars", Double),
    _column("tokens", BigInteger),
    _column("calls", BigInteger),
    _column("unknown", BigInteger),  # of calls, those that may have been billed though no usable reply came
    _column("unknown_dollars", Double),  # of dollars, the most that these can have cost
)
reservations = Table(
    "reservations",
    METADATA,
    _column("key", LargeBinary, key=True),  # a request that is under way
    _column("ledger", Text),
    _column("dollars", Double),  # the most that its attempt can cost; 0 between two attempts
    _column("tokens", BigInteger),
    _column("host", Text),  # the process that sends it: where it runs, its id, and when it started
    _column("pid", BigInteger),
    _column("born", Double),
)
missing = Table(
    "missing",
    METADATA,
    _column("key", LargeBinary, key=True),  # a request that was collected, and not sent
    _column("identity", Text),
    _column("role", Text),
    _column("stage", Text),
    _column("task", Text),
    _column("request", LargeBinary),  # zlib
    _column("sample", BigInteger),
    _column("collected", Double),  # when it was collected last, in seconds since 1970
)
fingerprints = Table(
    "fingerprints",
    METADATA,
    _column("role", Text, key=True),
    _column("identity", Text, key=True),
    _column("epoch", BigInteger, key=True),
    _column("content", Text),  # the file in fingerprints/
)
imported = Table(
    "imported",
    METADATA,
    _column("identity", Text, key=True),  # of replies that came from another store; until it is probed from here
)
rates = Table(
    "rates",
    METADATA,
    _column("name", Text, key=True),  # endpoint and what is limited
    _column("free_at", Double),  # when the next unit may be used, in seconds since 1970
    _column("taken_at", Double),  # when units were last taken
)
processes = Table(
    "processes",
    METADATA,
    _column("host", Text, key=True),
    _column("pid", BigInteger, key=True),
    _column("born", Double, key=True),
    _column("seen", Double),  # when it last used the store, in seconds since 1970
)


def upsert(into: Table, **changes: str) -> sa.TextClause:
    """Inserts a row; where its key is there already, ``changes`` (SQL by column) are made, or none."""
    columns, key = into.columns.keys(), into.primary_key.columns.keys()
    change = ", ".join(f"{name} = {sql}" for name, sql in changes.items())
    return sa.text(
        f"INSERT INTO {into.name} VALUES (:{', :'.join(columns)}) "
        f"ON CONFLICT ({', '.join(key)}) DO {f'UPDATE SET {change}' if change else 'NOTHING'}"
    )


def is_postgres(where: Where) -> bool:
    """Whether ``where`` is the address of a PostgreSQL database."""
    return isinstance(where, str) and where.startswith(POSTGRES)


def exists(where: Where) -> bool:
    """Whether there is a store to read; a database is always taken to be there."""
    return is_postgres(where) or Path(where).exists()


def connect(where: Where) -> sa.Connection:
    """Open the store's database, creating its tables when absent. Raises StoreError."""
    url = sa.make_url(str(where)) if is_postgres(where) else sa.URL.create("sqlite", database=str(where))
    with named_errors(url):
        connection = _open(url)
        found = _prepare(connection)
    if found == LAYOUT:
        return connection
    connection.close()
    change = "update vignette" if found > LAYOUT else "export its replies with the version that wrote it"
    raise StoreError(
        f"{name_of(url)}: a response store of layout {found}, and this version of vignette reads layout {LAYOUT}; "
        f"{change}, or move the store away. Nothing was asked of a model"
    )


def _prepare(connection: sa.Connection) -> int:
    """The number of a store's layout, 0 if it has none; tables are created where there are none."""
    tables = sa.inspect(connection).get_table_names()
    if "responses" not in tables:
        with transaction(connection):  # processes that start at once would create the tables twice
            METADATA.create_all(connection)
            connection.execute(sa.text(f"INSERT INTO layout VALUES ({LAYOUT}) ON CONFLICT (number) DO NOTHING"))
    elif "layout" not in tables:
        return 0
    return int(connection.execute(sa.select(sa.func.max(layout.c.number))).scalar_one())


def _is_sqlite(file: Path) -> bool:
    """Whether a file is a database or empty, rather than a device or another file that was named by mistake."""
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(16) in (b"", b"SQLite format 3\0")


def _open(url: sa.URL) -> sa.Connection:
    """A connection in which each statement is committed by itself, but for those within `transaction`."""
    if url.drivername.startswith(POSTGRES):
        return sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool).connect()
    file = Path(url.database or "").absolute()
    address = f"file:{quote(str(file))}?mode="
    if is_read_only := file.exists() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        wal = file.with_name(f"{file.name}-wal")  # there while a process writes; else sqlite would make it for a reader
        address += "ro" if wal.exists() else "ro&immutable=1"
    else:
        address += "rwc"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o600)  # the files that sqlite puts beside it get its mode
        if file.stat().st_uid == os.geteuid() and file.stat().st_mode & 0o077 and _is_sqlite(file):
            file.chmod(file.stat().st_mode & 0o600)

    def opened() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, timeout=BUSY_S, check_same_thread=False)

    connection = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool, creator=opened).connect()
    if is_read_only:
        return connection
    _write_ahead(connection)
    connection.exec_driver_sql("PRAGMA synchronous=FULL")  # a committed reply outlives a power cut too
    return connection


@retry(
    retry=retry_if_exception_message(match=".*database is locked"),
    stop=stop_after_delay(BUSY_S),
    wait=wait_random(0.01, 0.1),
    reraise=True,
)
def _write_ahead(connection: sa.Connection) -> None:
    """Turn on write-ahead logging. sqlite does not wait for its lock when others do so for a new file."""
    connection.exec_driver_sql("PRAGMA journal_mode=WAL")


@contextmanager
def transaction(connection: sa.Connection) -> Iterator[None]:
    """One write transaction, all or nothing, one at a time. Raises StoreError naming the store."""
    with named_errors(connection.engine.url):
        connection.exec_driver_sql(BEGIN[connection.dialect.name])
        try:
            yield
        except BaseException:
            connection.connection.rollback()
            raise
        connection.exec_driver_sql("COMMIT")


@contextmanager
def named_errors(url: sa.URL) -> Iterator[None]:
    """Raises StoreError, with the store, what is wrong and what to do, for an error of the database."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise StoreError('a store in PostgreSQL needs psycopg; run: pip install "vignette[postgres]"') from error
    except (sa.exc.SQLAlchemyError, OSError) as error:
        cause = " ".join(str(getattr(error, "orig", None) or error).split())
        remedy = next((remedy for word, remedy in REMEDIES.items() if word in cause), "see runtime.store")
        raise StoreError(f"{name_of(url)}: response store cannot be used ({cause}); {remedy}") from error


def name_of(url: sa.URL) -> str:
    """A store's file, or its database's address without user, password and query."""
    if url.drivername == "sqlite":
        return str(url.database)
    return f"{url.drivername}://{url.host or ''}{f':{url.port}' if url.port else ''}/{url.database}"


def beat(connection: sa.Connection, process: Process) -> None:
    """Record that a process is alive."""
    host, pid, born = process
    now = {"host": host, "pid": pid, "born": born, "seen": time.time()}
    connection.execute(upsert(processes, seen="excluded.seen"), now)


def is_running(connection: sa.Connection, process: Process) -> bool:
    """Whether a process that uses the store runs: looked up on this machine, by its last sign of life on another."""
    host, pid, born = process
    if host == socket.gethostname():
        return is_alive(pid, born)
    known = processes.c
    seen = sa.select(known.seen).where(known.host == host, known.pid == pid, known.born == born)
    return time.time() - (connection.execute(seen).scalar() or 0.0) < SILENT_S
