"""Inspects the response store: its replies and ledgers, copies as JSON lines, pruning."""

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.errors import StoreError
from tasks.llm.budget import Spent, read_ledger
from tasks.llm.completions import read_completion
from tasks.llm.database import Connection, Where, connect, exists, transaction
from tasks.llm.failures import SendFailure
from tasks.llm.requests import request_key, to_bytes
from tasks.llm.store import Paid


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
        terms, values = ["1 = 1"], []
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


def open_existing(path: Where) -> Connection:
    """Open a store that is there; raises StoreError when it is not."""
    if not exists(path):
        raise StoreError(f"{path}: no response store yet; the first stage that asks a model makes it")
    return connect(path)


def holdings(connection: Connection) -> list[Holding]:
    """Summary of the store's content."""
    rows = connection.execute(
        "SELECT stage, role, model, identity, COUNT(*), CAST(SUM(prompt_tokens) AS BIGINT), "
        "CAST(SUM(completion_tokens) AS BIGINT), SUM(dollars), "
        "MIN(created), MAX(created) FROM responses GROUP BY stage, role, model, identity ORDER BY stage, role, MIN(id)"
    )
    return [Holding(*row) for row in rows]


def ledgers(connection: Connection) -> dict[str, Spent]:
    """Every ledger by name."""
    names = connection.execute("SELECT name FROM ledgers UNION SELECT ledger FROM reservations ORDER BY 1").fetchall()
    return {name: read_ledger(connection, name) for (name,) in names}


def clear_ledger(connection: Connection, name: str, path: Where) -> None:
    """Set a ledger to zero; the replies stay."""
    with transaction(connection, path):
        connection.execute("DELETE FROM ledgers WHERE name = ?", (name,))
        connection.execute("DELETE FROM reservations WHERE ledger = ?", (name,))


EXPORTED = (
    "key, role, stage, task, identity, model, created, prompt_tokens, completion_tokens, cached_tokens, estimated, "
    "dollars, sample"
)
"""Columns of an exported line, which also has the request and the reply as JSON."""


def export(connection: Connection, which: Which, keys: Collection[bytes] | None = None) -> Iterator[str]:
    """One line of JSON a reply, in the order in which they came; if ``keys`` is given, only replies with these."""
    where, values = which.where()
    rows = connection.execute(f"SELECT {EXPORTED}, request, reply FROM responses WHERE {where} ORDER BY id", values)
    for row in rows:
        fields = dict(zip(EXPORTED.split(", "), row[:-2], strict=True))
        if keys is not None and bytes(fields["key"]) not in keys:
            continue
        fields["key"] = bytes(fields["key"]).hex()
        fields["request"], fields["reply"] = (json.loads(zlib.decompress(packed)) for packed in row[-2:])
        yield json.dumps(fields, ensure_ascii=False)


def import_replies(path: Where, lines: Iterable[str], source: str) -> tuple[int, int]:
    """Add exported replies to the store; returns how many were added, and how many it held already.

    Their cost is not booked: it was paid elsewhere. Either all lines are added or none. Raises StoreError for a line
    that is no exported reply, or whose key does not belong to its request.
    """
    connection = connect(path)
    added = total = 0
    with transaction(connection, path):
        held, brought = _identities(connection), set[str]()
        for number, line in enumerate(lines, start=1):
            if line.strip():
                reply = _exported_reply(line, f"{source}, line {number}")
                added += reply.insert(connection)
                total += 1
                brought.add(reply.identity)
        for identity in brought - held:
            connection.execute("INSERT INTO imported VALUES (?) ON CONFLICT (identity) DO NOTHING", (identity,))
    connection.close()
    return added, total - added


def _identities(connection: Connection) -> set[str]:
    return {identity for (identity,) in connection.execute("SELECT DISTINCT identity FROM responses").fetchall()}


def imported_identities(connection: Connection) -> set[str]:
    """Identities of models whose replies all came from another store, and that were not probed since."""
    return {identity for (identity,) in connection.execute("SELECT identity FROM imported").fetchall()}


def _exported_reply(line: str, place: str) -> Paid:
    try:
        fields = json.loads(line)
        request, reply = to_bytes(fields.pop("request")), json.dumps(fields.pop("reply"), ensure_ascii=False)
        fields["key"] = bytes.fromhex(fields["key"])
        paid = Paid(**fields, request=request, reply=reply)
        read_completion(reply)
    except (ValueError, KeyError, TypeError, AttributeError, SendFailure) as error:
        raise StoreError(
            f"{place}: not a line of `vignette store export` ({error}); export the replies again"
        ) from error
    sample = paid.sample if paid.sample is not None else json.loads(request).get("seed", 0)
    if request_key(paid.identity, sample, request) != paid.key:
        raise StoreError(
            f"{place}: the request is not the one that its key names; the file was edited, export it again"
        )
    return paid


def count(connection: Connection, which: Which) -> int:
    """How many replies fit."""
    where, values = which.where()
    return int(connection.execute(f"SELECT COUNT(*) FROM responses WHERE {where}", values).fetchone()[0])


def prune(connection: Connection, which: Which, path: Where) -> int:
    """Delete the replies that fit and give their space back; returns how many. Ledgers stay: the money is spent."""
    where, values = which.where()
    with transaction(connection, path):
        deleted = connection.execute(f"DELETE FROM responses WHERE {where}", values).rowcount
    connection.execute("VACUUM")
    return int(deleted)


def delete_keys(connection: Connection, keys: Iterable[bytes], path: Where) -> None:
    """Delete the replies with these keys. Ledgers stay."""
    with transaction(connection, path):
        for key in keys:
            connection.execute("DELETE FROM responses WHERE key = ?", (key,))
    connection.execute("VACUUM")
