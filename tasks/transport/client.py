"""Asks a role's model: calls in, answers out, nothing paid twice, nothing used before it is kept.

A call becomes a request; its reply comes from the response store, from the same request under way, or from the
endpoint. A reply from the endpoint is checked to come from the recorded model, committed to the store, and only then
read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa

from schemas.errors import IdentityError, VignetteError
from schemas.params.llm import Role, RoleName
from tasks.llm.ask_all import answer_call
from tasks.llm.calls import Answer, Call
from tasks.llm.replies import Completion, SendFailure, read_completion
from tasks.llm.requests import Request, make_request
from tasks.progress import Count
from tasks.transport.budget import WAIT_S, Account, usage_of
from tasks.transport.database import responses
from tasks.transport.fingerprint import Fingerprint, require_answered, require_same
from tasks.transport.missing import Collector
from tasks.transport.rejections import Rejections, of_structure
from tasks.transport.store import Paid, Unreadable


class Transport(Protocol):
    """A way for requests to reach an endpoint and replies to come back."""

    def send(self, request: Request) -> Awaitable[tuple[str, Completion]]:
        """The reply's body and its content; raises SendFailure or an error that stops the stage."""
        ...

    def stop(self, error: VignetteError) -> None:
        """Send nothing more: requests that wait to be sent raise ``error``."""
        ...


class Keeper:
    """Reads and writes the replies of one role in the response store: those of the recorded model, and no other."""

    def __init__(self, name: RoleName, fingerprint: Fingerprint, account: Account, stage: str) -> None:
        self.name, self.fingerprint, self.account, self.stage = name, fingerprint, account, stage
        self.used: set[bytes] = set()
        """Keys of the replies found or kept so far."""
        self.dropped = 0
        """Kept replies that could not be used, and were deleted."""

    async def find(self, key: bytes) -> Completion | None:
        """The kept reply to a request, or None. One that is of another model or cannot be read is deleted and counted.

        Raises StoreError.
        """
        try:
            body = self.account.store.find(key)
            if body is None:
                return None
            completion = read_completion(body)
            self.check(completion)
        except (Unreadable, SendFailure, IdentityError):
            await self.account.store.run(sa.delete(responses).where(responses.c.key == key))
            self.dropped += 1
            return None
        self.used.add(key)
        return completion

    def check(self, completion: Completion) -> None:
        """Raises IdentityError unless the recorded model replied."""
        require_answered(self.fingerprint, completion)

    async def keep(self, request: Request, body: str, completion: Completion) -> None:
        """Commit a reply and book it. Raises IdentityError for the reply of another model: it is booked, not kept."""
        try:
            self.check(completion)
        except IdentityError:
            await self.account.book(request, completion)
            raise
        usage = usage_of(request.content, completion)
        await self.account.keep(
            Paid(
                key=request.key,
                identity=self.fingerprint.key,
                role=self.name,
                stage=self.stage,
                task=request.task,
                model=completion.model,
                request=request.content,
                reply=body,
                prompt_tokens=usage.prompt,
                completion_tokens=usage.completion,
                dollars=self.account.price_of(completion.model, usage),
                sample=request.sample,
                cached_tokens=usage.cached,
                estimated=usage.estimated,
            )
        )
        self.used.add(request.key)


