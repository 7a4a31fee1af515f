"""The cap on the cost of a run.

Before a paid request is sent, the most that it can cost is reserved in the store; when its reply is kept, its actual
cost replaces the reservation. The reservations of a killed process count as spent, since the endpoint may have billed
them.
"""

import asyncio
from dataclasses import dataclass

from schemas.errors import BudgetError
from schemas.params.llm import Budget
from tasks.llm.completions import Completion
from tasks.llm.database import Connection
from tasks.llm.prices import Prices, Usage, cost, usage_of
from tasks.llm.processes import is_running, this_process
from tasks.llm.requests import Request
from tasks.llm.store import Paid, ResponseStore

CHARACTERS_A_TOKEN = 3.0
"""On the careful side: English text has some four characters a token."""

ASSUMED_REPLY_TOKENS = 1500
"""Assumed length of a reply if the role sets no max_tokens."""


def prompt_tokens(content: bytes) -> int:
    """An upper estimate of the tokens of a request's bytes."""
    return int(len(content) / CHARACTERS_A_TOKEN) + 1


@dataclass(frozen=True)
class Spent:
    """The content of a ledger, reservations apart."""

    dollars: float
    tokens: int
    calls: int
    reserved_dollars: float = 0.0
    reserved_tokens: int = 0


def read_ledger(connection: Connection, name: str) -> Spent:
    """Spent and reserved amounts under a ledger's name."""
    row = connection.execute(
        "SELECT l.dollars, l.tokens, l.calls, r.dollars, r.tokens FROM (SELECT COALESCE(SUM(dollars), 0) AS dollars, "
        "COALESCE(SUM(tokens), 0) AS tokens FROM reservations WHERE ledger = ?) r LEFT JOIN ledgers l ON l.name = ?",
        (name, name),
    ).fetchone()
    return Spent(row[0] or 0.0, row[1] or 0, row[2] or 0, float(row[3]), int(row[4]))


def add_to_ledger(connection: Connection, name: str, dollars: float, tokens: int, calls: int = 1) -> None:
    """Book spending under a ledger's name."""
    connection.execute(
        "INSERT INTO ledgers VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET dollars = ledgers.dollars + "
        "excluded.dollars, tokens = ledgers.tokens + excluded.tokens, calls = ledgers.calls + excluded.calls",
        (name, dollars, tokens, calls),
    )


