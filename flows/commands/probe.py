"""Asks who answers each role, and rewrites its fingerprint when that changed.

``vignette probe [--role ROLE]``
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flows.engine.clients import FINGERPRINTS, STORE
from flows.engine.params import load_params, run_budget
from flows.engine.tables import write_atomically
from flows.engine.workspace import workspace
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.fingerprint import Fingerprint, fingerprint_path, read_fingerprint
from tasks.llm.model_versions import settle
from tasks.llm.roles import look_up
from tasks.llm.store import ResponseStore


@dataclass(frozen=True)
class Probed:
    """What a probe found of one role."""

    role: RoleName
    fingerprint: Fingerprint
    similarity: float
    changed: bool


async def probe(params: Params, roles: Sequence[RoleName], folder: Path = FINGERPRINTS) -> list[Probed]:
    """Ask the endpoint of each role; rewrites only the files of those whose identity or epoch changed."""
    with ResponseStore(workspace() / STORE) as store:
        return [await _probe(params, role, fingerprint_path(folder, role), store) for role in roles]


def probe_roles(params: Params, roles: Sequence[RoleName]) -> list[Probed]:
    """Probe ``roles`` and print a line for each."""
    results = asyncio.run(probe(params, roles))
    for result in results:
        print(_line(result))
    return results


async def _probe(params: Params, role: RoleName, path: Path, store: ResponseStore) -> Probed:
    settings = params.roles[role]
    identity, replies = await look_up(
        role,
        settings,
        store=store,
        sending=params.runtime.sending.get(role),
        budget=run_budget(params),
        price=params.prices.get(settings.model),
    )
    recorded = read_fingerprint(path, role)
    found, alike = settle(store, recorded, role, identity, replies, settings.canary_similarity)
    changed = recorded is None or recorded.to_json() != found.to_json()
    if changed:
        write_atomically(path, lambda to: to.write_text(found.to_json(), encoding="utf-8"))
    return Probed(role, found, alike, changed)


def main(
    role: Annotated[list[str] | None, typer.Option(help="Only this role; may be given more than once.")] = None,
    params: Path = Path("params.yaml"),
) -> None:
    """Identify the model that answers each role, and rewrite the role's fingerprint when the model changed."""
    loaded = load_params(params)
    if unknown := [name for name in role or () if name not in loaded.roles]:
        raise typer.BadParameter(f"no role {', '.join(unknown)}; {params} has {', '.join(loaded.roles)}")
    probe_roles(loaded, [name for name in loaded.roles if role is None or name in role])


def _line(result: Probed) -> str:
    found = result.fingerprint
    alike = f", canaries {result.similarity:.2f} alike" if found.canaries else ""
    state = "changed, file rewritten" if result.changed else "unchanged"
    return f"{result.role}: {found.label}, epoch {found.epoch}{alike}: {state}"
