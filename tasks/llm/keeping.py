"""Keeps replies of the recorded model, and of no other."""

from schemas.errors import IdentityError
from schemas.params.llm import RoleName
from tasks.llm.budget import Account
from tasks.llm.completions import Completion, read_completion
from tasks.llm.failures import SendFailure
from tasks.llm.fingerprint import Fingerprint, require_answered
from tasks.llm.prices import usage_of
from tasks.llm.requests import Request
from tasks.llm.store import Paid


class Keeper:
    """Reads and writes the replies of one role in the response store."""

    def __init__(self, name: RoleName, fingerprint: Fingerprint, account: Account, stage: str) -> None:
        self._name, self._fingerprint, self._account, self._stage = name, fingerprint, account, stage
        self.used: set[bytes] = set()
        """Keys of the replies found or kept so far."""

    async def find(self, key: bytes) -> Completion | None:
        """The kept reply to a request, or None. One that is of another model or cannot be read is deleted."""
        body = self._account.store.find(key)
        if body is None:
            return None
        try:
            completion = read_completion(body)
            self.check(completion)
        except (SendFailure, IdentityError):
            await self._account.store.do(lambda c: c.execute("DELETE FROM responses WHERE key = ?", (key,)).rowcount)
            return None
        self.used.add(key)
        return completion

    def check(self, completion: Completion) -> None:
        """Raises IdentityError unless the recorded model replied."""
        require_answered(self._fingerprint, completion)

    async def keep(self, request: Request, body: str, completion: Completion, stage: str | None = None) -> None:
        """Commit a reply and book it. Raises IdentityError for the reply of another model: it is booked, not kept."""
        try:
            self.check(completion)
        except IdentityError:
            await self._account.book(request.content, completion, request.key)
            raise
        usage = usage_of(request.content, completion)
        await self._account.keep(
            Paid(
                key=request.key,
                identity=self._fingerprint.key,
                role=self._name,
                stage=stage or self._stage,
                task=request.task,
                model=completion.model,
                request=request.content,
                reply=body,
                prompt_tokens=usage.prompt,
                completion_tokens=usage.completion,
                dollars=self._account.price_of(completion.model, usage),
                sample=request.sample,
                cached_tokens=usage.cached,
                estimated=usage.estimated,
            )
        )
        self.used.add(request.key)
