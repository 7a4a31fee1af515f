"""Checks and starts clinical domains."""

from __future__ import annotations

from shutil import copytree
from typing import Annotated

import typer

from schemas.errors import DomainError
from tasks.domains.in_use import FOLDER, domain_names, in_domain

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A folder of tasks/domains.")]
SKELETON = FOLDER / "_skeleton"


def check(name: _Name) -> None:
    """Check all files of a domain against each other; one line for each defect."""
    from flows.runtime.domain import load_domain
    from tasks.simulator.domain_check import simulator_defects, writing_defects

    with in_domain(name):
        domain = load_domain(name)
        if found := simulator_defects() or writing_defects(domain.wording):
            raise DomainError("\n".join(found))
    print(f"{name}: no defects")


def new(name: _Name) -> None:
    """Write a commented domain of two symptoms, one condition and one diagnosis, to be edited."""
    folder = FOLDER / name
    if not name.isidentifier() or name.startswith("_"):
        raise DomainError(f"{name!r} cannot be the name of a folder of data; use letters, digits and _")
    if folder.exists():
        raise DomainError(f"{folder}: exists already; choose another name or edit its files")
    copytree(SKELETON, folder)
    network = folder / "network.yaml"
    network.write_text(network.read_text(encoding="utf-8").replace("name: NAME", f"name: {name}"), encoding="utf-8")
    print(
        f"{folder}: written. Edit its files until `vignette domain check {name}` prints no defects; see docs/domain.md"
    )


def list_() -> None:
    """List the domains."""
    print("\n".join(domain_names()))


SUBCOMMANDS = [check, new, list_]
