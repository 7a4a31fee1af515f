"""Opens a role: combines endpoint, transport, store, budget and fingerprint, and closes what it opened."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from schemas.params.llm import Budget, Price, Role, RoleName, Sending
from tasks.llm.batch import Batch
from tasks.llm.batch_rows import BatchRows
from tasks.llm.budget import Account
from tasks.llm.client import Progress, RoleAsk, RoleSetup
from tasks.llm.completions import Completion
from tasks.llm.direct import Direct
from tasks.llm.endpoint import Endpoint
from tasks.llm.fingerprint import Fingerprint, embedded_identity
from tasks.llm.keeping import Keeper
from tasks.llm.prices import role_prices
from tasks.llm.probing import Send, Sighting, greet, probe
from tasks.llm.rejections import Rejections
from tasks.llm.requests import Request
from tasks.llm.store import ResponseStore

NO_LIMIT = 100_000
"""Calls that a batch may gather at once; without batches, those at work are limited by those in flight."""


@asynccontextmanager
async def open_role(
    name: RoleName,
    role: Role,
    fingerprint: Fingerprint,
    *,
    store: ResponseStore,
    stage: str,
    sending: Sending | None = None,
    budget: Budget | None = None,
    prices: Mapping[str, Price] | None = None,
    base_url: str | None = None,
    progress: Progress | None = None,
    before_first: Callable[[], Awaitable[None]] | None = None,
) -> AsyncIterator[RoleAsk]:
    """The client of a role, for as long as the context lasts.

    ``fingerprint`` is the recorded one; the endpoint must still match it when the first request is sent. ``base_url``
    replaces the role's own (the address of the simulator). ``before_first`` is awaited before the first request; its
    error stops the stage. Raises ParamsError when a cap in dollars is set and the model has no price.
    """
    sending, budget = sending or Sending(), budget or Budget()
    endpoint = Endpoint(role, sending, base_url)
    direct = Direct(endpoint, sending, store)
    is_batch = sending.transport == "batch"
    account = Account(store, budget, role_prices(name, role, fingerprint, budget, prices or {}), batch=is_batch)
    keeper = Keeper(name, fingerprint, account, stage)
    rows = BatchRows(store, endpoint.address, fingerprint.key)
    batch = Batch(endpoint, sending, rows, stage, keeper) if is_batch else None

    async def identify() -> dict[str, str]:
        if before_first:
            await before_first()
        if role.is_embedded:
            return embedded_identity(role)
        return (await greet(name, role, endpoint, _booked(direct, account))).identity(role)

    setup = RoleSetup(
        name=name,
        role=role,
        fingerprint=fingerprint,
        transport=batch or direct,
        account=account,
        keeper=keeper,
        rejections=Rejections(name, role, endpoint.address),
        width=NO_LIMIT if batch else 2 * sending.concurrency,
        identify=identify,
        progress=progress,
    )
    try:
        yield RoleAsk(setup)
    finally:
        if batch:
            await batch.close()
        await endpoint.close()


async def look_up(
    name: RoleName,
    role: Role,
    *,
    store: ResponseStore,
    sending: Sending | None = None,
    budget: Budget | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Sighting:
    """Probe a served model; the calls are booked. Raises EndpointError when the endpoint does not answer."""
    sending, budget = sending or Sending(), budget or Budget()
    endpoint = Endpoint(role, sending)
    account = Account(store, budget, role_prices(name, role, None, budget, prices or {}))
    try:
        return await probe(name, role, endpoint, _booked(Direct(endpoint, sending, store), account))
    finally:
        await endpoint.close()


def _booked(direct: Direct, account: Account) -> Send:
    """Sends single requests and books their replies, which are not kept."""

    async def send(request: Request) -> Completion:
        _, completion = await direct.send(request)
        await account.book(request.content, completion)
        return completion

    return send
