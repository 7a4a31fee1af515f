"""Looks into the response store: what it holds, what was spent, a copy in JSON lines, and pruning."""

import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.errors import StoreError
from tasks.llm.budget import Spent, read_ledger
from tasks.llm.database import connect, transaction


@dataclass(frozen=True)
class Which:
    """Which replies: those that fit every condition that is given. ``before`` is a date or time, ISO 8601 in UTC."""

    stage: str | None = None
    role: str | None = None
    before: str | None = None
    identities: Sequence[str] | None = None  # only these
    other_than: Sequence[str] | None = None  # none of these

    def where(self) -> tuple[str, list[Any]]:
        """The condition in SQL, and its values."""
        terms, values = ["1"], []
        for column, value in (("stage", self.stage), ("role", self.role)):
            if value is not None:
                terms.append(f"{column} = ?")
                values.append(value)
        if self.before is not None:
            terms.append("created < ?")
            values.append(self.before)
        for word, chosen in (("IN", self.identities), ("NOT IN", self.other_than)):
            if chosen is not None:
                terms.append(f"identity {word} ({', '.join('?' * len(chosen))})")
                values.extend(chosen)
        return " AND ".join(terms), values


@dataclass(frozen=True)
class Holding:
    """The replies of one stage and role under one identity."""

    stage: str
    role: str
    model: str
    identity: str
    replies: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float
    first: str
    last: str


def open_existing(path: Path) -> sqlite3.Connection:
    """Open a store that is there; raises StoreError when it is not."""
    if not path.exists():
        raise StoreError(f"{path}: no response store yet; the first stage that asks a model makes it")
    return connect(path)


def holdings(connection: sqlite3.Connection) -> list[Holding]:
    """What the store holds."""
    rows = connection.execute(
        "SELECT stage, role, model, identity, COUNT(*), SUM(prompt_tokens), SUM(completion_tokens), SUM(dollars), "
        "MIN(created), MAX(created) FROM responses GROUP BY stage, role, model, identity ORDER BY stage, role, MIN(id)"
    )
    return [Holding(*row) for row in rows]


def ledgers(connection: sqlite3.Connection) -> dict[str, Spent]:
    """Every ledger by name."""
    names = connection.execute("SELECT name FROM ledgers UNION SELECT ledger FROM reservations ORDER BY 1").fetchall()
    return {name: read_ledger(connection, name) for (name,) in names}


def clear_ledger(connection: sqlite3.Connection, name: str, path: Path) -> None:
    """Set what was spent under a ledger's name to zero; the replies stay."""
    with transaction(connection, path):
        connection.execute("DELETE FROM ledgers WHERE name = ?", (name,))
        connection.execute("DELETE FROM reservations WHERE ledger = ?", (name,))


def export(connection: sqlite3.Connection, which: Which) -> Iterator[str]:
    """One line of JSON a reply, in the order of their coming."""
    where, values = which.where()
    columns = "key, role, stage, task, identity, model, created, prompt_tokens, completion_tokens, dollars"
    rows = connection.execute(f"SELECT {columns}, request, reply FROM responses WHERE {where} ORDER BY id", values)
    names = columns.split(", ")
    for row in rows:
        fields = dict(zip(names, row[:-2], strict=True))
        fields["key"] = fields["key"].hex()
        fields["request"], fields["reply"] = (json.loads(zlib.decompress(packed)) for packed in row[-2:])
        yield json.dumps(fields, ensure_ascii=False)


def count(connection: sqlite3.Connection, which: Which) -> int:
    """How many replies fit."""
    where, values = which.where()
    return int(connection.execute(f"SELECT COUNT(*) FROM responses WHERE {where}", values).fetchone()[0])


def prune(connection: sqlite3.Connection, which: Which, path: Path) -> int:
    """Delete the replies that fit and give their space back; returns how many. Ledgers stay: the money is spent."""
    where, values = which.where()
    with transaction(connection, path):
        deleted = connection.execute(f"DELETE FROM responses WHERE {where}", values).rowcount
    connection.execute("VACUUM")
    return int(deleted)
