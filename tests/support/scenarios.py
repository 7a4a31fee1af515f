"""Sends calls to a fake endpoint and checks conditions that must hold for any endpoint."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse, Response

from schemas.errors import VignetteError
from schemas.params.llm import Budget, Price, Role, Sending
from tasks.llm.budget import Spent, read_ledger
from tasks.llm.calls import Answer, Call, Reply
from tasks.llm.fingerprint import Fingerprint
from tasks.llm.store import ResponseStore
from tests.support.endpoints import asker, chat
from tests.support.hosted import Body, Hosted, completion, hosted

PRICE = Price(prompt=1000.0, completion=2000.0)
"""A reply of the fake endpoint, 10 and 5 tokens, costs 2 cents."""

QUICK = Sending(timeout_s=2.0, backoff_s=0.01, breaker_failures=10_000, concurrency=4, retries=1)
Script = Callable[[Body, int], Any]


class Verdict(Reply):
    """Whether a claim holds, and how sure that is."""

    holds: bool
    sure: int = 1


class Causes(Reply):
    """The causes of a symptom."""

    causes: list[str]


@dataclass
class Played:
    """The result of playing a scenario."""

    answers: list[Answer]
    error: VignetteError | None
    bodies: list[Body]
    headers: list[dict[str, str]]
    queries: list[str]
    kept: list[tuple[str, int, int, int]]  # model, prompt and completion tokens, whether they are estimated
    spent: Spent

    @property
    def sent(self) -> list[Body]:
        """Requests other than the check of identity."""
        return [body for body in self.bodies if "ready" not in str(body["messages"][-1]["content"])]


@dataclass
class Scenario:
    """Calls to a role, and how the endpoint replies to the chat requests (number 0 is the check of identity)."""

    script: Script
    calls: int = 4
    reply: type[Reply] | None = None
    role: dict[str, Any] = field(default_factory=dict)
    sending: Sending = QUICK
    budget: Budget = field(default_factory=Budget)
    prices: dict[str, Price] = field(default_factory=lambda: {"big-1": PRICE})
    aliases: tuple[str, ...] = ()
    path: str = "/v1"
    query: str = ""
    between_runs: Callable[[], None] | None = None

    def play(self, folder: Path, runs: int = 1) -> Played:
        """Run the calls; the last of ``runs`` runs counts, all use one store."""
        with hosted(self.script) as endpoint:
            url = endpoint.base_url.removesuffix("/v1") + self.path
            for run in range(runs):
                if run and self.between_runs:
                    self.between_runs()
                answers, error = asyncio.run(self._ask(url, folder))
        return self._result(folder, endpoint, answers, error)

    async def _ask(self, url: str, folder: Path) -> tuple[list[Answer], VignetteError | None]:
        role = Role.model_validate({"base_url": url + self.query, "model": "big-1", "max_tokens": 20} | self.role)
        identity = {"endpoint": url, "asked": "big-1", "answered": "big-1", "owner": "acme"}
        fingerprint = Fingerprint("writer", identity, aliases=self.aliases)
        calls = [chat(n, reply=self.reply) for n in range(self.calls)]
        more: dict[str, Any] = {"budget": self.budget, "prices": self.prices, "fingerprint": fingerprint}
        with ResponseStore(folder / "responses.sqlite") as store:
            try:
                base_url = url + self.query
                async with asker(store, base_url, role=role, sending=self.sending, **more) as ask:
                    return await ask(calls), None
            except VignetteError as error:
                return [], error

    def _result(self, folder: Path, endpoint: Hosted, answers: list[Answer], error: VignetteError | None) -> Played:
        with ResponseStore(folder / "responses.sqlite") as store:
            sql = "SELECT model, prompt_tokens, completion_tokens, estimated FROM responses"
            kept = store.do_now(lambda c: c.execute(sql).fetchall())
            spent = store.do_now(lambda c: read_ledger(c, self.budget.ledger))
        played = Played(answers, error, endpoint.bodies, endpoint.headers, endpoint.queries, kept, spent)
        self._check(played)
        return played

    def _check(self, played: Played) -> None:
        """No wrong reply is kept, spending stays within the cap, and the counts add up."""
        assert {row[0] for row in played.kept} <= {"big-1", *self.aliases}
        assert len(played.answers) == (0 if played.error else self.calls)
        assert all(answer.ok != bool(answer.failure) for answer in played.answers)
        assert played.spent.reserved_tokens == 0, "nothing stays reserved"
        if self.budget.dollars is not None:
            in_flight = self.sending.concurrency * 0.05
            assert played.spent.dollars <= self.budget.dollars + in_flight
        booked = sum(row[1] + row[2] for row in played.kept)
        assert played.spent.tokens >= booked and played.spent.calls >= len(played.kept)
        assert played.spent.calls <= len(played.bodies)


def says(text: str | None, **fields: Any) -> Script:
    """An endpoint that always replies with ``text``."""
    return lambda body, _: completion(text, body, **fields)


def refuses(status: int, message: str, **fields: Any) -> Response:
    """An error as OpenAI-compatible endpoints send it."""
    return JSONResponse({"error": {"message": message, **fields}}, status)


def unless(condition: Callable[[Body], bool], otherwise: Response, text: str = "fine") -> Script:
    """An endpoint that replies with ``text`` where ``condition`` holds for the request, else with an error."""
    return lambda body, _: completion(text, body) if condition(body) else otherwise


def call(number: int, reply: type[Reply] | None = None) -> Call:
    """One call, as a scenario makes it."""
    return chat(number, reply=reply)
