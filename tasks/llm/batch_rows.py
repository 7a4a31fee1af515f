"""Batches under way, as the response store records them."""

from dataclasses import dataclass

from tasks.llm.database import Connection
from tasks.llm.store import ResponseStore

KEY_BYTES = 32


@dataclass(frozen=True)
class BatchRow:
    """One batch: our token, the stage that sent it, the endpoint's id once known, and the keys of its requests."""

    token: str
    stage: str
    batch_id: str | None
    keys: list[bytes]


class BatchRows:
    """The open batches of one identity at one address."""

    def __init__(self, store: ResponseStore, address: str, identity: str) -> None:
        self._store, self._address, self._identity = store, address, identity

    async def open(self) -> list[BatchRow]:
        """Batches that were sent and whose results are not kept yet."""

        def read(connection: Connection) -> list[BatchRow]:
            sql = "SELECT token, stage, batch_id, keys FROM batches WHERE address = ? AND identity = ? ORDER BY token"
            rows = connection.execute(sql, (self._address, self._identity)).fetchall()
            return [BatchRow(token, stage, batch_id, _unpack(keys)) for token, stage, batch_id, keys in rows]

        found: list[BatchRow] = await self._store.do(read)
        return found

    async def add(self, row: BatchRow) -> None:
        """Record a batch before it is created, and mark its reservations."""

        def write(connection: Connection) -> None:
            values = (row.token, self._address, self._identity, row.stage, row.batch_id, b"".join(row.keys))
            connection.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)", values)
            for key in row.keys:
                connection.execute("UPDATE reservations SET in_batch = 1 WHERE key = ?", (key,))

        await self._store.do(write)

    async def set_id(self, token: str, batch_id: str) -> None:
        """Note the endpoint's id of a batch."""
        sql = "UPDATE batches SET batch_id = ? WHERE token = ?"
        await self._store.do(lambda connection: connection.execute(sql, (batch_id, token)).rowcount)

    async def remove(self, token: str) -> None:
        """Forget a batch whose results are kept."""
        await self._store.do(lambda c: c.execute("DELETE FROM batches WHERE token = ?", (token,)).rowcount)


def _unpack(packed: bytes) -> list[bytes]:
    return [packed[start : start + KEY_BYTES] for start in range(0, len(packed), KEY_BYTES)]