@dataclass(eq=False)
class RoleAsk:
    """The `Ask` of one role. Raises, from a call, only errors that stop the stage.

    ``width``: calls that are worked on at once. ``identify``: the identity that the endpoint has now. ``collector``:
    notes the requests that have no reply, in place of sending them.
    """

    role: Role
    transport: Transport
    keeper: Keeper
    rejections: Rejections
    width: int
    identify: Callable[[], Awaitable[dict[str, str]]]
    progress: Count | None = None
    collector: Collector | None = None

    def __post_init__(self) -> None:
        self.name, self.fingerprint, self.account = self.keeper.name, self.keeper.fingerprint, self.keeper.account
        self.label = self.fingerprint.label
        ways, first = self.role.structured_ways, self.fingerprint.structured
        self._ways = ways[ways.index(first) :] if first in ways else ways
        self._way = 0  # of asking for structure: those before it were refused
        self._under_way: dict[bytes, asyncio.Future[Completion]] = {}
        self._identified: asyncio.Future[None] | None = None
        self._stopped: VignetteError | None = None

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer ``calls``, in order."""
        if self._stopped:
            raise self._stopped
        if self.progress:
            self.progress.total += len(calls)
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
                    self.transport.stop(self._stopped)

        await asyncio.gather(*(work() for _ in range(min(self.width, len(calls)))))
        if self._stopped:
            raise self._stopped
        return [answer for answer in answers if answer is not None]

    async def _answer(self, call: Call) -> Answer:
        paid = False

        async def obtain(asked: Call, role: Role) -> Completion:
            nonlocal paid
            completion, fetched = await self._reply_to(asked, role)
            paid = paid or fetched
            return completion

        answer = await answer_call(call, self.name, self.role, obtain)
        if self.progress:
            self.progress.kept += not paid
            self.progress.failed += not answer.ok
            self.progress.dollars = self.account.dollars
            self.progress.update()
        return answer

    async def _reply_to(self, call: Call, role: Role) -> tuple[Completion, bool]:
        """The reply to ``call``, and whether the endpoint was asked for it.

        Where the endpoint refuses a way of asking for structure, the next one is tried.
        """
        ways = self._ways if call.described is not None else self._ways[:1]
        requests = [make_request(call, role, self.fingerprint.key, way) for way in ways]
        if len(requests) > 1:
            for way, request in enumerate(requests):
                if (kept := await self.keeper.find(request.key)) is not None:
                    self._way = max(self._way, way)
                    return kept, False
        while True:
            way = min(self._way, len(requests) - 1)
            is_last = way + 1 == len(requests)

            def is_final(failure: SendFailure, is_last: bool = is_last) -> bool:  # of this round of the loop
                return role is self.role and (is_last or not of_structure(failure))

            try:
                return await self._obtain(requests[way], is_final)
            except SendFailure as failure:
                if is_last or not of_structure(failure):
                    raise
                self._way = max(self._way, way + 1)

    async def _obtain(self, request: Request, is_final: Callable[[SendFailure], bool]) -> tuple[Completion, bool]:
        """The reply to a request, kept, under way or fetched from the endpoint, and whether it was fetched.

        ``is_final``: whether a rejection of it stays, as nothing else will be tried.
        """
        kept = await self.keeper.find(request.key)
        if kept is not None:
            return kept, False
        twin = self._under_way.get(request.key)
        if twin is not None:
            return await asyncio.shield(twin), False
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._under_way[request.key] = future
        try:
            completion = await self._fetch(request, is_final)
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else SendFailure("lost", "interrupted"))
            future.exception()  # it may have no other reader
            raise
        finally:
            del self._under_way[request.key]
        future.set_result(completion)
        return completion, True

    async def _fetch(self, request: Request, is_final: Callable[[SendFailure], bool]) -> Completion:
        if self.collector:
            await self.collector.note(request)
        await self._identify(request)
        while not await self.account.reserve(request):
            kept = await self.keeper.find(request.key)
            if kept is not None:
                return kept
            await asyncio.sleep(WAIT_S)  # another process has it under way
        try:
            body, completion = await self._send(request, is_final)
        except Exception:  # not when cancelled: the endpoint may bill the request
            await self.account.release(request.key)
            raise
        await self.keeper.keep(request, body, completion)
        return completion

    async def _send(self, request: Request, is_final: Callable[[SendFailure], bool]) -> tuple[str, Completion]:
        """Send a request. What stops the stage stops the transport at once, before another request is sent."""
        try:
            body, completion = await self.transport.send(request)
            self.rejections.succeeded()
        except SendFailure as failure:
            if failure.kind == "rejected" and is_final(failure) and (stop := self.rejections.rejected(failure)):
                self.transport.stop(stop)
                raise stop from failure
            raise
        try:
            self.keeper.check(completion)
        except IdentityError as error:
            self.transport.stop(error)  # raised again when the reply is booked
        return body, completion

    async def _identify(self, request: Request) -> None:
        """Before the first request: it must fit under the cap, and the endpoint still be the recorded one."""
        if self._identified is None:
            self._identified = asyncio.ensure_future(self._check_identity(request))
        await asyncio.shield(self._identified)

    async def _check_identity(self, request: Request) -> None:
        await self.account.require_room(request)
        require_same(self.fingerprint, await self.identify())
