"""Asks a role's model: calls in, answers out, nothing paid twice, nothing used before it is kept.

A call becomes a request; its reply comes from the response store, from the same request under way, or from the
endpoint. A reply from the endpoint is checked to come from the recorded model, committed to the store, and only then
read. A reply that cannot be used is asked for again with the reason.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from schemas.errors import IdentityError, VignetteError
from schemas.params.llm import Role, RoleName
from tasks.llm.budget import Account
from tasks.llm.calls import Answer, Call
from tasks.llm.completions import Completion
from tasks.llm.failures import SendFailure
from tasks.llm.fingerprint import Fingerprint, require_same
from tasks.llm.keeping import Keeper
from tasks.llm.rejections import Rejections, of_structure
from tasks.llm.requests import Request, ask_again, make_request, role_for
from tasks.llm.structured import CutOff, Unusable, read_reply


class Transport(Protocol):
    """A way for requests to reach an endpoint and replies to come back."""

    def send(self, request: Request) -> Awaitable[tuple[str, Completion]]:
        """The reply's body and its content; raises SendFailure or an error that stops the stage."""
        ...

    def stop(self, error: VignetteError) -> None:
        """Send nothing more: requests that wait to be sent raise ``error``."""
        ...


class Progress(Protocol):
    """Receives the progress of a role; flows draw a bar from it."""

    def expect(self, calls: int) -> None:
        """So many calls more are to be answered."""
        ...

    def answered(self, answer: Answer, *, paid: bool) -> None:
        """A call was answered; ``paid`` when the endpoint was asked for it."""
        ...


@dataclass(frozen=True)
class RoleSetup:
    """The parts of a role's client."""

    name: RoleName
    role: Role
    fingerprint: Fingerprint
    transport: Transport
    account: Account
    keeper: Keeper
    rejections: Rejections
    width: int  # calls that are worked on at once
    identify: Callable[[], Awaitable[dict[str, str]]]  # the identity that the endpoint has now
    progress: Progress | None = None


@dataclass
class _Work:
    """One call under way: the call as asked now, the role as it samples now, and how often it may be asked again."""

    call: Call
    role: Role
    reasks: int
    paid: bool = False
    raw: str | None = None
    may_ask_otherwise: bool = False  # a structured reply can be asked for in another way


