"""Made-up replies in a response store."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa

from tasks.transport.database import Where
from tasks.transport.inspection import open_existing
from tasks.transport.store import Paid, ResponseStore


def paid(number: int, *, stage: str = "write", identity: str = "abc.0", dollars: float = 0.5) -> Paid:
    return Paid(
        key=number.to_bytes(32, "big"),
        identity=identity,
        role="writer",
        stage=stage,
        task="write a clinical note",
        model="m",
        request=json.dumps({"messages": [{"role": "user", "content": f"{number}"}]}).encode(),
        reply=json.dumps({"choices": [{"message": {"content": f"reply {number}"}}]}),
        prompt_tokens=10,
        completion_tokens=20,
        dollars=dollars,
    )


def fill(path: Where, *replies: Paid) -> None:
    async def run() -> None:
        with ResponseStore(path) as store:
            await asyncio.gather(*(store.do(reply.insert) for reply in replies))

    asyncio.run(run())


def within(where: Where, look: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of `tasks.transport.inspection` finds in a store."""
    with open_existing(where) as connection:
        found = look(connection, *arguments)
        return list(found) if isinstance(found, Iterator) else found


def kept(where: Where, stage: str = "%") -> int:
    """How many replies of a stage, or of all, a store holds."""
    (found,) = sql(where, "SELECT COUNT(*) FROM responses WHERE stage LIKE :stage", stage=stage)
    return int(found[0])


def forget(where: Where, stage: str) -> None:
    """Delete the replies of a stage."""
    sql(where, "DELETE FROM responses WHERE stage = :stage", stage=stage)


def sql(store: ResponseStore | Where, statement: str, **values: Any) -> list[Any]:
    """The rows of a statement with ``:name`` for each value, in a store that is open or is opened for it."""
    if not isinstance(store, ResponseStore):
        with ResponseStore(store) as opened:
            return sql(opened, statement, **values)

    def run(connection: sa.Connection) -> list[Any]:
        result = connection.execute(sa.text(statement), values)
        return [tuple(row) for row in result] if result.returns_rows else []

    rows: list[Any] = store.do_now(run)
    return rows
