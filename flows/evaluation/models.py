"""The models of an evaluation that is run as a command or function: chosen, identified, and asked without Prefect."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

from flows.commands.probe import probe
from flows.runtime.chunks import CHUNKS_AT_ONCE, ChunkWork, Frames, cut, join
from flows.runtime.clients import Clients, Confirms, LazyClient
from flows.runtime.workspace import workspace
from schemas.errors import ParamsError
from schemas.params import Params
from schemas.params.llm import SIMULATOR, Role, RoleName
from tasks.llm.costs import Used


def choose_role(given: str, role: RoleName, params: Params) -> Role:
    """The endpoint that ``given`` names: ``simulator`` (rules), a role of params.yaml, or ``MODEL@URL``.

    Raises ParamsError for anything else.
    """
    if given == SIMULATOR:
        return Role(base_url=SIMULATOR, model=f"vignette-{role}", temperature=0.0)
    if given in params.roles:
        return params.roles[given]
    model, at, url = given.rpartition("@")
    if at and model and url.startswith(("http://", "https://")):
        return Role(base_url=url, model=model, temperature=0.0)
    raise ParamsError(
        f"{role} {given!r}: expected {SIMULATOR}, a role of params.yaml ({', '.join(params.roles)}) or MODEL@URL, "
        "for example gpt-4o@https://api.openai.com/v1"
    )


def chosen_models(judge: str, writer: str, answerer: str | None) -> dict[RoleName, str]:
    """The model of each role. The judge's model also writes questions, and answers them unless ``answerer`` is given.

    Where the judge is a role of params.yaml, the roles annotator and answerer do so.
    """
    shared = judge == SIMULATOR or "@" in judge
    asker = judge if shared else "annotator"
    return {
        "judge": judge,
        "writer": writer,
        "annotator": asker,
        "answerer": answerer or (judge if shared else "answerer"),
    }


def with_roles(params: Params, chosen: Mapping[RoleName, str]) -> Params:
    """``params`` with the roles that ``chosen`` names."""
    roles = {role: choose_role(given, role, params) for role, given in chosen.items()}
    return params.model_copy(update={"roles": {**params.roles, **roles}})


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
