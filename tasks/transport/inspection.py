"""Inspects the response store: its replies and ledgers, copies as JSON lines, and what a run used."""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import func

from schemas.errors import StoreError
from schemas.params.llm import RoleName
from tasks.llm.costs import Estimate, Used, request_tokens, tokens
from tasks.llm.replies import SendFailure, read_completion
from tasks.llm.requests import request_key, to_bytes
from tasks.transport import database
from tasks.transport.database import Where, connect, exists, named_errors, responses, transaction
from tasks.transport.ledger import Spent, add_to_ledger, read_ledger
from tasks.transport.store import Paid, Unreadable, unpack
from tasks.transport.untrusted import json_lines

AT_ONCE = 500
"""Keys in one statement; databases limit the number of its values."""


@contextmanager
def open_existing(where: Where) -> Iterator[sa.Connection]:
    """Open a store that is there, for as long as the context lasts. Raises StoreError, also for what fails within."""
    if not exists(where):
        raise StoreError(f"{where}: no response store yet; the first stage that asks a model makes it")
    with connect(where) as connection, named_errors(connection.engine.url):
        yield connection


def sum_used(connection: sa.Connection, keys: Collection[bytes]) -> Used:
    """Sums over the kept replies with these keys; a key without a reply counts nothing."""
    c, ordered, rows = responses.c, sorted(keys), list[sa.Row[Any]]()
    for start in range(0, len(ordered), AT_ONCE):
        some = c.key.in_(ordered[start : start + AT_ONCE])
        rows += connection.execute(sa.select(c.prompt_tokens, c.completion_tokens, c.dollars).where(some))
    return Used(len(rows), *map(sum, zip(*rows, strict=True))) if rows else Used()


def dollars_since(where: Where, created: str) -> float:
    """Dollars of the replies that came at a time, ISO 8601 in UTC, or after it; 0 where there is no store."""
    if not exists(where):
        return 0.0
    with open_existing(where) as connection:
        dollars = sa.select(func.sum(responses.c.dollars)).where(responses.c.created >= created)
        return float(connection.execute(dollars).scalar() or 0.0)


def counted(where: Where) -> dict[str, list[Estimate]]:
    """Calls of each stage to each role in the store of a rehearsal; tokens are counted from the texts' lengths."""
    if not exists(where):
        return {}
    found: dict[tuple[str, RoleName], list[tuple[int, int]]] = {}
    c = responses.c
    with open_existing(where) as connection:
        for stage, role, request, reply in connection.execute(sa.select(c.stage, c.role, c.request, c.reply)):
            lengths = request_tokens(unpack(request).encode()), tokens(read_completion(unpack(reply)).text)
            found.setdefault((stage, role), []).append(lengths)
    made: dict[str, list[Estimate]] = {}
    for (stage, role), of in sorted(found.items()):
        made.setdefault(stage, []).append(Estimate(role, len(of), *map(sum, zip(*of, strict=True))))
    return made


def ledgers(connection: sa.Connection) -> dict[str, Spent]:
    """Every ledger by name."""
    booked, reserved = sa.select(database.ledgers.c.name), sa.select(database.reservations.c.ledger)
    names = connection.execute(sa.union(booked, reserved)).scalars()
    return {name: read_ledger(connection, name) for name in sorted(names)}


def set_ledger(connection: sa.Connection, name: str, dollars: float = 0.0) -> None:
    """Set a ledger to zero or to what the provider says; the replies stay."""
    with transaction(connection):
        connection.execute(sa.delete(database.ledgers).where(database.ledgers.c.name == name))
        connection.execute(sa.delete(database.reservations).where(database.reservations.c.ledger == name))
        add_to_ledger(connection, name, dollars, 0, 0)


EXPORTED = (
    *("key", "role", "stage", "task", "identity", "model", "created", "prompt_tokens", "completion_tokens"),
    *("cached_tokens", "estimated", "dollars", "sample"),
)
"""Columns of an exported line, which also has the request and the reply as JSON."""


def export(
    connection: sa.Connection, stage: str | None = None, role: str | None = None, keys: Collection[bytes] | None = None
) -> Iterator[str]:
    """One line of JSON a reply, in the order in which they came; only those of ``stage``, ``role``, ``keys`` if given.

    A reply that cannot be read is left out, as it is asked for again.
    """
    bodies = ("request", "reply")
    columns = [responses.c[name] for name in EXPORTED + bodies]
    given = {"stage": stage, "role": role}
    chosen = [responses.c[name] == value for name, value in given.items() if value is not None]
    for row in connection.execute(sa.select(*columns).where(*chosen).order_by(responses.c.id)).mappings():
        if keys is not None and row["key"] not in keys:
            continue
        with suppress(Unreadable, ValueError):
            contents = {name: json.loads(unpack(row[name])) for name in bodies}
            yield _as_json({**row, "key": row["key"].hex(), **contents})


