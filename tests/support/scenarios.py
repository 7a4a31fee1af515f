"""Sends calls to a fake endpoint and checks conditions that must hold for any endpoint."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse, Response

from flows.repository.workspace import STORE
from flows.runtime.clients import Clients
from schemas.errors import VignetteError
from schemas.params.llm import Budget, Price, Role, Sending
from tasks.llm.calls import Answer, Call, Reply
from tasks.transport.client import Client
from tasks.transport.fingerprint import Fingerprint, named_identity
from tasks.transport.ledger import Spent, read_ledger
from tasks.transport.probing import Sighting, look_up
from tasks.transport.store import ResponseStore
from tests.support.endpoints import QUICK as PATIENT
from tests.support.endpoints import answers, asker, chat
from tests.support.hosted import Body, Hosted, completion, hosted
from tests.support.params import shipped
from tests.support.stored import sql

PRICE = Price(prompt=1000.0, completion=2000.0)
"""A reply of the fake endpoint, 10 and 5 tokens, costs 2 cents."""

ROLE = Role(base_url="http://hosted.example/v1", model="big-1")
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
    endpoint: Hosted
    kept: list[tuple[str, int, int, int]]  # model, prompt and completion tokens, whether they are estimated
    spent: Spent

    @property
    def sent(self) -> list[Body]:
        """Requests other than the check of identity."""
        return asked(self.endpoint)


@dataclass
class Scenario:
    """Calls to a role, and how the endpoint replies to the chat requests (number 0 is the check of identity).

    The fields from ``ok`` on are the outcome that is expected: answered calls (all by default), the text or value of
    these, what failures say, the error that stops the stage, and the numbers of requests and kept replies.
    """

    script: Script
    calls: int | Sequence[int] = 4
    reply: type[Reply] | None = None
    role: dict[str, Any] = field(default_factory=dict)
    sending: Sending = QUICK
    budget: Budget = field(default_factory=Budget)
    prices: dict[str, Price] = field(default_factory=lambda: {"big-1": PRICE})
    aliases: tuple[str, ...] = ()
    path: str = "/v1"
    query: str = ""
    runs: int = 1
    between_runs: Callable[[Path], None] | None = None
    ok: int | None = None
    said: object = None
    failure: str = ""
    error: str = ""
    sent: range | int | None = None
    kept: int | None = None
    dollars: float | None = None

    def play(self, folder: Path) -> Played:
        """Run the calls, and check the outcome; the last of ``runs`` runs counts, all use one store."""
        with hosted(self.script) as endpoint:
            url = endpoint.base_url.removesuffix("/v1") + self.path
            for run in range(self.runs):
                if run and self.between_runs:
                    self.between_runs(folder)
                answers, error = asyncio.run(self._ask(url, folder))
        with ResponseStore(folder / "responses.sqlite") as store:
            kept = sql(store, "SELECT model, prompt_tokens, completion_tokens, estimated FROM responses")
            spent = store.do_now(lambda connection: read_ledger(connection, self.budget.ledger))
        played = Played(answers, error, endpoint, kept, spent)
        self._check_always(played)
        self._check_expected(played)
        return played

    async def _ask(self, url: str, folder: Path) -> tuple[list[Answer], VignetteError | None]:
        role = Role.model_validate({"base_url": url + self.query, "model": "big-1", "max_tokens": 20} | self.role)
        more: dict[str, Any] = {"budget": self.budget, "prices": self.prices}
        identity = {**named_identity(role), "answered": "big-1", "owner": "acme"}
        more["fingerprint"] = Fingerprint("writer", identity, aliases=self.aliases)
        with ResponseStore(folder / "responses.sqlite") as store:
            try:
                async with asker(store, url + self.query, role=role, sending=self.sending, **more) as ask:
                    return await ask([chat(number, reply=self.reply) for number in self._numbers()]), None
            except VignetteError as error:
                return [], error

    def _numbers(self) -> Sequence[int]:
        return range(self.calls) if isinstance(self.calls, int) else self.calls

    def _check_always(self, played: Played) -> None:
        """No wrong reply is kept, spending stays within the cap, and the counts add up."""
        assert {row[0] for row in played.kept} <= {"big-1", *self.aliases}
        assert len(played.answers) == (0 if played.error else len(self._numbers()))
        assert all(answer.ok != bool(answer.failure) for answer in played.answers)
        assert played.spent.reserved_tokens == 0, "nothing stays reserved"
        if self.budget.dollars is not None:
            assert played.spent.dollars <= self.budget.dollars + self.sending.concurrency * 0.05
        assert played.spent.tokens >= sum(row[1] + row[2] for row in played.kept)
        assert played.spent.calls >= len(played.kept)
        assert played.spent.calls <= len(played.endpoint.bodies)

    def _check_expected(self, played: Played) -> None:
        problem = f"{type(played.error).__name__}: {played.error}" if played.error else ""
        assert bool(problem) == bool(self.error) and re.search(self.error, problem, re.DOTALL), problem
        answered = [answer for answer in played.answers if answer.ok]
        if not self.error:
            expected = len(self._numbers()) if self.ok is None else self.ok
            assert len(answered) == expected, [answer.failure for answer in played.answers]
        if self.said is not None:
            assert {str(answer.value or answer.text) for answer in answered} == {str(self.said)}
        for answer in played.answers:
            assert answer.ok or re.search(self.failure, str(answer.failure)), answer.failure
        for wanted, found in ((self.sent, len(played.sent)), (self.kept, len(played.kept))):
            assert wanted is None or found in ([wanted] if isinstance(wanted, int) else wanted), found
        assert self.dollars is None or abs(played.spent.dollars - self.dollars) < 1e-9, played.spent


def asked(endpoint: Hosted) -> list[Body]:
    """Chat requests other than the check of identity."""
    return [body for body in endpoint.bodies if "ready" not in str(body["messages"][-1]["content"])]


def fingerprint(base_url: str, **more: Any) -> Fingerprint:
    """The recorded identity of the fake endpoint's model."""
    identity = {"endpoint": base_url, "asked": "big-1", "answered": "big-1", "owner": "acme"}
    return Fingerprint("writer", identity, **more)


