"""The models of an evaluation that is run as a command or function: identified, asked without Prefect, or rehearsed."""

import asyncio
import hashlib
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from flows.repository.workspace import workspace
from flows.runtime.chunks import CHUNKS_AT_ONCE, ChunkWork, Frames, cut, join
from flows.runtime.clients import Clients, Confirm
from flows.runtime.costs import Line, priced
from flows.runtime.identities import probe
from flows.runtime.rehearsal import Sample, rehearsal_of
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.calls import Ask
from tasks.progress import unseen
from tasks.transport.inspection import counted

T = TypeVar("T")


class CommandRun(Clients):
    """One evaluation outside a stage, a context: the interface of `flows.evaluation.work.Runner`.

    The identities of its models are kept in the workspace, so that the tracked fingerprints/ do not change. An
    expensive run is confirmed by ``confirm``. ``title``: of its calls where their progress is shown.
    """

    def __init__(self, params: Params, confirm: Confirm | None = None, *, title: str = "evaluate") -> None:
        self.wrap: Callable[[RoleName, Callable[[RoleName], Ask]], Ask] = lambda role, client: client(role)
        """What answers the calls to a role, given the clients of all."""
        settings = "\n".join(params.roles[role].model_dump_json() for role in sorted(params.roles))
        digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
        super().__init__(title, params, confirm, fingerprints=workspace() / "evaluate" / digest)

    async def identify(self, roles: Sequence[RoleName]) -> None:
        """Identify the models behind ``roles``; raises EndpointError when one does not answer."""
        await probe(self.params, roles, self.fingerprints)

    def ask(self, role: RoleName) -> Ask:
        """The client of a role."""
        return self.wrap(role, self.of)

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames:
        """Run ``work`` on chunks of the documents and concatenate the results in order."""
        gate = asyncio.Semaphore(CHUNKS_AT_ONCE)

        async def run(chunk: Frames) -> Frames:
            async with gate:
                return await work(chunk, self.ask, self.params)

        chunks = cut(frames, by, self.params.runtime.chunk_rows)
        return join(await asyncio.gather(*(run(chunk) for chunk in chunks)))


async def rehearse(
    params: Params, stage: str, roles: Sequence[RoleName], work: Callable[["Rehearsal"], Awaitable[object]]
) -> list[Line]:
    """Calls, tokens and dollars of ``work`` by role, as the simulator does it on a few documents."""
    with tempfile.TemporaryDirectory() as folder, unseen():
        store = Path(folder) / "rehearsal.sqlite"
        async with Rehearsal(rehearsal_of(params, store)) as run:
            await run.identify([*params.roles])
            await work(run)
        found = {one.role: one.times(run.sample.times) for of in counted(store).values() for one in of}
    return [priced(params, stage, found[role], "rehearsed") for role in roles if role in found]


class Rehearsal(CommandRun):
    """A run on a few of the documents."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.sample = Sample()

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames:
        return await super().in_chunks(work, self.sample.of(frames, by), by=by)


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, in a thread of its own where this thread runs an event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
