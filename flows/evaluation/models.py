"""The models of an evaluation that is run as a command or function: identified, asked without Prefect, or rehearsed."""

import asyncio
import hashlib
import tempfile
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from flows.evaluation.judges import with_roles
from flows.repository.params import confirmation_limit
from flows.repository.workspace import workspace
from flows.runtime.chunks import CHUNKS_AT_ONCE, ChunkWork, Frames, cut, join
from flows.runtime.clients import Clients, Confirm
from flows.runtime.costs import Line, priced, require_affordable
from flows.runtime.identities import probe
from schemas.params import Params
from schemas.params.llm import SIMULATOR, RoleName
from tasks.llm.calls import Ask
from tasks.llm.costs import Estimate, Used
from tasks.transport.inspection import rehearsed

T = TypeVar("T")


class CommandRun:
    """One evaluation outside a stage, a context: the interface of `flows.evaluation.work.Runner`.

    The identities of its models are kept in the workspace, so that the tracked fingerprints/ do not change. An
    expensive run is confirmed by ``confirm``. ``title``: of its calls where their progress is shown.
    """

    def __init__(
        self, params: Params, confirm: Confirm | None = None, *, quiet: bool = False, title: str = "evaluate"
    ) -> None:
        self.params = params
        self.wrap: Callable[[RoleName, Callable[[RoleName], Ask]], Ask] = lambda role, client: client(role)
        """What answers the calls to a role, given the clients of all."""
        settings = "\n".join(params.roles[role].model_dump_json() for role in sorted(params.roles))
        digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
        self.fingerprints = workspace() / "evaluate" / digest
        self._clients = Clients(title, params, confirm, fingerprints=self.fingerprints, quiet=quiet)

    async def identify(self, roles: Sequence[RoleName]) -> None:
        """Identify the models behind ``roles``; raises EndpointError when one does not answer."""
        await probe(self.params, roles, self.fingerprints)

    def ask(self, role: RoleName) -> Ask:
        """The client of a role."""
        return self.wrap(role, self._clients.of)

    def provenance(self, roles: Sequence[RoleName]) -> str:
        """The models behind the numbers."""
        return ", ".join(f"{role}: {self.ask(role).label}" for role in roles)

    def used(self) -> Used:
        """The replies used so far, with their tokens and dollars."""
        return self._clients.used()[1]

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames:
        """Run ``work`` on chunks of the documents and concatenate the results in order."""
        gate = asyncio.Semaphore(CHUNKS_AT_ONCE)

        async def run(chunk: Frames) -> Frames:
            async with gate:
                return await work(chunk, self.ask, self.params)

        chunks = cut(frames, by, self.params.runtime.chunk_rows)
        return join(await asyncio.gather(*(run(chunk) for chunk in chunks)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the clients."""
        await self._clients.close()

    def require_answers(self) -> None:
        """Raises EndpointError when calls failed on the way."""
        self._clients.require_answers()


async def rehearse(
    params: Params, roles: Sequence[RoleName], work: Callable[[CommandRun], Awaitable[object]]
) -> list[Estimate]:
    """Have the simulator do ``work`` in these roles with a store of its own, and count the requests."""
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "rehearsal.sqlite")
        runtime = params.runtime.model_copy(update={"store": store, "sending": {}})
        rules = with_roles(params, dict.fromkeys(roles, SIMULATOR))
        async with CommandRun(rules.model_copy(update={"runtime": runtime}), quiet=True) as run:
            await run.identify(roles)
            await work(run)
        return [one for lines in rehearsed(store).values() for one in lines]


async def estimated(
    params: Params,
    stage: str,
    roles: Sequence[RoleName],
    work: Callable[[CommandRun], Awaitable[object]],
    *,
    times: float = 1.0,
) -> list[Line]:
    """Calls, tokens and dollars of so many times ``work``, counted in a rehearsal, in the order of ``roles``."""
    counted = {one.role: one.times(times) for one in await rehearse(params, roles, work)}
    return [priced(params, stage, counted[role], "rehearsed") for role in roles if role in counted]


def require_confirmed(
    params: Params, lines: Callable[[], Sequence[Line]], what: str, confirm: str, unknown: Sequence[str] = ()
) -> None:
    """Raise BudgetError where ``lines`` may cost more than ``budget.confirm_above_dollars``, or a cost is ``unknown``.

    They are counted only where there is such a limit. ``confirm``: how the user confirms ``what``.
    """
    if confirmation_limit(params) is not None:
        require_affordable(params, lines(), what, confirm, unknown=unknown)


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, in a thread of its own where this thread runs an event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    done: list[T | BaseException] = []

    def run() -> None:
        try:
            done.append(asyncio.run(work))
        except BaseException as error:
            done.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]
