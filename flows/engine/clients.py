"""Gives a stage its roles: opened when first asked, closed with the stage, the embedded endpoint with them."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tqdm import tqdm

from flows.engine.params import run_budget
from flows.engine.simulator_server import EmbeddedServer
from schemas.params import Params
from schemas.params.llm import RoleName, Sending
from tasks.llm.calls import Answer, Call
from tasks.llm.client import RoleAsk
from tasks.llm.fingerprint import Fingerprint, fingerprint_path, read_fingerprint, require_recorded
from tasks.llm.roles import open_role
from tasks.llm.store import ResponseStore

STORE = "responses.sqlite"
FINGERPRINTS = Path("fingerprints")
"""In the working copy, not beside the store: an experiment in a copy of the repository has its own."""


class Asking:
    """The roles of one run of one stage.

    ``folder`` holds the response store. Another process that works for the same stage makes its own, with the
    ``embedded_url`` of this one.
    """

    def __init__(self, stage: str, params: Params, folder: Path, *, embedded_url: str | None = None) -> None:
        self.stage, self.params, self.folder = stage, params, folder
        self.embedded_url = embedded_url
        self._open = AsyncExitStack()
        self._store: ResponseStore | None = None
        self._roles: dict[RoleName, RoleHandle] = {}

    def ask(self, role: RoleName) -> "RoleHandle":
        """The asker of a role; raises IdentityError when its fingerprint is missing or of other rules."""
        if role not in self._roles:
            self._roles[role] = RoleHandle(self, role, self._fingerprint(role))
        return self._roles[role]

    async def close(self) -> None:
        """Close what was opened; the embedded endpoint ends, all replies are on disk."""
        await self._open.aclose()
        self._roles, self._store = {}, None

    def _fingerprint(self, role: RoleName) -> Fingerprint:
        settings = self.params.roles[role]
        recorded = read_fingerprint(fingerprint_path(FINGERPRINTS, role), role)
        return require_recorded(recorded, settings, role)

    def store(self) -> ResponseStore:
        """The response store, opened on first use."""
        if self._store is None:
            self._store = self._open.enter_context(ResponseStore(self.folder / STORE))
        return self._store

    def start_embedded(self) -> str:
        """Where the embedded endpoint listens; started on first use, unless another process has."""
        if self.embedded_url is None:
            self.embedded_url = self._open.enter_context(EmbeddedServer()).base_url
        return self.embedded_url

    async def open(self, role: RoleName, fingerprint: Fingerprint) -> RoleAsk:
        """Open a role's client."""
        settings = self.params.roles[role]
        client = open_role(
            role,
            settings,
            fingerprint,
            store=self.store(),
            stage=self.stage,
            sending=self.params.runtime.sending.get(role, Sending()),
            budget=run_budget(self.params),
            prices=self.params.prices,
            base_url=self.start_embedded() if settings.is_embedded else None,
            progress=Bar(f"{self.stage}: {role}", self._open),
        )
        return await self._open.enter_async_context(client)


class RoleHandle:
    """An `Ask` that opens its role when the first call comes."""

    def __init__(self, asking: Asking, role: RoleName, fingerprint: Fingerprint) -> None:
        self.label = fingerprint.label
        self._asking, self._role, self._fingerprint = asking, role, fingerprint
        self._client: asyncio.Future[RoleAsk] | None = None

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer ``calls``, in order."""
        if self._client is None:
            self._client = asyncio.ensure_future(self._asking.open(self._role, self._fingerprint))
        client = await asyncio.shield(self._client)
        return await client(calls)


class Bar:
    """A line on the terminal that says how many calls are answered, how many from the store, and how many failed."""

    def __init__(self, title: str, stack: AsyncExitStack) -> None:
        self._bar = tqdm(desc=title, total=0, unit="call", file=sys.stderr, mininterval=1.0, disable=None)
        self._kept, self._failed = 0, 0
        stack.callback(self._bar.close)

    def expect(self, calls: int) -> None:
        """So many calls more are to be answered."""
        self._bar.total += calls

    def answered(self, answer: Answer, *, paid: bool) -> None:
        """Count an answer."""
        self._kept += not paid
        self._failed += not answer.ok
        self._bar.set_postfix(kept=self._kept, failed=self._failed, refresh=False)
        self._bar.update()
