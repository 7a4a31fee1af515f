"""The model clients of a run, which are closed with it. The simulator answers within this process."""

import asyncio
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Self

from flows.repository.params import is_collecting, response_store, run_budget
from flows.repository.workspace import FINGERPRINTS
from schemas.errors import EndpointError
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.costs import Estimate, Used
from tasks.progress import number_of
from tasks.transport.client import Client
from tasks.transport.fingerprint import read_fingerprint, require_recorded
from tasks.transport.inspection import sum_used
from tasks.transport.role import RoleAsk
from tasks.transport.store import ResponseStore

Confirm = Callable[[Params], None]
"""Raises BudgetError for a run that may cost too much; called, in a thread, before the first paid call."""


class Clients:
    """The model clients of one run of one stage, one per role; a context.

    ``fingerprints`` holds the recorded identities of the models. Each worker process of a stage makes its own
    ``Clients``.
    """

    def __init__(
        self, stage: str, params: Params, confirm: Confirm | None = None, *, fingerprints: Path = FINGERPRINTS
    ) -> None:
        self.stage, self.params, self.confirm, self.fingerprints = stage, params, confirm, fingerprints
        self._store: ResponseStore | None = None
        self._clients: dict[RoleName, RoleAsk] = {}
        self._used: set[bytes] = set()  # keys of replies that other processes used

    def of(self, role: RoleName) -> RoleAsk:
        """The client of a role; raises IdentityError when its fingerprint is missing or of another simulator."""
        if role not in self._clients:
            settings, app = self.params.roles[role], None
            recorded = require_recorded(read_fingerprint(self.fingerprints, role), settings, role)
            if settings.is_simulator:
                from tasks.simulator.app import make_app  # loads Starlette, which other endpoints do not need

                app = make_app()
            client = Client(
                role,
                settings,
                self.store(),
                recorded=recorded,
                sending=self.params.runtime.sending.get(role),
                budget=run_budget(self.params),
                prices=self.params.prices,
                app=app,
            )
            self._clients[role] = RoleAsk(
                client,
                recorded,
                self.stage,
                before_first=self._confirm if app is None else None,
                collect=is_collecting() and app is None,
            )
        return self._clients[role]

    def add_used(self, keys: set[bytes]) -> None:
        """Count replies that another process used for this stage."""
        self._used |= keys

    def used_keys(self) -> set[bytes]:
        """The store's keys of the replies used so far."""
        return self._used.union(*(client.used for client in self._clients.values()))

    def used(self, keys: Collection[bytes] | None = None) -> Used:
        """Calls, tokens and dollars of the replies with these keys, by default of those used so far."""
        chosen = self.used_keys() if keys is None else keys
        found: Used = self.store().do_now(lambda connection: sum_used(connection, chosen)) if chosen else Used()
        return found

    def used_by_role(self) -> list[Estimate]:
        """The calls and tokens used so far, by role."""
        found = {role: self.used(client.used) for role, client in self._clients.items() if client.used}
        return [Estimate(role, u.calls, u.prompt_tokens, u.completion_tokens) for role, u in found.items()]

    def require_answers(self) -> None:
        """Raises EndpointError when calls failed on the way, unless ``runtime.accept_lost_calls``."""
        lost = [entry for client in self._clients.values() for entry in client.lost.items()]
        if lost and not self.params.runtime.accept_lost_calls:
            key, reason = lost[0]
            raise EndpointError(
                f"{number_of(len(lost), 'call')} failed on the way, the first one, {key}, for: {reason}. Run again to "
                "retry (every answered call is kept), or set runtime.accept_lost_calls: true to leave them unscored"
            )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the clients and the store."""
        for client in self._clients.values():
            await client.close()
        if self._store is not None:
            self._store.close()
        if dropped := sum(client.dropped for client in self._clients.values()):
            print(
                f"{self.stage}: {number_of(dropped, 'kept reply', 'kept replies')} could not be read, asked for again",
                file=sys.stderr,
            )
        self._clients, self._store = {}, None

    def store(self) -> ResponseStore:
        """The response store, opened on first use."""
        if self._store is None:
            self._store = ResponseStore(response_store(self.params))
        return self._store

    async def _confirm(self) -> None:
        if self.confirm is not None:
            await asyncio.to_thread(self.confirm, self.params)
