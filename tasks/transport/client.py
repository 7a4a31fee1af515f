"""Sends the requests of a role: within limits, tried again where that may help, each attempt booked. Imports openai.

Each attempt is reserved in the store before it is sent. One that may be billed is booked also when it fails.
"""

import asyncio
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import replace
from typing import Any, TypeVar

import openai

from schemas.errors import EndpointError, VignetteError
from schemas.params.llm import Budget, Price, Role, RoleName, Sending, key_variable
from tasks.llm.costs import FREE, cost
from tasks.llm.replies import Completion, SendFailure, read_completion
from tasks.llm.requests import Request
from tasks.progress import Count, progress
from tasks.transport.endpoint import (
    IN_PROCESS,
    NOT_SENT_WITHOUT_KEY,
    App,
    connect,
    failure_of,
    json_object,
    key_headers,
    missing_key,
)
from tasks.transport.fingerprint import Fingerprint
from tasks.transport.ledger import book_failed, free, require_room, settle
from tasks.transport.limits import Rate
from tasks.transport.prices import can_be, paid_reply, role_prices, upper_tokens, usage_of
from tasks.transport.shown import printable, public_url, redacted, url_secrets
from tasks.transport.store import ResponseStore

LONGEST_BACKOFF_S = 60.0
T = TypeVar("T")
_REASON = 80
"""Most characters of a failure's reason that are shown while waiting."""
_VERSIONED = re.compile(r"/v\d|/openai")
"""In addresses with a version, or in which Azure has none."""
_PAGE = "HTML"
"""Code of the failure of an endpoint that answers with a page."""


