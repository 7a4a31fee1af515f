"""The code that a stage's outputs depend on, for ``deps`` of dvc.yaml: derived from its imports."""

from collections.abc import Collection
from functools import cache
from pathlib import Path

from flows.engine.data_files import data_files, domain_files, files_by_stem, files_read_by
from flows.engine.imports import ROOT, is_docstring_only, project_modules, reachable
from flows.engine.pipeline import DOMAIN
from tasks.llm.contents import rule_files

WRITES_BYTES = "flows.engine.tables"
"""Every stage reads and writes through it, and it decides the bytes of CSV tables."""

MACHINERY = {
    "flows.engine.chunks": "cuts and joins tables; the result does not depend on the cut",
    "flows.engine.clients": "who answers a role is tracked by fingerprints/, its sampling by params",
    "flows.engine.confirmation": "what a run may cost",
    "flows.engine.dask_chunks": "where chunks run",
    "flows.engine.lineage": "reads dvc.lock, which names no code",
    "flows.engine.pipeline": "finds paths in dvc.yaml",
    "flows.engine.sources": "finds the folder of outside data; its content is tracked by reports/published/sources/",
    "flows.engine.stage": "hands tables and clients over",
    "flows.engine.workspace": "where caches lie",
    "schemas.errors": "messages of runs that write nothing",
    "tasks.domains.in_use": "finds the files of a domain, which are listed themselves",
    "tasks.progress": "progress bars",
} | {
    module: "checks params.yaml; the values that a stage uses are params of dvc.yaml"
    for module in project_modules()
    if module.startswith("schemas.params")
}
"""Modules that run a stage and change no byte of its outputs, with the reason. No stage depends on them."""


PROBE = "probe"
"""The stage that identifies the models. It has no flow, only a command."""


@cache
def code_dependencies(stage: str) -> list[str]:
    """Files and folders of code that the outputs of ``stage`` depend on, relative to the repository, sorted.

    A package is listed as a folder where the stage uses all of it. Data files that the stage reads by stem are listed
    by themselves as well, and those of the domain with its name left open. Stage `probe` depends on the rules of the
    simulator and on the domain, whose hash is their identity.
    """
    if stage == PROBE:
        rules = {file.relative_to(ROOT) for file in rule_files()}
        return sorted({DOMAIN, *(path.as_posix() for path in _folded(rules & _all_files()))})
    modules = reachable({f"flows.stages.{stage}", WRITES_BYTES}, MACHINERY)
    used = {project_modules()[module].relative_to(ROOT) for module in modules if not is_docstring_only(module)}
    used |= files_read_by(modules)
    paths = {path.as_posix() for path in [*_folded(used), *files_by_stem(modules)]}
    return sorted(paths | domain_files(modules))


def _folded(used: Collection[Path]) -> set[Path]:
    """``used`` with every folder in place of its files whose content is all used."""
    unused = {file for file in _all_files() if file not in used}
    partly_used = {folder for file in unused for folder in file.parents} | {Path("tasks/domains")}
    folded = set()
    for file in used:
        whole = [folder for folder in file.parents if folder not in partly_used and len(folder.parts) > 1]
        folded.add(whole[-1] if whole else file)
    return folded


@cache
def _all_files() -> set[Path]:
    code = {path.relative_to(ROOT) for name, path in project_modules().items() if not is_docstring_only(name)}
    return code | set(data_files())
