"""The ledgers of the store: what was spent, what is reserved, and the cap on both.

Before each attempt to send a paid request, the most that it can cost is reserved; when its reply is kept, its actual
cost replaces the reservation. An attempt whose outcome is unknown (a timeout, an unreadable reply, a killed process)
may have been billed: it is spent, as much as was reserved, and marked as unknown. Each function is part of a
transaction.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa

from schemas.errors import BudgetError
from schemas.params.llm import Budget
from tasks.transport.database import is_running, ledgers, reservations, responses, upsert
from tasks.transport.processes import this_process

HOLDER = (reservations.c.host, reservations.c.pid, reservations.c.born)


@dataclass(frozen=True)
class Spent:
    """The content of a ledger, and what is reserved beside it."""

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


def free(connection: sa.Connection, key: bytes) -> None:
    """Give back the reservation of a request."""
    connection.execute(sa.delete(reservations).where(reservations.c.key == key))


def settle(connection: sa.Connection, key: bytes, ledger: str, dollars: float, tokens: int) -> None:
    """Book a reply in place of its reservation."""
    free(connection, key)
    add_to_ledger(connection, ledger, dollars, tokens)


def reserve(
    connection: sa.Connection, key: bytes, budget: Budget, dollars: float, tokens: int
) -> Literal["reserved", "answered", "elsewhere", "full"]:
    """Reserve the most that a request can cost.

    Nothing is reserved where its reply has come meanwhile, where another process has it under way, and while requests
    under way, here or in other processes, keep it from fitting under the cap. Raises BudgetError when none does, and
    the cap is reached.
    """
    if connection.execute(sa.select(responses.c.id).where(responses.c.key == key)).first():
        return "answered"
    me = this_process()
    held = sa.select(reservations.c.ledger, *HOLDER).where(reservations.c.key == key)
    ledger, *holder = connection.execute(held).one_or_none() or (budget.ledger, *me)
    if (*holder,) != me:
        if is_running(connection, (*holder,)):
            return "elsewhere"
        forfeit_dead(connection, ledger)  # which may be another one than that of this run
    if not _fits(budget, read_ledger(connection, budget.ledger), dollars, tokens):
        spent = require_room(connection, budget, dollars, tokens)
        if not _fits(budget, spent, dollars, tokens):
            return "full"
    host, pid, born = me
    row: dict[str, Any] = {"key": key, "ledger": budget.ledger, "dollars": dollars, "tokens": tokens}
    free(connection, key)
    connection.execute(sa.insert(reservations), row | {"host": host, "pid": pid, "born": born})
    return "reserved"


def require_room(connection: sa.Connection, budget: Budget, dollars: float, tokens: int) -> Spent:
    """What the ledger holds. Raises BudgetError when a request would not fit even if no other were under way."""
    forfeit_dead(connection, budget.ledger)
    spent = read_ledger(connection, budget.ledger)
    if not _fits(budget, replace(spent, reserved_dollars=0.0, reserved_tokens=0), dollars, tokens):
        raise BudgetError(
            f"the cap of {caps_text(budget)} is reached: ledger {budget.ledger!r} holds {spent.dollars:.4f} dollars "
            f"and {spent.tokens} tokens in {spent.calls} calls, and the next call may cost {dollars:.4f}. Every reply "
            "so far is kept; to go on, raise budget.dollars or budget.tokens in params.yaml, or name a new "
            "budget.ledger, and run the same command again"
        )
    return spent


def _fits(caps: Budget, spent: Spent, dollars: float, tokens: int) -> bool:
    """Whether a request fits under the caps beside what is spent and reserved."""
    dollars, tokens = dollars + spent.dollars + spent.reserved_dollars, tokens + spent.tokens + spent.reserved_tokens
    return (caps.dollars is None or dollars <= caps.dollars) and (caps.tokens is None or tokens <= caps.tokens)


def caps_text(budget: Budget) -> str:
    """The caps of a budget in words; empty where it has none."""
    caps = [f"{budget.dollars:g} dollars"] if budget.dollars is not None else []
    caps += [f"{budget.tokens} tokens"] if budget.tokens is not None else []
    return " and ".join(caps)


def book_failed(connection: sa.Connection, key: bytes, ledger: str, said: tuple[float, int] | None) -> None:
    """Book an attempt that may be billed: the dollars and tokens that its reply ``said``, else those reserved for it.

    The reservation stays without an amount, so that no other process sends the request before the next attempt.
    """
    dollars, tokens, number = _reserved(connection, reservations.c.key == key)
    if said is not None:
        add_to_ledger(connection, ledger, *said, number)
    else:
        add_to_ledger(connection, ledger, dollars, tokens, number, unknown=True)
    connection.execute(sa.update(reservations).where(reservations.c.key == key).values(dollars=0.0, tokens=0))


def forfeit_dead(connection: sa.Connection, ledger: str) -> None:
    """Book the reservations of processes that are gone: their requests may have been billed."""
    of_ledger = reservations.c.ledger == ledger
    for holder in connection.execute(sa.select(*HOLDER).where(of_ledger).distinct()).all():
        if not is_running(connection, (*holder,)):
            theirs = (of_ledger, *(column == value for column, value in zip(HOLDER, holder, strict=True)))
            add_to_ledger(connection, ledger, *_reserved(connection, *theirs, reservations.c.tokens > 0), unknown=True)
            connection.execute(sa.delete(reservations).where(*theirs))