def ask(
    base_url: str, folder: Path, calls: Sequence[Call], *, role: Role = ROLE, sending: Sending = PATIENT, **more: Any
) -> list[Answer]:
    """The answers of the fake endpoint's model to calls."""
    served = role.model_copy(update={"base_url": base_url})
    settings = {"fingerprint": fingerprint(base_url)} | more
    return answers(base_url, folder, calls, role=served, sending=sending, **settings)


def echo(body: Body, number: int) -> Body:
    """A reply that repeats the request."""
    return completion(f"said {body['messages'][-1]['content']}", body)


def says(text: str | None, **fields: Any) -> Script:
    """An endpoint that always replies with ``text``."""
    return lambda body, _: completion(text, body, **fields)


def slowly(script: Script, seconds: float = 0.1) -> Script:
    """The same endpoint with a delay."""

    async def reply(body: Body, number: int) -> Any:
        await asyncio.sleep(seconds)
        return script(body, number)

    return reply


def refuses(status: int, message: str, **fields: Any) -> Response:
    """An error as OpenAI-compatible endpoints send it."""
    return JSONResponse({"error": {"message": message, **fields}}, status)


def unless(condition: Callable[[Body], bool], otherwise: Response, text: str = "fine") -> Script:
    """An endpoint that replies with ``text`` where ``condition`` holds for the request, else with an error."""
    return lambda body, _: completion(text, body) if condition(body) or is_greeting(body) else otherwise


def but_for_greeting(script: Script) -> Script:
    """The same endpoint, but for the check of identity, which is answered."""
    return lambda body, number: completion("ready", body) if is_greeting(body) else script(body, number)


def look(endpoint: Hosted, folder: Path, **settings: Any) -> Sighting:
    """Probe ``endpoint``."""
    role = Role.model_validate({"base_url": endpoint.base_url, "model": "big-1"} | settings)

    async def run() -> Sighting:
        with ResponseStore(folder / "responses.sqlite") as store:
            async with Client("judge", role, store, sending=QUICK) as client:
                return await look_up(client)

    return asyncio.run(run())


def run_stage(endpoint: Hosted, folder: Path, model: str = "big-1", **runtime: Any) -> list[bool]:
    """A minimal stage: ask, then end; which of its six calls were answered."""
    sending = {"judge": Sending(retries=1, backoff_s=0.0, timeout_s=2, breaker_failures=1000)}
    role = Role(base_url=endpoint.base_url, model=model)
    params = shipped(roles={"judge": role}, runtime={"sending": sending, "store": str(folder / STORE), **runtime})
    (folder / "judge.json").write_text(fingerprint(endpoint.base_url).to_json())

    async def run() -> list[bool]:
        clients = Clients("doclens", params, fingerprints=folder)
        try:
            answers = await clients.of("judge")([chat(n) for n in range(6)])
            clients.require_answers()
            return [answer.ok for answer in answers]
        finally:
            await clients.close()

    return asyncio.run(run())


def is_greeting(body: Body) -> bool:
    """Whether a request is the check of identity."""
    return "ready" in str(body["messages"])
