"""Identifies the model that answers each role, and rewrites its fingerprint when the model changed."""

import asyncio
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from flows.runtime.params import load_params, response_store, run_budget
from flows.runtime.workspace import FINGERPRINTS, answerer_fingerprints, judge_fingerprints
from schemas.params import Params
from schemas.params.llm import Role, RoleName, Sending, key_variable
from tasks.transport.fingerprint import Fingerprint, fingerprint_path, is_of, read_fingerprint, simulator_identity
from tasks.transport.shown import printable

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

    ``p_value``: of its canary replies against those of its epoch. ``nonsense``: no canary reply is about its prompt.
    """

    role: RoleName
    fingerprint: Fingerprint
    p_value: float
    changed: bool
    nonsense: bool = False


async def probe(params: Params, roles: Sequence[RoleName], folder: Path = FINGERPRINTS) -> list[Probed]:
    """Probe the endpoint of each role; rewrite only the files of roles whose identity or epoch changed.

    Roles that share endpoint and model are probed once.
    """
    served = {_shared(params, role): role for role in reversed(roles) if not params.roles[role].is_simulator}
    found = await _probe_served(params, served, roles, folder) if served else {}
    return [found.get(role) or _of_simulator(role, params.roles[role], folder) for role in roles]


def roles_to_probe(params: Params, folder: Path = FINGERPRINTS) -> list[RoleName]:
    """The roles to identify before a run: all but those whose replies were imported, which need no endpoint.

    A call that the imported replies do not answer still checks the model's identity first.
    """
    chosen = []
    for name, role in params.roles.items():
        recorded = read_fingerprint(folder, name)
        if recorded and not role.is_simulator and is_of(recorded, role) and _is_imported(params, recorded):
            print(f"{name}: the replies of {recorded.label} were imported, not probed; to probe it: vignette probe")
        else:
            chosen.append(name)
    return chosen


def _is_imported(params: Params, recorded: Fingerprint) -> bool:
    from tasks.transport.inspection import imported_identities  # loads pandas, which the simulator does not need

    return recorded.key in imported_identities(response_store(params))


def probe_roles(params: Params, roles: Sequence[RoleName], folder: Path = FINGERPRINTS) -> list[Probed]:
    """Probe ``roles``, with the answerer and the judge the further ones of params, and print a line for each."""
    results = asyncio.run(probe(params, roles, folder))
    for result in results:
        _print(result, folder)
    for name in params.note_qa_outside.answerers if "answerer" in roles else ():
        own = answerer_fingerprints(name, folder)
        (result,) = asyncio.run(probe(params.answered_by(name), ["answerer"], own))
        _print(result, own, f"{name}, ")
    for name in params.judges if "judge" in roles else ():
        own = judge_fingerprints(name, folder)
        (result,) = asyncio.run(probe(params.judged_by(name), ["judge"], own))
        _print(result, own, f"{name}, ")
    return results


def would_change(params: Params) -> list[RoleName]:
    """The roles whose fingerprint a run would rewrite; probes them, prints a line for each, and writes nothing here."""
    with TemporaryDirectory() as copy:
        if FINGERPRINTS.exists():
            shutil.copytree(FINGERPRINTS, copy, dirs_exist_ok=True)
        return [found.role for found in probe_roles(params, roles_to_probe(params), Path(copy)) if found.changed]


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
    from tasks.transport.roles import look_up  # these load pandas, which the simulator's roles do not need
    from tasks.transport.store import ResponseStore

    budget, prices, sending = run_budget(params), params.prices, params.runtime.sending
    with ResponseStore(response_store(params)) as store:
        seen = await asyncio.gather(
            *(
                look_up(name, params.roles[name], store=store, sending=sending.get(name), budget=budget, prices=prices)
                for name in served.values()
            )
        )
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


def _of_simulator(role: RoleName, settings: Role, folder: Path) -> Probed:
    return _written(Fingerprint(role, simulator_identity(settings)), 1.0, folder)


def _written(found: Fingerprint, p_value: float, folder: Path) -> Probed:
    """Rewrite the role's file where the fingerprint changed."""
    recorded = read_fingerprint(folder, found.role)
    changed = recorded is None or recorded.to_json() != found.to_json()
    if changed:
        from flows.runtime.tables import write_text  # loads pandas, which a rebuild with nothing to do never uses

        write_text(fingerprint_path(folder, found.role), found.to_json())
    return Probed(found.role, found, p_value, changed)


def main(
    role: Annotated[list[str] | None, typer.Option(help="Only this role; may be given more than once.")] = None,
    if_needed: Annotated[
        bool, typer.Option("--if-needed", help="Only roles whose fingerprint is not of the model in params.yaml.")
    ] = False,
    params: Path = Path("params.yaml"),
) -> None:
    """Identify the model that answers each role, and rewrite the role's fingerprint when the model changed."""
    loaded = load_params(params)
    if unknown := [name for name in role or () if name not in loaded.roles]:
        raise typer.BadParameter(f"no role {', '.join(unknown)}; {params} has {', '.join(loaded.roles)}")
    chosen = [name for name in loaded.roles if role is None or name in role]
    recorded = [
        name for name in chosen if if_needed and is_of(read_fingerprint(FINGERPRINTS, name), loaded.roles[name])
    ]
    for name in recorded:
        print(f"{name}: {fingerprint_path(FINGERPRINTS, name)} is of {loaded.roles[name].model}, not probed")
    probe_roles(loaded, [name for name in chosen if name not in recorded])


def _print(result: Probed, folder: Path, of: str = "") -> None:
    """A line about the model of a role, and a warning where its canary replies make no sense."""
    found = result.fingerprint
    p_value = f", canaries p = {result.p_value:.3g}" if found.canaries else ""
    rewritten = ", file rewritten" if FINGERPRINTS in (folder, *folder.parents) else ""
    state = f"changed{rewritten}" if result.changed else "unchanged"
    print(printable(f"{of}{result.role}: {found.label}, epoch {found.epoch}{p_value}: {state}"))
    if result.nonsense:
        said = f"{of}{result.role}: warning: no reply of {found.label} to the canary prompts is about what was asked"
        print(printable(f"{said}; is it a chat model, with the right template?"), file=sys.stderr)
