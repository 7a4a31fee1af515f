"""Opens a role: puts together endpoint, transport, store, budget and fingerprint, and closes what it opened."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from schemas.errors import EndpointError, ParamsError
from schemas.params.llm import Budget, Price, Role, RoleName, Sending
from tasks.llm.batch import Batch
from tasks.llm.batch_rows import BatchRows
from tasks.llm.budget import Account
from tasks.llm.canaries import canary_replies
from tasks.llm.client import Progress, RoleAsk, RoleSetup, as_paid
from tasks.llm.completions import Completion
from tasks.llm.direct import Direct
from tasks.llm.endpoint import Endpoint, SendFailure
from tasks.llm.fingerprint import Fingerprint, embedded_identity
from tasks.llm.identify import identify
from tasks.llm.requests import Request
from tasks.llm.store import ResponseStore

NO_LIMIT = 100_000
"""Calls that a batch may gather at once; sent one by one, there are as many at work as may be in flight."""


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
    price: Price | None = None,
    base_url: str | None = None,
    progress: Progress | None = None,
) -> AsyncIterator[RoleAsk]:
    """The asker of a role, for as long as the context lasts.

    ``fingerprint`` is the recorded one; the endpoint must still be it when the first request leaves. ``base_url``
    stands in for the role's own (where the embedded endpoint listens, for one). Raises ParamsError when a cap in
    dollars is set and the model has no price.
    """
    sending, budget = sending or Sending(), budget or Budget()
    price = paid_price(name, role, budget, price)
    key = None if role.is_embedded else os.environ.get(role.api_key_env)
    endpoint = Endpoint(base_url or role.base_url, key, sending.timeout_s, role.api_key_env)
    direct = Direct(endpoint, sending, role.max_tokens)
    account = Account(store, budget, price, batch=sending.transport == "batch")

    async def keep(request: Request, body: str, completion: Completion, sent_by: str) -> None:
        paid = as_paid(name, fingerprint, account, sent_by, request, body, completion)
        await account.keep(paid)

    async def who_answers() -> dict[str, str]:
        found = await identify(name, role, direct)
        await account.book(direct.prompt_tokens, direct.completion_tokens)
        return found

    rows = BatchRows(store, endpoint.address, fingerprint.key)
    batch = Batch(endpoint, sending, rows, stage, keep) if sending.transport == "batch" else None
    setup = RoleSetup(
        name=name,
        role=role,
        fingerprint=fingerprint,
        stage=stage,
        transport=batch or direct,
        account=account,
        width=NO_LIMIT if batch else 2 * sending.concurrency,
        identify=who_answers,
        progress=progress,
    )
    try:
        yield RoleAsk(setup)
    finally:
        if batch:
            await batch.close()
        await endpoint.close()


def paid_price(name: RoleName, role: Role, budget: Budget, price: Price | None) -> Price | None:
    """The price to count with; None where nothing is paid (rules, or no price and no cap). Raises ParamsError."""
    if role.is_embedded:
        return None
    if price is None and budget.dollars is not None:
        raise ParamsError(
            f"params.yaml: budget.dollars is set, but prices has no entry for {role.model!r} (role {name}); "
            f"add it under prices, with zeros for a model that costs nothing"
        )
    if price is None and budget.tokens is not None:
        return Price(prompt=0.0, completion=0.0)
    return price


async def look_up(
    name: RoleName,
    role: Role,
    *,
    store: ResponseStore,
    sending: Sending | None = None,
    budget: Budget | None = None,
    price: Price | None = None,
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Who answers a role now, and its replies to the canary prompts (none for rules: their identity is their content).

    What the asking costs is booked. Raises EndpointError when the endpoint does not answer.
    """
    if role.is_embedded:
        return embedded_identity(role), {}
    sending = sending or Sending()
    endpoint = Endpoint(role.base_url, os.environ.get(role.api_key_env), sending.timeout_s, role.api_key_env)
    direct = Direct(endpoint, sending, role.max_tokens)
    try:
        found, replies = await identify(name, role, direct), await canary_replies(role, direct)
    except SendFailure as failure:
        raise EndpointError(f"role {name}: {endpoint.address} does not answer: {failure.reason}") from failure
    finally:
        await endpoint.close()
    budget = budget or Budget()
    account = Account(store, budget, paid_price(name, role, budget, price))
    await account.book(direct.prompt_tokens, direct.completion_tokens)
    return found, replies
