"""Checks and starts clinical domains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
import yaml

from schemas.errors import DomainError
from tasks.domains.in_use import FOLDER, domain_names, in_domain

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A folder of tasks/domains.")]
SKELETON = FOLDER / "_skeleton"


def check(name: _Name) -> None:
    """Check all files of a domain against each other; one line for each defect."""
    from flows.runtime.domain import load_domain, require_rules

    with in_domain(name):
        load_domain(name)
        require_rules(name)
    print(f"{name}: no defects")


def new(
    name: _Name,
    from_: Annotated[
        Path | None, typer.Option("--from", help="A network file (default: one of two symptoms, as an example).")
    ] = None,
) -> None:
    """Write the files of a domain from its network: commented, without defects, to be edited."""
    from tasks.domains.stubs import stub_files
    from tasks.network.definition import load_definition

    folder = FOLDER / name
    if not name.isidentifier() or name.startswith("_"):
        raise DomainError(f"{name!r} cannot be the name of a folder of data; use letters, digits and _")
    if folder.exists():
        raise DomainError(f"{folder}: exists already; choose another name or edit its files")
    network = from_ or SKELETON / "network.yaml"
    if not load_definition(network).of_type("symptom"):
        raise DomainError(f"{network}: no variable of type symptom; a domain needs one")
    text = network.read_text(encoding="utf-8")
    files = {"network.yaml": re.sub("^name: .*", f"name: {name}", text, count=1, flags=re.MULTILINE)}
    files |= stub_files(name, yaml.safe_load(text)["variables"])
    if from_ is None:
        files["transitions.yaml"] = (SKELETON / "transitions.yaml").read_text(encoding="utf-8")
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content, encoding="utf-8")
    print(f"{folder}: {len(files)} files written, to be edited; `vignette domain check {name}` names their defects")


def list_() -> None:
    """List the domains."""
    print("\n".join(domain_names()))


SUBCOMMANDS = [check, new, list_]
