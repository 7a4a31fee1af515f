"""The `Ask` of a role: calls in, answers out; nothing is paid twice, and nothing used before it is kept.

A call becomes a request; its reply comes from the response store, from the same request under way, or from the
endpoint. A reply from the endpoint is checked to come from the recorded model, committed to the store, and only then
read.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack

from schemas.errors import EndpointError, IdentityError, VignetteError
from schemas.params.llm import Role
from tasks.llm.ask_all import answer_call
from tasks.llm.calls import Answer, Call
from tasks.llm.replies import Completion, SendFailure, read_completion
from tasks.llm.requests import Request, make_request
from tasks.progress import CALL, Count, progress
from tasks.transport.client import Client
from tasks.transport.endpoint import REPEATS, of_structure, setting_at_fault
from tasks.transport.fingerprint import Fingerprint, require_answered, require_same, simulator_identity
from tasks.transport.missing import Collector
from tasks.transport.probing import greet
from tasks.transport.store import WAIT_S, Unreadable

NO_LIMIT = 100_000
"""Calls that are collected at once; those that are sent are limited by those in flight."""


class RoleAsk(AbstractAsyncContextManager["RoleAsk"]):
    """Answers the calls to one role, a context. Raises, from a call, only errors that stop the stage.

    ``recorded``: the identity of its model, which the endpoint must still have when the first request is sent.
    ``before_first`` is awaited before that. ``collect``: requests without a stored reply are noted and not sent.
    """

    def __init__(
        self,
        client: Client,
        recorded: Fingerprint,
        stage: str,
        *,
        before_first: Callable[[], Awaitable[None]] | None = None,
        collect: bool = False,
    ) -> None:
        self.client, self.recorded, self.stage, self.label = client, recorded, stage, recorded.label
        self._before_first = before_first
        self._collector = Collector(client.store, client.name, recorded, stage) if collect else None
        ways, first = client.role.structured_ways, recorded.structured
        self._ways = ways[ways.index(first) :] if first in ways else ways
        self._way = 0  # of asking for structure: those before it were refused
        self._rejection, self._rejections = "", 0  # the last reason, and how often it came in a row
        self._under_way: dict[bytes, asyncio.Future[Completion]] = {}
        self._identified: asyncio.Future[None] | None = None
        self._shown = ExitStack()
        self._progress: Count | None = None
        self.dollars = 0.0
        """Cost of the replies fetched so far."""
        self.used = set[bytes]()
        """Keys of the replies found or kept so far."""
        self.dropped = 0
        """Kept replies that could not be used, and were deleted."""
        self.lost: dict[str, str] = {}
        """Keys of the calls that failed on the way, and why."""

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        self._shown.close()
        await self.client.close()

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer ``calls``, in order."""
        if self.client.stopped:
            raise self.client.stopped
        if self._progress is None:
            self._progress = self._shown.enter_context(progress(self.stage, 0, CALL))
        self._progress.total += len(calls)
        answers: list[Answer | None] = [None] * len(calls)
        numbered = iter(enumerate(calls))

        async def work() -> None:
            for position, call in numbered:
                if self.client.stopped:
                    return
                try:
                    answers[position] = await self._answer(call)
                except VignetteError as error:  # the others wait for their requests in flight: these are paid for
                    self.client.stop(error)

        width = NO_LIMIT if self._collector else 2 * self.client.sending.concurrency
        await asyncio.gather(*(work() for _ in range(min(width, len(calls)))))
        if self.client.stopped:
            raise self.client.stopped
        return [answer for answer in answers if answer is not None]

    async def _answer(self, call: Call) -> Answer:
        paid = False

        async def obtain(asked: Call, role: Role) -> Completion:
            nonlocal paid
            completion, fetched = await self._reply_to(asked, role)
            paid = paid or fetched
            return completion

        answer = await answer_call(call, self.client.name, self.client.role, obtain)
        self.lost.pop(answer.key, None)
        if answer.lost:
            self.lost[answer.key] = str(answer.failure)
        if self._progress:
            self._progress.kept += not paid
            self._progress.failed += not answer.ok
            self._progress.dollars = self.dollars
            self._progress.update()
        return answer

    async def _reply_to(self, call: Call, role: Role) -> tuple[Completion, bool]:
        """The reply to ``call``, and whether the endpoint was asked for it.

        Where the endpoint refuses a way of asking for structure, the next one is tried.
        """
        ways = self._ways if call.described is not None else self._ways[:1]
        requests = [make_request(call, role, self.recorded.key, way) for way in ways]
        if len(requests) > 1:
            for way, request in enumerate(requests):
                if (kept := await self._find(request.key)) is not None:
                    self._way = max(self._way, way)
                    return kept, False
        while True:
            way = min(self._way, len(requests) - 1)
            is_last = way + 1 == len(requests)

            def is_final(failure: SendFailure, is_last: bool = is_last) -> bool:  # of this round of the loop
                return role is self.client.role and (is_last or not of_structure(failure))

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
        kept = await self._find(request.key)
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

    async def _find(self, key: bytes) -> Completion | None:
        """The kept reply to a request, or None. One that is of another model or cannot be read is deleted and counted.

        Raises StoreError.
        """
        try:
            body = self.client.store.find(key)
            if body is None:
                return None
            completion = read_completion(body)
            require_answered(self.recorded, completion)
        except (Unreadable, SendFailure, IdentityError):
            await self.client.store.delete(key)
            self.dropped += 1
            return None
        self.used.add(key)
        return completion

    async def _fetch(self, request: Request, is_final: Callable[[SendFailure], bool]) -> Completion:
        """The reply of the endpoint, kept. What stops the stage does so before another request is sent."""
        if self._collector:
            await self._collector.note(request)
        if self._identified is None:
            self._identified = asyncio.ensure_future(self._identify(request))
        await asyncio.shield(self._identified)
        while not await self.client.reserve(request):
            kept = await self._find(request.key)
            if kept is not None:
                return kept
            await asyncio.sleep(WAIT_S)  # another process has it under way
        try:
            body, completion = await self.client.send(request)
        except Exception as error:  # not when cancelled: the endpoint may bill the request
            stop = self._count_rejection(error) if isinstance(error, SendFailure) and is_final(error) else None
            await self.client.release(request)
            if stop is not None:
                raise stop from error
            raise
        self._rejections = 0
        return await self._keep(request, body, completion)

    async def _identify(self, request: Request) -> None:
        """Before the first request: it must fit under the cap, and the endpoint still be the recorded one."""
        await self.client.require_room(request)
        if self._before_first:
            await self._before_first()
        role = self.client.role
        found = simulator_identity(role) if role.is_simulator else (await greet(self.client)).identity(role)
        require_same(self.recorded, found)

    async def _keep(self, request: Request, body: str, completion: Completion) -> Completion:
        """Commit a reply and book it. Raises IdentityError for the reply of another model: it is booked, not kept."""
        try:
            require_answered(self.recorded, completion)
        except IdentityError as error:
            self.client.stop(error)
            await self.client.book(request, completion)
            raise
        paid = await self.client.keep(request, body, completion, identity=self.recorded.key, stage=self.stage)
        self.dollars += paid  # after the wait, during which other calls add theirs
        self.used.add(request.key)
        return completion

    def _count_rejection(self, failure: SendFailure) -> VignetteError | None:
        """Note a rejected request; where the next one would be rejected too, stop, and return why."""
        if failure.kind != "rejected" or failure.is_of_one_text:
            return None
        client = self.client
        setting, reason = setting_at_fault(failure, client.role), re.sub(r"\d+", "0", failure.reason)
        self._rejections = self._rejections + 1 if reason == self._rejection else 1
        self._rejection = reason
        if setting is None and self._rejections < REPEATS:
            return None
        change = f"roles.{client.name}.{setting}" if setting else "the settings of the role to what it accepts"
        return client.stop(
            EndpointError(
                f"role {client.name}: {client.address} rejects the requests: {failure.reason}. In params.yaml set "
                f"{change}; every reply so far is kept"
            )
        )
