"""What calls cost, and the cap on what a run may cost.

Before a paid request leaves, the most that it can cost is reserved in the store; when its reply is kept, the
reservation gives way to what it did cost. A process that is killed leaves its reservations: these are counted as spent,
since the endpoint may have billed them.
"""

import asyncio
import os
import sqlite3
from dataclasses import dataclass

import psutil

from schemas.errors import BudgetError
from schemas.params.llm import Budget, Price
from tasks.llm.store import Paid, ResponseStore

CHARACTERS_A_TOKEN = 3.0
"""On the careful side: English text has some four characters a token."""

ASSUMED_REPLY_TOKENS = 1500
"""What a reply may take where the role sets no max_tokens."""


def prompt_tokens(content: bytes) -> int:
    """A careful guess at the tokens of a request's bytes."""
    return int(len(content) / CHARACTERS_A_TOKEN) + 1


def cost(price: Price, prompt: int, completion: int, *, batch: bool = False) -> float:
    """Dollars of so many tokens."""
    factor = price.batch_factor if batch else 1.0
    return factor * (price.prompt * prompt + price.completion * completion) / 1e6


@dataclass(frozen=True)
class Spent:
    """What stands in a ledger, reservations included."""

    dollars: float
    tokens: int
    calls: int
    reserved_dollars: float = 0.0
    reserved_tokens: int = 0


def read_ledger(connection: sqlite3.Connection, name: str) -> Spent:
    """What was spent under a ledger's name, and what is reserved."""
    row = connection.execute("SELECT dollars, tokens, calls FROM ledgers WHERE name = ?", (name,)).fetchone()
    reserved = connection.execute(
        "SELECT COALESCE(SUM(dollars), 0), COALESCE(SUM(tokens), 0) FROM reservations WHERE ledger = ?", (name,)
    ).fetchone()
    return Spent(*(row or (0.0, 0, 0)), *reserved)


def add_to_ledger(connection: sqlite3.Connection, name: str, dollars: float, tokens: int, calls: int = 1) -> None:
    """Add to what was spent under a ledger's name."""
    connection.execute(
        "INSERT INTO ledgers VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
        "dollars = dollars + excluded.dollars, tokens = tokens + excluded.tokens, calls = calls + excluded.calls",
        (name, dollars, tokens, calls),
    )


