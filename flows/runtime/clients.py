"""Opens model clients lazily and closes them with the stage. The simulator answers within this process."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from flows.repository.params import is_collecting, response_store, run_budget
from flows.repository.workspace import FINGERPRINTS
from schemas.errors import EndpointError
from schemas.params import Params
from schemas.params.llm import RoleName, Sending
from tasks.llm.calls import Answer, Call
from tasks.llm.costs import Used
from tasks.progress import CALL, progress
from tasks.transport.client import Keeper, RoleAsk
from tasks.transport.fingerprint import Fingerprint, read_fingerprint, require_recorded
from tasks.transport.inspection import sum_used
from tasks.transport.roles import open_role
from tasks.transport.store import ResponseStore

Confirm = Callable[[Params], None]
"""Raises BudgetError for a run that may cost too much; called, in a thread, before the first paid call."""


class Clients:
    """The model clients of one run of one stage, one per role.

    ``fingerprints`` holds the recorded identities of the models. Each worker process of a stage makes its own
    ``Clients``. ``quiet``: calls are not counted.
    """

    def __init__(
        self,
        stage: str,
        params: Params,
        confirm: Confirm | None = None,
        *,
        fingerprints: Path = FINGERPRINTS,
        quiet: bool = False,
    ) -> None:
        self.stage, self.params, self.confirm = stage, params, confirm
        self.fingerprints, self.quiet = fingerprints, quiet
        self._open = AsyncExitStack()
        self._store: ResponseStore | None = None
        self._clients: dict[RoleName, LazyClient] = {}
        self._lost: dict[tuple[RoleName, str], str] = {}  # calls that failed on the way, and why
        self._keepers: list[Keeper] = []
        self._used: set[bytes] = set()  # keys of replies that other processes used

    def of(self, role: RoleName) -> "LazyClient":
        """The client of a role; raises IdentityError when its fingerprint is missing or of another simulator."""
        if role not in self._clients:
            recorded = read_fingerprint(self.fingerprints, role)
            self._clients[role] = LazyClient(self, role, require_recorded(recorded, self.params.roles[role], role))
        return self._clients[role]

    def note(self, role: RoleName, answer: Answer) -> None:
        """Remember a call that failed on the way, until it is answered."""
        self._lost.pop((role, answer.key), None)
        if answer.lost:
            self._lost[role, answer.key] = str(answer.failure)

    def add_used(self, keys: set[bytes]) -> None:
        """Count replies that another process used for this stage."""
        self._used |= keys

    def used_keys(self) -> set[bytes]:
        """The store's keys of the replies used so far."""
        return self._used.union(*(keeper.used for keeper in self._keepers))

    def used(self, others: "Sequence[Clients]" = ()) -> tuple[set[bytes], Used]:
        """The store's keys of the replies that these and ``others`` used so far, and their tokens and dollars."""
        keys = self.used_keys().union(*(clients.used_keys() for clients in others))
        return keys, self.store().do_now(lambda connection: sum_used(connection, keys)) if keys else Used()

    def require_answers(self) -> None:
        """Raises EndpointError when calls failed on the way, unless ``runtime.accept_lost_calls``."""
        if self._lost and not self.params.runtime.accept_lost_calls:
            (_, key), reason = next(iter(self._lost.items()))
            raise EndpointError(
                f"{len(self._lost)} calls failed on the way, the first one, {key}, for: {reason}. Run again to retry "
                "them (every answered call is kept), or set runtime.accept_lost_calls: true to leave them unscored"
            )

    async def close(self) -> None:
        """Close the clients and the store."""
        await self._open.aclose()
        if dropped := sum(keeper.dropped for keeper in self._keepers):
            print(f"{self.stage}: {dropped} kept replies could not be read and were asked for again", file=sys.stderr)
        self._clients, self._store = {}, None

    def store(self) -> ResponseStore:
        """The response store, opened on first use."""
        if self._store is None:
            self._store = self._open.enter_context(ResponseStore(response_store(self.params)))
        return self._store

    async def _confirm(self) -> None:
        if self.confirm is not None:
            await asyncio.to_thread(self.confirm, self.params)

    async def open(self, role: RoleName, fingerprint: Fingerprint) -> RoleAsk:
        """Open the connection of a role."""
        settings, app = self.params.roles[role], None
        if settings.is_simulator:
            from tasks.simulator.app import make_app  # loads Starlette, which other endpoints do not need

            app = make_app()
        client = open_role(
            role,
            settings,
            fingerprint,
            store=self.store(),
            stage=self.stage,
            sending=self.params.runtime.sending.get(role, Sending()),
            budget=run_budget(self.params),
            prices=self.params.prices,
            app=app,
            before_first=self._confirm if app is None else None,
            collect=is_collecting(),
            progress=None if self.quiet else self._open.enter_context(progress(self.stage, 0, CALL)),
        )
        opened = await self._open.enter_async_context(client)
        self._keepers.append(opened.keeper)
        return opened


class LazyClient:
    """A client that opens its connection with the first call. It has the interface of `tasks.llm.calls.Ask`."""

    def __init__(self, clients: Clients, role: RoleName, fingerprint: Fingerprint) -> None:
        self.label = fingerprint.label
        self._clients, self._role, self._fingerprint = clients, role, fingerprint
        self._client: asyncio.Future[RoleAsk] | None = None

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer ``calls``, in order."""
        if self._client is None:
            self._client = asyncio.ensure_future(self._clients.open(self._role, self._fingerprint))
        client = await asyncio.shield(self._client)
        answers = await client(calls)
        for answer in answers:
            self._clients.note(self._role, answer)
        return answers
