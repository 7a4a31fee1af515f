"""The models of an evaluation that is run as a command or function: identified, and asked without Prefect."""

import asyncio
import hashlib
from collections.abc import Sequence

from flows.commands.probe import probe
from flows.runtime.chunks import CHUNKS_AT_ONCE, ChunkWork, Frames, cut, join
from flows.runtime.clients import Clients, Confirms, LazyClient
from flows.runtime.workspace import workspace
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.costs import Used


class CommandRun:
    """One evaluation outside a stage: the interface of `flows.evaluation.work.Runner`.

    The identities of its models are kept in the workspace, so that the tracked fingerprints/ do not change. ``guard``
    has an expensive run confirmed.
    """

    def __init__(self, params: Params, guard: Confirms | None = None, *, quiet: bool = False) -> None:
        self.params = params
        settings = "\n".join(params.roles[role].model_dump_json() for role in sorted(params.roles))
        digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
        self.fingerprints = workspace() / "evaluate" / digest
        self._clients = Clients("evaluate", params, workspace(), guard, fingerprints=self.fingerprints, quiet=quiet)

    async def identify(self, roles: Sequence[RoleName]) -> None:
        """Identify the models behind ``roles``; raises EndpointError when one does not answer."""
        await probe(self.params, roles, self.fingerprints)

    def ask(self, role: RoleName) -> LazyClient:
        """The client of a role."""
        return self._clients.of(role)

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

    async def close(self) -> None:
        """Close the clients and stop the simulator."""
        await self._clients.close()

    def require_answers(self) -> None:
        """Raises EndpointError when calls failed on the way."""
        self._clients.require_answers()
