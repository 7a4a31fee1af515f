"""Asks a role's model: calls in, answers out, nothing paid twice, nothing used before it is kept.

A call becomes a request; its reply comes from the response store, from the same request under way, or from the
endpoint; it is committed to the store; only then is it read. A reply that cannot be used is asked for again with what
was wrong.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from schemas.errors import VignetteError
from schemas.params.llm import Role, RoleName
from tasks.llm.budget import Account
from tasks.llm.calls import Answer, Call
from tasks.llm.completions import Completion, read_completion
from tasks.llm.endpoint import SendFailure
from tasks.llm.fingerprint import Fingerprint, require_same
from tasks.llm.requests import Request, ask_again, make_request
from tasks.llm.store import Paid
from tasks.llm.structured import Unusable, read_reply


class Transport(Protocol):
    """A way for requests to reach an endpoint and replies to come back."""

    def send(self, request: Request) -> Awaitable[tuple[str, Completion]]:
        """The reply's body and what it says; raises SendFailure or what stops the stage."""
        ...


class Progress(Protocol):
    """Told how far a role is; flows draw a bar from it."""

    def expect(self, calls: int) -> None:
        """So many calls more are to be answered."""
        ...

    def answered(self, answer: Answer, *, paid: bool) -> None:
        """A call was answered; ``paid`` when the endpoint was asked for it."""
        ...


@dataclass(frozen=True)
class RoleSetup:
    """All that asking a role takes."""

    name: RoleName
    role: Role
    fingerprint: Fingerprint
    stage: str
    transport: Transport
    account: Account
    width: int  # calls that are worked on at once
    identify: Callable[[], Awaitable[dict[str, str]]]  # who answers right now
    progress: Progress | None = None


class RoleAsk:
    """The `Ask` of one role. Raises, from a call, only what stops the stage."""

    def __init__(self, setup: RoleSetup) -> None:
        self.setup, self.label = setup, setup.fingerprint.label
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
                except VignetteError as error:  # the others finish what is under way: it is paid for
                    self._stopped = self._stopped or error

        await asyncio.gather(*(work() for _ in range(min(self.setup.width, len(calls)))))
        if self._stopped:
            raise self._stopped
        return [answer for answer in answers if answer is not None]

    async def _answer(self, call: Call) -> Answer:
        asked, paid, raw, reason = call, False, None, ""
        for _ in range(self.setup.role.reasks + 1):
            request = make_request(asked, self.setup.role, self.setup.fingerprint.key)
            try:
                completion, sent = await self._obtain(request)
            except SendFailure as failure:
                reason = failure.reason
                break
            paid, raw = paid or sent, completion.text
            try:
                value = read_reply(completion, call.reply)
            except Unusable as problem:
                reason = f"unusable reply: {problem}"
                asked = ask_again(asked, completion.text, str(problem))
                continue
            return self._done(Answer(call.key, text=completion.text, value=value), paid)
        return self._done(Answer(call.key, failure=reason, raw=raw), paid)

    def _done(self, answer: Answer, paid: bool) -> Answer:
        if self.setup.progress:
            self.setup.progress.answered(answer, paid=paid)
        return answer

    async def _obtain(self, request: Request) -> tuple[Completion, bool]:
        """The reply to a request, and whether the endpoint was asked for it just now."""
        kept = self.setup.account.store.find(request.key)
        if kept is not None:
            return read_completion(kept), False
        twin = self._under_way.get(request.key)
        if twin is not None:
            return await asyncio.shield(twin), False
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._under_way[request.key] = future
        try:
            completion = await self._fetch(request)
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else SendFailure("lost", "interrupted"))
            future.exception()  # it may have no other reader
            raise
        finally:
            del self._under_way[request.key]
        future.set_result(completion)
        return completion, True

    async def _fetch(self, request: Request) -> Completion:
        setup = self.setup
        while not await setup.account.reserve(request.key, request.content, setup.role.max_tokens):
            kept = setup.account.store.find(request.key)
            if kept is not None:
                return read_completion(kept)
            await asyncio.sleep(0.2)  # another process has it under way
        try:
            await self._identify()
            body, completion = await setup.transport.send(request)
        except Exception:  # not when cancelled: the endpoint may bill what it was sent
            await setup.account.release(request.key)
            raise
        await setup.account.keep(self._as_paid(request, body, completion))
        self._require_same_model(completion)
        return completion

    def _as_paid(self, request: Request, body: str, completion: Completion) -> Paid:
        setup = self.setup
        return as_paid(setup.name, setup.fingerprint, setup.account, setup.stage, request, body, completion)

    def _require_same_model(self, completion: Completion) -> None:
        """A model exchanged in the middle of a stage stops it too."""
        recorded = self.setup.fingerprint.identity
        if "answered" in recorded and completion.model != recorded["answered"]:
            require_same(self.setup.fingerprint, {**recorded, "answered": completion.model})

    async def _identify(self) -> None:
        """Before the first request: is the endpoint still the one that is recorded?"""
        if self._identified is None:
            self._identified = asyncio.ensure_future(self._check_identity())
        await asyncio.shield(self._identified)

    async def _check_identity(self) -> None:
        require_same(self.setup.fingerprint, await self.setup.identify())


def as_paid(
    role: RoleName,
    fingerprint: Fingerprint,
    account: Account,
    stage: str,
    request: Request,
    body: str,
    completion: Completion,
) -> Paid:
    """A reply as the store keeps it."""
    return Paid(
        key=request.key,
        identity=fingerprint.key,
        role=role,
        stage=stage,
        task=request.task,
        model=completion.model,
        request=request.content,
        reply=body,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        dollars=account.price_of(completion.prompt_tokens, completion.completion_tokens),
    )