class Client(AbstractAsyncContextManager["Client"]):
    """The openai client of one role, a context: sends requests, and books what they cost in ``store``.

    ``recorded``: the identity whose models may answer, for their prices. ``base_url`` replaces the role's own; ``app``
    answers in its place within this process. Raises ParamsError when a cap in dollars is set and the model has no
    price.
    """

    def __init__(
        self,
        name: RoleName,
        role: Role,
        store: ResponseStore,
        *,
        recorded: Fingerprint | None = None,
        sending: Sending | None = None,
        budget: Budget | None = None,
        prices: Mapping[str, Price] | None = None,
        base_url: str | None = None,
        app: App | None = None,
    ) -> None:
        self.name, self.role, self.store, self.sending = name, role, store, sending or Sending()
        self._prices = role_prices(name, role, recorded, budget or Budget(), prices or {})
        self._budget = (budget or Budget()) if self._prices.dearest else None  # of the simulator, nothing is booked
        self._ledger = self._budget.ledger if self._budget else None
        # 1. the endpoint
        url, variable = IN_PROCESS if app else base_url or role.base_url, key_variable(role, self.sending)
        key = os.environ.get(variable) if variable else None
        self._no_key = None if key else missing_key(name, variable)
        self._secrets = [key or "", *url_secrets(url), *role.query.values(), *role.headers.values()]
        self._openai = connect(role, self.sending, url, key, app, self._no_key if variable else None)
        self._headers = key_headers(role, self.sending, key)
        self.address = public_url(url)
        self._timeout_s = None if app else self.sending.timeout_s  # all requests wait while a rule answers one
        # 2. limits on sending
        self._places = asyncio.Semaphore(self.sending.concurrency)
        self._requests = Rate(store, f"{self.address} requests", self.sending.rpm)
        self._tokens = Rate(store, f"{self.address} tokens", self.sending.tpm)
        self._paused_until = 0.0
        self._failures, self._failing_since = 0, 0.0  # in a row
        self._has_answered = False
        self.stopped: VignetteError | None = None
        """Why nothing more is sent."""
        # 3. requests that are tried again, as they are shown
        self._waiting = set[bytes]()
        self._shown = ExitStack()
        self._attempts: Count | None = None

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._openai.close()

    def stop(self, error: VignetteError) -> VignetteError:
        """Send nothing more: requests that wait to be sent raise ``error``, or what stopped it before."""
        self.stopped = self.stopped or error
        return self.stopped

    async def send(self, request: Request) -> tuple[str, Completion]:
        """The reply's body and content, tried again after failures that may pass.

        Each attempt is reserved: the first one by the caller, the others here. Raises SendFailure when this request
        could not be answered, EndpointError when none can, and BudgetError.
        """
        attempt = 0
        try:
            while True:
                async with self._places:
                    try:
                        return await self._attempt(request)
                    except SendFailure as failure:
                        await self._wait_after(request, failure, attempt)
                        may_be_billed = failure.may_be_billed
                attempt += 1
                if may_be_billed:  # without a place, which requests that hold room under the cap wait for
                    await self.reserve(request)
        finally:
            self._waiting.discard(request.key)
            if not self._waiting:
                self._shown.close()
                self._attempts = None

    async def _wait_after(self, request: Request, failure: SendFailure, attempt: int) -> None:
        """Book a failed attempt, and wait before the next one; raises where there is none.

        Its place is kept meanwhile, so that an endpoint that fails gets fewer requests at once.
        """
        await self._book_failed(request, failure)
        if failure.kind == "fatal":
            raise self.stop(_refused(self.address, failure)) from failure
        if failure.kind == "rejected":
            raise failure
        self._count_failure(failure.reason)
        if attempt >= self.sending.retries:
            raise SendFailure(failure.kind, f"{failure.reason} (after {attempt + 1} attempts)") from failure
        self._show_wait(request, failure, attempt)
        await self._wait(failure, attempt)

    async def _attempt(self, request: Request) -> tuple[str, Completion]:
        """One attempt, within the limits a minute and after a pause that the endpoint asked for."""
        expected = upper_tokens(request.content) + request.max_tokens
        await self._pause()
        await self._requests.take(1)
        await self._tokens.take(expected)
        await self._pause()
        if self.stopped:
            raise self.stopped
        options: Any = {"headers": {**self._headers, "Content-Type": "application/json"}}
        path = "/chat/completions"
        sent = self._openai.post(path, cast_to=str, content=request.content, options=options)
        body, completion = await self._reply(path, sent, self._read)
        await self._tokens.give_back(expected - usage_of(request.content, completion).tokens)
        self._failures, self._has_answered = 0, True
        return body, completion

    def _read(self, body: str) -> Completion:
        """What a reply says; a page in place of the first one is no failure that may pass. Raises SendFailure."""
        if not self._has_answered and body.lstrip().startswith("<"):  # no JSON does
            raise SendFailure("fatal", repr(body.strip()[:_REASON]), code=_PAGE, unknown=True)
        return read_completion(body)

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON at ``path`` of the endpoint, which is written into files, without a secret. Raises SendFailure."""
        options: Any = {"headers": self._headers}
        body, _ = await self._reply(path, self._openai.get(path, cast_to=str, options=options), json_object)
        return json_object(redacted(body, self._secrets))

    async def _reply(self, path: str, sent: Awaitable[str], read: Callable[[str], T]) -> tuple[str, T]:
        """The body of a reply, all of it in time, and what it says. Raises SendFailure, whose reason has no secret."""
        try:
            async with asyncio.timeout(self._timeout_s):
                body = await sent
            return body, read(body)
        except SendFailure as found:
            failure = found
        except TimeoutError:
            raise SendFailure("lost", "timeout", unknown=True) from None
        except UnicodeEncodeError:  # of the request's headers; without its cause, which holds the key
            variable = key_variable(self.role, self.sending)
            held = (f"the key in {variable}, or " if variable else "") + "a header of the role"
            raise SendFailure("fatal", f"{held} has a character that is not ASCII; copy it again") from None
        except openai.OpenAIError as error:
            failure = failure_of(error, path, self._no_key)
        failure.reason = printable(redacted(failure.reason, self._secrets))
        failure.args = (failure.reason,)
        raise failure  # without its cause, which holds the headers

    def _count_failure(self, reason: str) -> None:
        """Note a failure; raises EndpointError after too many in a row over too long a time."""
        now, most = time.monotonic(), self.sending
        if self._failures == 0:
            self._failing_since = now
        self._failures += 1
        lasted = now - self._failing_since
        if self._failures >= most.breaker_failures and lasted >= most.breaker_s:
            raise EndpointError(
                f"{self.address} stays down: {self._failures} failures in a row over {lasted:.0f} s, the last one: "
                f"{reason}. Every reply so far is kept; run again when it is back"
            )

    async def _wait(self, failure: SendFailure, attempt: int) -> None:
        """Wait as long as the endpoint asks, and longer with each attempt."""
        if failure.wait_s is not None:
            if failure.wait_s > self.sending.longest_wait_s:
                raise EndpointError(
                    f"{self.address} asks to wait {failure.wait_s:.0f} s ({failure.reason}), longer than "
                    "longest_wait_s; every reply so far is kept: run again then"
                )
            self._paused_until = max(self._paused_until, time.monotonic() + failure.wait_s)
            await self._pause()
        longest = min(LONGEST_BACKOFF_S, self.sending.backoff_s * 2**attempt)
        await asyncio.sleep(longest * (0.5 + random.random() / 2))  # spread, so that retries do not come back together

    async def _pause(self) -> None:
        """Wait until the time that the endpoint asked all requests to wait for."""
        while (left := self._paused_until - time.monotonic()) > 0:
            await asyncio.sleep(left)

    def _show_wait(self, request: Request, failure: SendFailure, attempt: int) -> None:
        """Show the last failure beside the stage's progress, with the number of attempts of the request tried most."""
        self._waiting.add(request.key)
        if self._attempts is None:
            self._attempts = self._shown.enter_context(progress("", self.sending.retries + 1, "attempt"))
        self._attempts.title = f"{self.address}: {failure.reason[:_REASON]}:"
        self._attempts.done = max(self._attempts.done, attempt + 1)

    async def send_unkept(self, request: Request) -> Completion:
        """The reply to a request by which a model is identified: booked and not kept, reserved under a key of its own.

        Raises SendFailure, EndpointError, BudgetError.
        """
        alone = replace(request, key=os.urandom(32))
        await self.reserve(alone)
        try:
            _, completion = await self.send(alone)
        except Exception:
            await self.release(alone)
            raise
        await self.book(alone, completion)
        return completion

    async def _book(self, operation: Callable[..., Any], *arguments: Any) -> None:
        """Run an operation on the ledger, where the role has one."""
        if self._budget is not None:
            await self.store.do(lambda connection: operation(connection, *arguments))

    async def require_room(self, request: Request) -> None:
        """Raise BudgetError when a request would not fit under the cap even if none were under way."""
        await self._book(require_room, self._budget, *self._prices.most(request))

    async def reserve(self, request: Request) -> bool:
        """Reserve an attempt, see `ResponseStore.reserve`; True for a role that costs nothing."""
        return self._budget is None or await self.store.reserve(request.key, self._budget, *self._prices.most(request))

    async def release(self, request: Request) -> None:
        """Give back the reservation of a request that was not answered."""
        await self._book(free, request.key)

    async def keep(self, request: Request, body: str, completion: Completion, *, identity: str, stage: str) -> float:
        """Commit a reply to the store and book it; returns its dollars, 0 where the store had it already."""
        about = {"key": request.key, "task": request.task, "sample": request.sample}
        about |= {"identity": identity, "role": self.name, "stage": stage}
        paid = paid_reply(about, request.content, body, completion, self._prices.of(completion.model))
        fresh = await self.store.keep(paid, self._ledger)
        return paid.dollars if fresh else 0.0

    async def book(self, request: Request, completion: Completion) -> None:
        """Book a reply that is not kept: a check of identity, a canary, or the reply of another model."""
        usage = usage_of(request.content, completion)
        await self._book(
            settle, request.key, self._ledger, cost(self._prices.of(completion.model), usage), usage.tokens
        )

    async def _book_failed(self, request: Request, failure: SendFailure) -> None:
        """Book an attempt that may be billed."""
        usage, said = failure.usage, None
        if usage is not None and can_be(usage, request.content):
            said = cost(self._prices.dearest or FREE, usage), usage.tokens
        if failure.may_be_billed:
            await self._book(book_failed, request.key, self._ledger, said)


def _refused(address: str, failure: SendFailure) -> EndpointError:
    if failure.code == NOT_SENT_WITHOUT_KEY:
        return EndpointError(f"nothing was sent to {address}: {failure.reason}; every reply so far is kept")
    if failure.code == _PAGE:
        return EndpointError(
            f"{address} answers with HTML, not JSON: {failure.reason}; is it the page of a login or a proxy, or does "
            "base_url lack its path, such as /v1?"
        )
    version = "" if failure.status != 404 or _VERSIONED.search(address) else f" (is {address.rstrip('/')}/v1 meant?)"
    return EndpointError(
        f"{address} refuses every request: {failure.reason}. Check the role's base_url{version}, its model, and "
        "the key in the variable that runtime.sending names; every reply so far is kept"
    )