class RoleAsk:
    """The `Ask` of one role. Raises, from a call, only errors that stop the stage."""

    def __init__(self, setup: RoleSetup) -> None:
        self.setup, self.label = setup, setup.fingerprint.label
        ways = setup.role.structured_ways
        self._ways = ways[ways.index(first) :] if (first := setup.fingerprint.structured) in ways else ways
        self._way = 0
        self._under_way: dict[bytes, asyncio.Future[Completion]] = {}
        self._identified: asyncio.Future[None] | None = None
        self._stopped: VignetteError | None = None

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer ``calls``, in order."""
        if self._stopped:
            raise self._stopped
        if self.setup.progress:
            self.setup.progress.expect(len(calls))
        answers: list[Answer | None] = [None] * len(calls)
        numbered = iter(enumerate(calls))

        async def work() -> None:
            for position, call in numbered:
                if self._stopped:
                    return
                try:
                    answers[position] = await self._answer(call)
                except VignetteError as error:  # the others wait for their requests in flight: these are paid for
                    self._stopped = self._stopped or error
                    self.setup.transport.stop(self._stopped)

        await asyncio.gather(*(work() for _ in range(min(self.setup.width, len(calls)))))
        if self._stopped:
            raise self._stopped
        return [answer for answer in answers if answer is not None]

    async def _answer(self, call: Call) -> Answer:
        work = _Work(call, self.setup.role, self.setup.role.reasks)
        while True:
            try:
                completion = await self._reply_to(work)
            except SendFailure as failure:
                return self._done(work, Answer(call.key, failure=failure.reason, raw=work.raw, lost=failure.may_pass))
            work.raw = completion.text
            try:
                value = read_reply(completion, call.reply, call.context)
            except Unusable as problem:
                if not self._prepare_again(work, completion, problem):
                    reason = f"unusable reply: {problem}{self._advice(problem)}"
                    return self._done(work, Answer(call.key, failure=reason, raw=work.raw))
                continue
            return self._done(work, Answer(call.key, text=completion.text, value=value))

    def _prepare_again(self, work: _Work, completion: Completion, problem: Unusable) -> bool:
        """Change ``work`` so that asking again may help; False when it may not be asked again."""
        if isinstance(problem, CutOff):
            longer = _doubled(role_for(self.setup.role, work.call), completion)
            if work.role is not self.setup.role or longer is None:
                return False
            work.role = longer
            return True
        if work.reasks == 0:
            return False
        work.reasks -= 1
        work.call = ask_again(work.call, work.raw or "", str(problem))
        return True

    def _advice(self, problem: Unusable) -> str:
        return f"; raise roles.{self.setup.name}.max_tokens" if isinstance(problem, CutOff) else ""

    def _done(self, work: _Work, answer: Answer) -> Answer:
        if self.setup.progress:
            self.setup.progress.answered(answer, paid=work.paid)
        return answer

    async def _reply_to(self, work: _Work) -> Completion:
        """The reply to ``work``; where the endpoint refuses a way of asking for structure, the next one is tried."""
        if work.call.reply is None:
            return await self._obtain(work, make_request(work.call, work.role, self.setup.fingerprint.key))
        requests = [make_request(work.call, work.role, self.setup.fingerprint.key, way) for way in self._ways]
        if len(requests) > 1:
            for way, request in enumerate(requests):
                if (kept := await self.setup.keeper.find(request.key)) is not None:
                    self._way = max(self._way, way)
                    return kept
        while True:
            way = self._way
            work.may_ask_otherwise = way + 1 < len(requests)
            try:
                return await self._obtain(work, requests[way])
            except SendFailure as failure:
                if not work.may_ask_otherwise or not of_structure(failure):
                    raise
                self._way = max(self._way, way + 1)

    async def _obtain(self, work: _Work, request: Request) -> Completion:
        """The reply to a request: kept, under way, or fetched from the endpoint."""
        kept = await self.setup.keeper.find(request.key)
        if kept is not None:
            return kept
        twin = self._under_way.get(request.key)
        if twin is not None:
            return await asyncio.shield(twin)
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._under_way[request.key] = future
        try:
            completion = await self._fetch(work, request)
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else SendFailure("lost", "interrupted"))
            future.exception()  # it may have no other reader
            raise
        finally:
            del self._under_way[request.key]
        future.set_result(completion)
        work.paid = True
        return completion

    async def _fetch(self, work: _Work, request: Request) -> Completion:
        setup = self.setup
        while not await setup.account.reserve(request):
            kept = await setup.keeper.find(request.key)
            if kept is not None:
                return kept
            await asyncio.sleep(0.2)  # another process has it under way
        try:
            await self._identify()
            body, completion = await self._send(work, request)
        except Exception:  # not when cancelled: the endpoint may bill the request
            await setup.account.release(request.key)
            raise
        await setup.keeper.keep(request, body, completion)
        return completion

    async def _send(self, work: _Work, request: Request) -> tuple[str, Completion]:
        """Send a request. What stops the stage stops the transport at once, before another request is sent."""
        setup = self.setup
        try:
            body, completion = await setup.transport.send(request)
            setup.rejections.succeeded()
        except SendFailure as failure:
            is_last_resort = work.role is setup.role and not (work.may_ask_otherwise and of_structure(failure))
            if failure.kind == "rejected" and is_last_resort and (stop := setup.rejections.rejected(failure)):
                setup.transport.stop(stop)
                raise stop from failure
            raise
        try:
            setup.keeper.check(completion)
        except IdentityError as error:
            setup.transport.stop(error)  # raised again when the reply is booked
        return body, completion

    async def _identify(self) -> None:
        """Before the first request: the endpoint must still be the recorded one."""
        if self._identified is None:
            self._identified = asyncio.ensure_future(self._check_identity())
        await asyncio.shield(self._identified)

    async def _check_identity(self) -> None:
        require_same(self.setup.fingerprint, await self.setup.identify())


def _doubled(role: Role, cut: Completion) -> Role | None:
    """The role with twice its length limit, up to its cap; None where that is no more than now.

    Where the role sets no limit, that of the endpoint is the length of the reply that was cut off.
    """
    limit = role.max_tokens or cut.completion_tokens
    longer = min(2 * limit, role.max_tokens_limit or 2 * limit)
    return role.model_copy(update={"max_tokens": longer}) if longer > limit else None