def _as_json(value: Any) -> str:
    """JSON that UTF-8 can hold: half of a surrogate pair, which a model may send, stays escaped."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class Checked:
    """What a check of a store found. ``damage``: the database's own findings; ``unreadable``: keys of such rows.

    ``dollars`` of the replies that were not imported, and ``booked`` in all ledgers, which is at least as much unless a
    ledger was set back.
    """

    damage: list[str]
    replies: int
    unreadable: list[bytes]
    dollars: float
    booked: float


def check(connection: sa.Connection) -> Checked:
    """Read every reply, recompute its key, and compare the costs of all with the ledgers."""
    damage: list[str] = []
    if connection.dialect.name == "sqlite":
        found = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
        damage = [line for line in found if line != "ok"]
    c, unreadable, total = responses.c, list[bytes](), 0
    for key, *row in connection.execute(sa.select(c.key, c.identity, c.sample, c.request, c.reply).order_by(c.id)):
        total += 1
        if not _is_whole(key, *row):
            unreadable.append(key)
    imported = sa.select(database.imported.c.identity)
    dollars = connection.execute(sa.select(func.sum(c.dollars)).where(c.identity.not_in(imported))).scalar()
    booked = connection.execute(sa.select(func.sum(database.ledgers.c.dollars))).scalar()
    return Checked(damage, total, unreadable, float(dollars or 0.0), float(booked or 0.0))


def _is_whole(key: bytes, identity: str, sample: int | None, request: bytes, reply: bytes) -> bool:
    """Whether a row can be read, and its key is that of its request."""
    try:
        content = unpack(request).encode()
        read_completion(unpack(reply))
        return request_key(identity, json.loads(content).get("seed", 0) if sample is None else sample, content) == key
    except (Unreadable, SendFailure, ValueError, AttributeError):
        return False


def import_replies(where: Where, file: Path) -> tuple[int, int]:
    """Add the replies that `export` wrote into a file; returns how many were added, and how many the store held.

    Their cost is not booked: it was paid elsewhere. Either all lines are added or none. Raises SourceError for a file
    that cannot be read, and StoreError for a line that is no exported reply, or whose key is not that of its request.
    """
    added = total = 0
    with connect(where) as connection, transaction(connection):
        held = set(connection.execute(sa.select(responses.c.identity).distinct()).scalars())
        brought = set[str]()
        for number, line in json_lines(file):
            reply = _exported_reply(line, f"{file}: line {number}")
            added += reply.insert(connection)
            total += 1
            brought.add(reply.identity)
        if not total:
            raise StoreError(f"{file}: holds no reply; expected a file that `vignette store export` wrote")
        for identity in brought - held:
            connection.execute(database.upsert(database.imported), {"identity": identity})
    return added, total - added


def imported_identities(where: Where) -> set[str]:
    """Identities of models whose replies all came from another store, and that were not probed since."""
    if not exists(where):
        return set()
    with open_existing(where) as connection:
        return set(connection.execute(sa.select(database.imported.c.identity)).scalars())


def _exported_reply(line: Any, place: str) -> Paid:
    try:
        fields = dict(line)
        request, reply = to_bytes(fields.pop("request")), _as_json(fields.pop("reply"))
        key = bytes.fromhex(fields.pop("key"))
        "".join(map(str, fields.values())).encode()  # raises for half of a character
        paid = _PAID.validate_python(fields | {"key": key, "request": request, "reply": reply})
        read_completion(reply)
        sample = json.loads(request).get("seed", 0) if paid.sample is None else paid.sample
        is_whole = request_key(paid.identity, sample, request) == paid.key
    except (ValueError, KeyError, TypeError, AttributeError, SendFailure) as error:
        of_fields = error.errors() if isinstance(error, ValidationError) else []
        problem = "; ".join(f"{one['loc'][0]}: {one['msg']}" for one in of_fields) or str(error)
        raise StoreError(
            f"{place}: not a line of `vignette store export` ({problem}); export the replies again"
        ) from error
    if not is_whole:
        raise StoreError(
            f"{place}: the request is not the one that its key names; the file was edited, export it again"
        )
    return paid


_PAID = TypeAdapter(Paid)


def delete_keys(connection: sa.Connection, keys: Iterable[bytes]) -> None:
    """Delete the replies with these keys and give their space back. Ledgers stay."""
    with transaction(connection):
        connection.execute(sa.delete(responses).where(responses.c.key == sa.bindparam("of")), [{"of": k} for k in keys])
    connection.exec_driver_sql("VACUUM")
