"""Opens a role: combines endpoint, transport, store, budget and fingerprint, and closes what it opened."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from schemas.params.llm import Budget, Price, Role, RoleName, Sending
from tasks.llm.replies import Completion
from tasks.llm.requests import Request
from tasks.progress import Count
from tasks.transport.budget import Account, role_prices
from tasks.transport.client import Keeper, RoleAsk
from tasks.transport.direct import Direct
from tasks.transport.endpoint import App, Endpoint
from tasks.transport.fingerprint import Fingerprint, simulator_identity
from tasks.transport.missing import Collector
from tasks.transport.probing import Send, Sighting, greet, probe
from tasks.transport.rejections import Rejections
from tasks.transport.store import ResponseStore

NO_LIMIT = 100_000
"""Calls that are collected at once; those that are sent are limited by those in flight."""


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
    app: App | None = None,
    progress: Count | None = None,
    before_first: Callable[[], Awaitable[None]] | None = None,
    collect: bool = False,
) -> AsyncIterator[RoleAsk]:
    """The client of a role, for as long as the context lasts.

    ``fingerprint`` is the recorded one; the endpoint must still match it when the first request is sent. ``base_url``
    replaces the role's own; ``app`` answers in its place within this process. ``before_first`` is awaited before the
    first request; its error stops the stage. ``collect``: requests without a stored reply are noted and not sent.
    Raises ParamsError when a cap in dollars is set and the model has no price.
    """
    sending, budget = sending or Sending(), budget or Budget()
    endpoint = Endpoint(name, role, sending, base_url, app)
    known = role_prices(name, role, fingerprint, budget, prices or {})
    direct = Direct(endpoint, sending, Account(store, budget, known))  # whose checks of identity are no calls
    account = Account(store, budget, known)
    keeper = Keeper(name, fingerprint, account, stage)
    collector = Collector(store, name, fingerprint, stage) if collect and not role.is_simulator else None

    async def identify() -> dict[str, str]:
        if before_first:
            await before_first()
        if role.is_simulator:
            return simulator_identity(role)
        return (await greet(name, role, endpoint, _booked(direct))).identity(role)

    try:
        yield RoleAsk(
            role=role,
            transport=direct,
            keeper=keeper,
            rejections=Rejections(name, role, endpoint.address),
            width=NO_LIMIT if collector else 2 * sending.concurrency,
            identify=identify,
            progress=progress,
            collector=collector,
        )
    finally:
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
    endpoint = Endpoint(name, role, sending)
    account = Account(store, budget, role_prices(name, role, None, budget, prices or {}))
    try:
        return await probe(name, role, endpoint, _booked(Direct(endpoint, sending, account)))
    finally:
        await endpoint.close()


def _booked(direct: Direct) -> Send:
    """Sends single requests, whose replies are booked and not kept. Each is reserved under a key of its own."""

    async def send(request: Request) -> Completion:
        alone = replace(request, key=os.urandom(32))
        await direct.account.reserve(alone)
        try:
            _, completion = await direct.send(alone)
        except Exception:
            await direct.account.release(alone.key)
            raise
        await direct.account.book(alone, completion)
        return completion

    return send