class Account:
    """One role's use of the budget in this process. Without prices the role is free, and nothing is reserved."""

    def __init__(self, store: ResponseStore, budget: Budget, prices: Prices, *, batch: bool = False) -> None:
        self.store, self.budget, self.prices, self.batch = store, budget, prices, batch
        self._me = this_process()
        self._has_forfeited = False

    @property
    def is_free(self) -> bool:
        """Whether nothing is paid for."""
        return self.prices.dearest is None

    async def reserve(self, request: Request) -> bool:
        """Reserve the most that a request can cost.

        Returns False when another process has the same request under way, or its reply has come in the meantime.
        Waits while only requests under way, here or in other processes, keep it from fitting under the cap; raises
        BudgetError when none is and the cap is reached.
        """
        price = self.prices.dearest
        if price is None:
            return True
        most = Usage(prompt_tokens(request.content), request.max_tokens or ASSUMED_REPLY_TOKENS)
        dollars = cost(price, most, batch=self.batch)
        while True:
            state = await self.store.do(lambda c: self._reserve(c, request.key, dollars, most.tokens))
            if state != "wait":
                return bool(state == "reserved")
            await asyncio.sleep(0.2)

    def _reserve(self, connection: Connection, key: bytes, dollars: float, tokens: int) -> str:
        answered, *held, in_batch = connection.execute(
            "SELECT a.answered, r.host, r.pid, r.born, r.in_batch FROM (SELECT COUNT(*) AS answered FROM responses "
            "WHERE key = ?) a LEFT JOIN reservations r ON r.key = ?",
            (key, key),
        ).fetchone()
        if answered:
            return "answered"
        holder = None if held[0] is None else (held[0], held[1], held[2])
        if holder is not None and holder != self._me and is_running(connection, holder):
            return "elsewhere"
        if in_batch:  # ours now: the batch is found again when the request is sent
            connection.execute("DELETE FROM reservations WHERE key = ?", (key,))
        if not self._has_forfeited:
            forfeit_dead(connection, self.budget.ledger)
            self._has_forfeited = True
        spent = read_ledger(connection, self.budget.ledger)
        if self._over(spent.dollars + spent.reserved_dollars + dollars, spent.tokens + spent.reserved_tokens + tokens):
            forfeit_dead(connection, self.budget.ledger)
            if self._will_be_freed(connection):
                return "wait"
            raise BudgetError(self._explain(read_ledger(connection, self.budget.ledger), dollars))
        connection.execute(
            "INSERT INTO reservations (key, ledger, dollars, tokens, in_batch, host, pid, born) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET ledger = excluded.ledger, "
            "dollars = excluded.dollars, tokens = excluded.tokens, in_batch = excluded.in_batch, "
            "host = excluded.host, pid = excluded.pid, born = excluded.born",
            (key, self.budget.ledger, dollars, tokens, in_batch or 0, *self._me),
        )
        return "reserved"

    def _will_be_freed(self, connection: Connection) -> bool:
        """Whether a running process holds a reservation; those of dead ones, in batches, wait to be fetched."""
        sql = "SELECT DISTINCT host, pid, born FROM reservations WHERE ledger = ?"
        return any(
            is_running(connection, tuple(holder))
            for holder in connection.execute(sql, (self.budget.ledger,)).fetchall()
        )

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

    def price_of(self, model: str, usage: Usage, *, batch: bool | None = None) -> float:
        """Dollars of a reply by ``model``; 0 for a free role."""
        return cost(self.prices.of(model), usage, batch=self.batch if batch is None else batch)

    async def book(self, content: bytes, completion: Completion, key: bytes | None = None) -> None:
        """Book a reply that is not kept: a check of identity, a canary, or the reply of another model.

        ``key`` names the reservation that it replaces; without one, the request was sent alone, never in a batch.
        """
        if self.is_free:
            return
        usage = usage_of(content, completion)
        dollars = self.price_of(completion.model, usage, batch=None if key else False)

        def write(connection: Connection) -> None:
            if key is not None:
                connection.execute("DELETE FROM reservations WHERE key = ?", (key,))
            add_to_ledger(connection, self.budget.ledger, dollars, usage.tokens)

        await self.store.do(write)

    async def keep(self, paid: Paid) -> None:
        """Commit a reply to the store and book it; returns once it is on disk."""
        await self.store.do(lambda connection: self._keep(connection, paid))

    def _keep(self, connection: Connection, paid: Paid) -> None:
        fresh = paid.insert(connection)
        if not self.is_free:
            connection.execute("DELETE FROM reservations WHERE key = ?", (paid.key,))
            if fresh:
                tokens = paid.prompt_tokens + paid.completion_tokens
                add_to_ledger(connection, self.budget.ledger, paid.dollars, tokens)

    async def release(self, key: bytes) -> None:
        """Give back the reservation of a request that was not answered."""
        if not self.is_free:
            await self.store.do(lambda c: c.execute("DELETE FROM reservations WHERE key = ?", (key,)).rowcount)


def forfeit_dead(connection: Connection, ledger: str) -> None:
    """Book the reservations of processes that are gone: their requests may have been billed.

    Not those in a batch: the process that resumes the batch books their actual cost.
    """
    free = "FROM reservations WHERE ledger = ? AND in_batch = 0"
    for host, pid, born in connection.execute(f"SELECT DISTINCT host, pid, born {free}", (ledger,)).fetchall():
        if not is_running(connection, (host, pid, born)):
            where, values = f"{free} AND host = ? AND pid = ? AND born = ?", (ledger, host, pid, born)
            sums = connection.execute(f"SELECT SUM(dollars), SUM(tokens), COUNT(*) {where}", values).fetchone()
            add_to_ledger(connection, ledger, float(sums[0]), int(sums[1]), int(sums[2]))
            connection.execute(f"DELETE {where}", values)
