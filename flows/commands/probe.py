"""Asks who answers each role, and rewrites its fingerprint when that changed.

``vignette probe [--role ROLE]``
"""

import argparse
import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from flows.engine.clients import FINGERPRINTS, STORE
from flows.engine.params import load_params, run_budget
from flows.engine.tables import write_atomically
from flows.engine.workspace import workspace
from schemas.errors import VignetteError
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


async def probe(params: Params, roles: list[RoleName], folder: Path = FINGERPRINTS) -> list[Probed]:
    """Ask the endpoint of each role; rewrites only the files of those whose identity or epoch changed."""
    with ResponseStore(workspace() / STORE) as store:
        return [await _probe(params, role, fingerprint_path(folder, role), store) for role in roles]


def probe_all(params: Params) -> list[Probed]:
    """Probe every role of ``params``, telling on standard output what was found."""
    results = asyncio.run(probe(params, list(params.roles)))
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


def main(arguments: list[str] | None = None) -> int:
    """Probe the roles asked for, or all; returns the exit status."""
    parser = argparse.ArgumentParser(prog="vignette probe", description=__doc__)
    parser.add_argument("--role", action="append", help="may be given more than once (default: all roles)")
    parser.add_argument("--params", type=Path, default=Path("params.yaml"))
    options = parser.parse_args(arguments)
    try:
        params = load_params(options.params)
        roles = [role for role in params.roles if not options.role or role in options.role]
        if not roles:
            print(f"no such role; params.yaml has {', '.join(params.roles)}", file=sys.stderr)
            return 2
        for result in asyncio.run(probe(params, roles)):
            print(_line(result))
    except VignetteError as error:
        print(f"probe: {error}", file=sys.stderr)
        return 1
    return 0


def _line(result: Probed) -> str:
    found = result.fingerprint
    alike = f", canaries {result.similarity:.2f} alike" if found.canaries else ""
    state = "changed, file rewritten" if result.changed else "unchanged"
    return f"{result.role}: {found.label}, epoch {found.epoch}{alike}: {state}"


if __name__ == "__main__":
    sys.exit(main())
