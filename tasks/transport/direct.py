"""Sends requests one by one, within limits, with retries after failures that may pass; stops at a broken endpoint."""

import asyncio
import random
from contextlib import ExitStack

from schemas.errors import EndpointError, VignetteError
from schemas.params.llm import Sending
from tasks.llm.replies import Completion, SendFailure, read_completion
from tasks.llm.requests import Request
from tasks.progress import Count, progress
from tasks.transport.budget import Account, prompt_tokens, usage_of
from tasks.transport.endpoint import NOT_SENT_WITHOUT_KEY, Endpoint
from tasks.transport.limits import Breaker, Pause, Rate, Width
from tasks.transport.processes import ParentWatch

LONGEST_BACKOFF_S = 60.0
_REASON = 80
"""Most characters of a failure's reason that are shown while waiting."""


class Direct:
    """The transport of one role in one process."""

    def __init__(self, endpoint: Endpoint, sending: Sending, account: Account) -> None:
        self.endpoint, self.sending, self.account = endpoint, sending, account
        self.width = Width(sending.concurrency)
        self._calls = Rate(account.store, f"{endpoint.address} requests", sending.rpm)
        self._tokens = Rate(account.store, f"{endpoint.address} tokens", sending.tpm)
        self._pause, self._breaker = Pause(), Breaker(sending, endpoint.address)
        self._watch = ParentWatch()
        self._stopped: VignetteError | None = None
        self._waiting = set[bytes]()  # keys of the requests that are tried again
        self._shown = ExitStack()  # holds the count of their attempts
        self._attempts: Count | None = None

    def stop(self, error: VignetteError) -> None:
        """Send nothing more: requests that wait to be sent raise ``error``."""
        self._stopped = error

    async def send(self, request: Request) -> tuple[str, Completion]:
        """The reply's body and content. Each attempt is reserved: the first one by the caller, the others here.

        Raises SendFailure when this request could not be answered, EndpointError when none can, BudgetError, and
        OrphanError when the process that started the stage is gone.
        """
        try:
            return await self._send(request)
        finally:
            self._waiting.discard(request.key)
            if not self._waiting:
                self._shown.close()
                self._attempts = None

    async def _send(self, request: Request) -> tuple[str, Completion]:
        attempt = 0
        while True:
            try:
                return await self._attempt(request)
            except SendFailure as failure:
                await self.account.book_failed(request, failure)
                if failure.kind == "fatal":
                    error = EndpointError(_explain(self.endpoint.address, failure))
                    self.stop(error)
                    raise error from failure
                if failure.kind == "rejected":
                    raise
                self._breaker.failed(failure.reason)
                if attempt >= self.sending.retries:
                    reason = f"{failure.reason} (after {attempt + 1} attempts)"
                    raise SendFailure(failure.kind, reason) from failure
                self._show_wait(request, failure, attempt)
                await self._wait(failure, attempt)
                attempt += 1
                if failure.may_be_billed:
                    await self.account.reserve(request)

    async def _attempt(self, request: Request) -> tuple[str, Completion]:
        expected = prompt_tokens(request.content) + request.max_tokens
        await self.width.enter()
        try:
            await self._pause.over()
            await self._calls.take(1)
            await self._tokens.take(expected)
            await self._pause.over()
            self._watch.check()
            if self._stopped:
                raise self._stopped
            async with asyncio.timeout(self.endpoint.timeout_s):
                body = await self.endpoint.chat(request.content)
            completion = read_completion(body)
        except TimeoutError:
            self.width.shrink()
            raise SendFailure("lost", "timeout", unknown=True) from None
        except SendFailure as failure:
            if failure.kind == "busy":
                self.width.shrink()
            raise
        finally:
            self.width.leave()
        await self._tokens.give_back(expected - usage_of(request.content, completion).tokens)
        self._breaker.succeeded()
        self.width.grow()
        return body, completion

    async def _wait(self, failure: SendFailure, attempt: int) -> None:
        if failure.wait_s is not None:
            if failure.wait_s > self.sending.longest_wait_s:
                raise EndpointError(
                    f"{self.endpoint.address} asks to wait {failure.wait_s:.0f} s ({failure.reason}), longer than "
                    "longest_wait_s; every reply so far is kept: run again then"
                )
            self._pause.hold(failure.wait_s)
            await self._pause.over()
        longest = min(LONGEST_BACKOFF_S, self.sending.backoff_s * 2**attempt)
        await asyncio.sleep(longest * (0.5 + random.random() / 2))  # spread, so that retries do not come back together

    def _show_wait(self, request: Request, failure: SendFailure, attempt: int) -> None:
        """Show the last failure beside the stage's progress, with the number of attempts of the request tried most."""
        self._waiting.add(request.key)
        if self._attempts is None:
            self._attempts = self._shown.enter_context(progress("", self.sending.retries + 1, "attempt"))
        self._attempts.title = f"{self.endpoint.address}: {failure.reason[:_REASON]}:"
        self._attempts.done = max(self._attempts.done, attempt + 1)


def _explain(address: str, failure: SendFailure) -> str:
    if failure.code == NOT_SENT_WITHOUT_KEY:
        return f"nothing was sent to {address}: {failure.reason}; every reply so far is kept"
    return (
        f"{address} refuses every request: {failure.reason}. Check the role's base_url, its model, and the key in the "
        "variable that runtime.sending names; every reply so far is kept"
    )
