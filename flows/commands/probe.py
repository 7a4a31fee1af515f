"""Probes the models of the roles and says which changed."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flows.repository.params import load_params, response_store
from flows.repository.workspace import FINGERPRINTS, answerer_fingerprints
from flows.runtime.identities import Probed, probe
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.transport.fingerprint import fingerprint_path, is_of, read_fingerprint
from tasks.transport.shown import printable


def roles_to_probe(params: Params, folder: Path = FINGERPRINTS) -> list[RoleName]:
    """The roles to identify before a run: all but those whose replies were imported, which need no endpoint.

    A call that the imported replies do not answer still checks the model's identity first.
    """
    chosen = []
    for name, role in params.roles.items():
        recorded = read_fingerprint(folder, name)
        if recorded and not role.is_simulator and is_of(recorded, role):
            from tasks.transport.inspection import imported_identities  # loads pandas

            if recorded.key in imported_identities(response_store(params)):
                print(f"{name}: the replies of {recorded.label} were imported, not probed; to probe it: vignette probe")
                continue
        chosen.append(name)
    return chosen


def probe_roles(params: Params, roles: Sequence[RoleName], folder: Path = FINGERPRINTS) -> list[Probed]:
    """Probe ``roles``, with the answerer the further ones of params, and print a line for each; returns all results."""
    results = asyncio.run(probe(params, roles, folder))
    for result in results:
        _print(result, folder)
    for name in params.note_qa_outside.answerers if "answerer" in roles else ():
        own = answerer_fingerprints(name, folder)
        (result,) = asyncio.run(probe(params.answered_by(name), ["answerer"], own))
        _print(result, own, f"{name}, ")
        results.append(result)
    return results


def would_change(params: Params) -> list[RoleName]:
    """The roles whose fingerprint is not of the model in params.yaml. Asks no model; prints a line for each role."""
    changed = [name for name, role in params.roles.items() if not is_of(read_fingerprint(FINGERPRINTS, name), role)]
    for name, role in params.roles.items():
        print(
            f"{name}: {role.model}, "
            + ("to be probed" if name in changed else "taken for unchanged, as no model is asked")
        )
    return changed


def main(
    role: Annotated[list[str] | None, typer.Option(help="Only this role; may be given more than once.")] = None,
    if_needed: Annotated[
        bool, typer.Option("--if-needed", help="Only roles whose fingerprint is not of the model in params.yaml.")
    ] = False,
) -> None:
    """Identify the model that answers each role, and rewrite the role's fingerprint when the model changed."""
    loaded = load_params()
    if unknown := [name for name in role or () if name not in loaded.roles]:
        raise typer.BadParameter(f"no role {', '.join(unknown)}; params.yaml has {', '.join(loaded.roles)}")
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
    p_value = f", canaries p = {result.p_value:.3g}" if found.canaries and result.p_value == result.p_value else ""
    rewritten = ", file rewritten" if FINGERPRINTS in (folder, *folder.parents) else ""
    state = (
        "identified for the first time" if result.first else f"changed{rewritten}" if result.changed else "unchanged"
    )
    label = found.label if found.epoch else f"{found.label}, epoch 0"
    print(printable(f"{of}{result.role}: {label}{p_value}: {state}"))
    if result.nonsense:
        said = f"{of}{result.role}: warning: no reply of {found.label} to the canary prompts is about what was asked"
        print(printable(f"{said}; is it a chat model, with the right template?"), file=sys.stderr)
