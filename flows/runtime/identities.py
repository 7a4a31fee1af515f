"""Identifies the model that answers each role, and rewrites its fingerprint when the model changed."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flows.repository.params import response_store, run_budget
from flows.repository.workspace import FINGERPRINTS, write_text
from schemas.params import Params
from schemas.params.llm import Role, RoleName, Sending, key_variable
from tasks.transport.fingerprint import Fingerprint, fingerprint_path, read_fingerprint, simulator_identity

if TYPE_CHECKING:
    from tasks.transport.probing import Sighting
    from tasks.transport.store import ResponseStore

OWN = (
    *("temperature", "protocol", "max_tokens", "max_tokens_limit", "reasks"),
    *("identity", "aliases", "canary_level", "send_seed"),
)
"""Settings of a role that do not change what a probe sees."""


@dataclass(frozen=True)
class Probed:
    """The result of probing one role.

    ``p_value``: of its canary replies against those of its epoch. ``first``: nothing was recorded of the role before.
    ``nonsense``: no canary reply is about its prompt.
    """

    role: RoleName
    fingerprint: Fingerprint
    p_value: float
    changed: bool
    first: bool = False
    nonsense: bool = False


async def probe(params: Params, roles: Sequence[RoleName], folder: Path = FINGERPRINTS) -> list[Probed]:
    """Probe the endpoint of each role; rewrite only the files of roles whose identity or epoch changed.

    Roles that share endpoint and model are probed once.
    """
    served = {_shared(params, role): role for role in reversed(roles) if not params.roles[role].is_simulator}
    found = await _probe_served(params, served, roles, folder) if served else {}
    for role in set(roles) - found.keys():
        found[role] = _written(Fingerprint(role, simulator_identity(params.roles[role])), 1.0, folder)
    return [found[role] for role in roles]


def _shared(params: Params, name: RoleName) -> str:
    """The settings that a probe depends on: roles in which they agree are one model to it."""
    role, sending = params.roles[name], params.runtime.sending.get(name, Sending())
    same = {field: value for field, value in role if field not in OWN}
    same |= {"no temperature": role.temperature is None, "key": key_variable(role, sending)}
    return json.dumps(same, sort_keys=True)


async def _probe_served(
    params: Params, served: dict[str, RoleName], roles: Sequence[RoleName], folder: Path
) -> dict[RoleName, Probed]:
    """Look at each served model once, and settle the fingerprints of all roles that it answers."""
    from tasks.transport.client import Client  # these load pandas, which the simulator's roles do not need
    from tasks.transport.probing import look_up
    from tasks.transport.store import ResponseStore

    budget, prices, sending = run_budget(params), params.prices, params.runtime.sending

    async def look(name: RoleName) -> "Sighting":
        role, how = params.roles[name], sending.get(name)
        async with Client(name, role, store, sending=how, budget=budget, prices=prices) as client:
            return await look_up(client)

    with ResponseStore(response_store(params)) as store:
        seen = await asyncio.gather(*map(look, served.values()))
        sightings = dict(zip(served, seen, strict=True))
        asked = {role: sightings.get(_shared(params, role)) for role in roles if not params.roles[role].is_simulator}
        return {role: _settle(role, params.roles[role], seen, folder, store) for role, seen in asked.items() if seen}


def _settle(role: RoleName, settings: Role, seen: "Sighting", folder: Path, store: "ResponseStore") -> Probed:
    """Compare what was seen with the recorded fingerprint and with former epochs."""
    from tasks.transport.epochs import is_nonsense, settle

    identity, aliases = seen.identity(settings), tuple(settings.aliases)
    now = Fingerprint(role, identity, canaries=seen.canaries, aliases=aliases, structured=seen.structured)
    found, p_value = settle(store, read_fingerprint(folder, role), now, settings.canary_level)
    return replace(_written(found, p_value, folder), nonsense=is_nonsense(seen.canaries))


def _written(found: Fingerprint, p_value: float, folder: Path) -> Probed:
    """Rewrite the role's file where the fingerprint changed."""
    recorded = read_fingerprint(folder, found.role)
    changed = recorded is None or recorded.to_json() != found.to_json()
    if changed:
        write_text(fingerprint_path(folder, found.role), found.to_json())
    return Probed(found.role, found, p_value, changed, first=recorded is None)
