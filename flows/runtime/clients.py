"""Opens model clients lazily, with the simulator where a role is served by it, and closes them with the stage."""

import asyncio
import os
import subprocess
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

PROJECT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 30  # a worker that is still loading its libraries notices the end after them


Confirm = Callable[[Params], None]
"""Raises BudgetError for a run that may cost too much; called, in a thread, before the first paid call."""


class Clients:
    """The model clients of one run of one stage, one per role.

    ``fingerprints`` holds the recorded identities of the models. Each worker process of a stage makes its own
    ``Clients``; ``simulator_url`` is then the address of the simulator that the parent process started. ``quiet``:
    calls are not counted.
    """

    def __init__(
        self,
        stage: str,
        params: Params,
        confirm: Confirm | None = None,
        *,
        simulator_url: str | None = None,
        fingerprints: Path = FINGERPRINTS,
        quiet: bool = False,
    ) -> None:
        self.stage, self.params, self.confirm = stage, params, confirm
        self.simulator_url, self.fingerprints, self.quiet = simulator_url, fingerprints, quiet
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
        """Close the clients and the store, and stop the simulator if this object started it."""
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

    def start_simulator(self) -> str:
        """Address of the simulator, which is started on first use unless ``simulator_url`` was given."""
        if self.simulator_url is None:
            self.simulator_url = self._open.enter_context(SimulatorServer()).base_url
        return self.simulator_url

    async def open(self, role: RoleName, fingerprint: Fingerprint) -> RoleAsk:
        """Open the connection of a role."""
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
            base_url=self.start_simulator() if settings.is_simulator else None,
            before_first=None if settings.is_simulator else self._confirm,
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


class SimulatorServer:
    """The simulator as a subprocess on a free loopback port.

    Its standard input is a pipe whose write end only this process has, so the simulator ends however this process does.
    """

    def __init__(self, arguments: Sequence[str] = (), *, workers: int | None = None) -> None:
        count = workers or min(os.cpu_count() or 1, 4)
        command = [sys.executable, "-m", "tasks.simulator.server", "--with-parent", "--workers", str(count)]
        self._process = subprocess.Popen(
            [*command, *arguments], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()
        if not self.base_url:
            self.stop()
            raise EndpointError(
                f"the simulator did not start (exit status {self._process.returncode}); "
                "its message is printed above; try: python -m tasks.simulator.server"
            )

    @property
    def pid(self) -> int:
        """Process id of its first worker."""
        return self._process.pid

    def stop(self) -> None:
        """Stop the simulator; all its workers exit when their standard input closes."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "SimulatorServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