class Account:
    """One role's use of the budget in this process. ``price`` None: the role is free, and nothing is reserved."""

    def __init__(self, store: ResponseStore, budget: Budget, price: Price | None, *, batch: bool = False) -> None:
        self.store, self.budget, self.price, self.batch = store, budget, price, batch
        self._me = (os.getpid(), psutil.Process().create_time())

    async def reserve(self, key: bytes, content: bytes, max_tokens: int | None) -> bool:
        """Reserve the most that a request can cost.

        Returns False when another process has the same request under way, or its reply has come in the meantime.
        Waits while the cap would be passed only by what is under way in this process or others; raises BudgetError
        when nothing is, and the cap is reached.
        """
        if self.price is None:
            return True
        prompt, reply = prompt_tokens(content), max_tokens or ASSUMED_REPLY_TOKENS
        dollars = cost(self.price, prompt, reply, batch=self.batch)
        while True:
            state = await self.store.do(lambda c: self._reserve(c, key, dollars, prompt + reply))
            if state != "wait":
                return bool(state == "reserved")
            await asyncio.sleep(0.2)

    def _reserve(self, connection: sqlite3.Connection, key: bytes, dollars: float, tokens: int) -> str:
        if connection.execute("SELECT 1 FROM responses WHERE key = ?", (key,)).fetchone():
            return "answered"
        held = connection.execute("SELECT pid, born, in_batch FROM reservations WHERE key = ?", (key,)).fetchone()
        if held is not None and held[:2] != self._me and is_running(*held[:2]):
            return "elsewhere"
        if held is not None and held[2]:  # ours now: the batch is found again when the request is sent
            connection.execute("DELETE FROM reservations WHERE key = ?", (key,))
        forfeit_dead(connection, self.budget.ledger)
        spent = read_ledger(connection, self.budget.ledger)
        if self._over(spent.dollars + spent.reserved_dollars + dollars, spent.tokens + spent.reserved_tokens + tokens):
            if self._will_be_freed(connection):
                return "wait"
            raise BudgetError(self._explain(spent, dollars))
        connection.execute(
            "INSERT OR REPLACE INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, self.budget.ledger, dollars, tokens, *self._me, held[2] if held else 0),
        )
        return "reserved"

    def _will_be_freed(self, connection: sqlite3.Connection) -> bool:
        """Whether a running process holds a reservation; those of dead ones, in batches, wait to be fetched."""
        sql = "SELECT DISTINCT pid, born FROM reservations WHERE ledger = ?"
        return any(is_running(*holder) for holder in connection.execute(sql, (self.budget.ledger,)).fetchall())

    def _over(self, dollars: float, tokens: int) -> bool:
        caps = self.budget
        return (caps.dollars is not None and dollars > caps.dollars) or (
            caps.tokens is not None and tokens > caps.tokens
        )

    def _explain(self, spent: Spent, dollars: float) -> str:
        caps = [f"{self.budget.dollars:g} dollars"] if self.budget.dollars is not None else []
        caps += [f"{self.budget.tokens} tokens"] if self.budget.tokens is not None else []
        return (
            f"the cap of {' and '.join(caps)} is reached: ledger {self.budget.ledger!r} holds {spent.dollars:.4f} "
            f"dollars and {spent.tokens} tokens in {spent.calls} calls, and the next call may cost {dollars:.4f}. "
            "Every reply so far is kept; to go on, raise budget.dollars or budget.tokens in params.yaml, or name a new "
            "budget.ledger, and run the same command again"
        )

    def price_of(self, prompt: int, completion: int) -> float:
        """Dollars of a reply's tokens; 0 for a free role."""
        return 0.0 if self.price is None else cost(self.price, prompt, completion, batch=self.batch)

    async def book(self, prompt: int, completion: int) -> None:
        """Book tokens that were used outside the store: by a check of identity, or canaries."""
        if self.price is not None:
            dollars, tokens = cost(self.price, prompt, completion), prompt + completion  # never sent as a batch
            await self.store.do(lambda c: add_to_ledger(c, self.budget.ledger, dollars, tokens))

    async def keep(self, paid: Paid) -> None:
        """Commit a reply to the store and book it; returns once it is on disk."""
        await self.store.do(lambda connection: self._keep(connection, paid))

    def _keep(self, connection: sqlite3.Connection, paid: Paid) -> None:
        fresh = paid.insert(connection)
        if self.price is not None:
            connection.execute("DELETE FROM reservations WHERE key = ?", (paid.key,))
            if fresh:
                tokens = paid.prompt_tokens + paid.completion_tokens
                add_to_ledger(connection, self.budget.ledger, paid.dollars, tokens)

    async def release(self, key: bytes) -> None:
        """Give back the reservation of a request that was not answered."""
        if self.price is not None:
            await self.store.do(lambda c: c.execute("DELETE FROM reservations WHERE key = ?", (key,)).rowcount)


def forfeit_dead(connection: sqlite3.Connection, ledger: str) -> None:
    """Book the reservations of processes that are gone: their requests may have been billed.

    Not those in a batch: whoever goes on with the batch books what it did cost.
    """
    free = "FROM reservations WHERE ledger = ? AND in_batch = 0"
    holders = connection.execute(f"SELECT DISTINCT pid, born {free}", (ledger,)).fetchall()
    for pid, born in holders:
        if not is_running(pid, born):
            where = f"{free} AND pid = ? AND born = ?"
            sums = f"SELECT SUM(dollars), SUM(tokens), COUNT(*) {where}"
            add_to_ledger(connection, ledger, *connection.execute(sums, (ledger, pid, born)).fetchone())
            connection.execute(f"DELETE {where}", (ledger, pid, born))


def is_running(pid: int, born: float) -> bool:
    """Whether the process that was started at ``born`` (seconds) still runs under ``pid``."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - born) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
