"""Checks, starts, fits and measures clinical domains, and exchanges their networks with other tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
import yaml

from flows.runtime.folders import require_new_file, write_new_file
from schemas.errors import DomainError
from tasks.domains.in_use import FOLDER, domain_names, in_domain

if TYPE_CHECKING:
    from tasks.network.cases import CaseFit

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A folder of tasks/domains.")]
SKELETON = FOLDER / "_skeleton"
EXPORT = "vignette domain export"


def check(name: _Name) -> None:
    """Check all files of a domain against each other; one line for each defect."""
    from flows.runtime.domain import load_domain
    from tasks.judges.writer_quality import writing_defects
    from tasks.simulator.domain_check import simulator_defects

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


def quality(
    name: _Name,
    records: Annotated[int, typer.Option(help="Records whose notes are written and read.")] = 400,
    seed: int = 7,
) -> None:
    """Measure how well the simulator reads its own notes, by wording of the symptoms; list misread symptoms."""
    from flows.runtime.domain import load_domain
    from tasks.judges.writer_quality import domain_reading

    with in_domain(name):
        domain = load_domain(name)
        for wording, found in domain_reading(domain.network, domain.wording, records, seed).items():
            print(f"{wording} wording: " + ", ".join(f"{key} {value:.3f}" for key, value in found.measures.items()))
            for one in found.misread:
                print(f"  {one.version}: {one.symptom} {one.error}, {one.notes} notes, such as {one.example!r}")


def import_(
    file: Annotated[Path, typer.Argument(help="A network in BIF (.bif) or XMLBIF (.xml, .xmlbif).")], name: _Name
) -> None:
    """Print a network file with the tables of a BIF or XMLBIF file; set the types of its variables."""
    from tasks.network.pgmpy_bridge import import_network

    sys.stdout.write(import_network(file, name))


def export(name: _Name, file: Annotated[Path, typer.Argument(help="The .bif, .xml or .xmlbif file to write.")]) -> None:
    """Write a domain's network as BIF or XMLBIF: every node as a table, counts in categories."""
    from flows.runtime.domain import load_domain
    from tasks.network.pgmpy_bridge import export_network

    require_new_file(file, EXPORT)
    with TemporaryDirectory() as folder:
        written = Path(folder, file.name)
        export_network(load_domain(name).network, written)
        write_new_file(file, written.read_bytes(), EXPORT)
    print(f"{file}: written")


def fit(
    name: _Name,
    node: Annotated[str, typer.Argument(help="A count or logistic variable of the network.")],
    cases: Annotated[Path, typer.Argument(help="A CSV file: a column for each parent, and one for the variable.")],
    held_out: Annotated[Path | None, typer.Option(help="Further cases, to compare predictions with labels.")] = None,
) -> None:
    """Fit the coefficients of a variable to an expert's example cases; print them as an entry of network.yaml."""
    from flows.runtime.domain import load_domain
    from tasks.network.cases import distribution_entry, fit_cases, mean_error, read_cases

    network = load_domain(name).network
    found = fit_cases(network, node, read_cases(network, node, cases))
    for line in fit_lines(found):
        print(line)
    if held_out is not None:
        further = read_cases(network, node, held_out)
        ours, before = (mean_error(one, node, further) for one in (found.network, network))
        print(f"mean error on {len(further.labels)} held-out cases: {ours:.2f}; with network.yaml: {before:.2f}")
    print(yaml.safe_dump(distribution_entry(found.network, node), sort_keys=False), end="")


def fit_lines(found: CaseFit) -> Iterator[str]:
    """One line for each coefficient: fitted value, 95% interval, and value in the network file."""
    width = max(len(one.name) for one in found.coefficients)
    yield f"{found.cases} cases"
    yield f"{'coefficient':{width}}  {'fitted':>8}  {'95% interval':>18}  network.yaml"
    for one in found.coefficients:
        interval = "kept" if one.low is None else f"{one.low:.3f} to {one.high:.3f}"
        yield f"{one.name:{width}}  {one.value:8.3f}  {interval:>18}  {one.before:g}"


def list_() -> None:
    """List the domains."""
    print("\n".join(domain_names()))


SUBCOMMANDS = [check, new, quality, fit, import_, export, list_]
