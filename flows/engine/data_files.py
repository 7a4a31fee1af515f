"""Finds the data files (prompts, word lists, templates, printed tables) that modules read, from their source text.

A file is named by a call with constants: ``render(package, name)`` and ``template_tokens(package, name)`` for prompts,
``files(package).joinpath(...)`` and ``PackageLoader(package)`` for files within a package, ``stage.dep(stem)`` or
``stage.load(stem, ...)`` for those that a stage reads by stem, and ``domain_data(name)`` for those of the domain in
use. Where a name is computed, it is looked for among the string constants of the module and of the reached modules that
import it.
"""

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from flows.engine.imports import ROOT, project_modules, run_imports, syntax
from flows.engine.pipeline import CODE, DOMAIN

_PROMPTS = {"render", "template_tokens"}
_INCLUDE = re.compile(r"\{%-?\s*(?:from|import|include|extends)\s+[\"']([^\"']+)[\"']")


def files_read_by(modules: Collection[str]) -> set[Path]:
    """Data files, relative to the repository, that ``modules`` name."""
    found = {file for module in modules for file in _by_package(module, frozenset(modules))}
    return found | files_by_stem(modules)


def files_by_stem(modules: Collection[str]) -> set[Path]:
    """Data files that stages among ``modules`` read by stem: dvc.yaml must list each of them by itself."""
    flows = [module for module in modules if module.startswith("flows.")]
    return {file for module in flows for stem in _stems(module) for file in data_files() if file.stem == stem}


def domain_files(modules: Collection[str]) -> set[str]:
    """Entries for the files of the domain in use that ``modules`` name; a folder of it where a name is computed."""
    found = {name for module in modules for name in _domain_names(module)}
    folders = {str(PurePosixPath(name).parent) for name in found if "*" in name}
    files = {f"{name}.yaml" for name in found if str(PurePosixPath(name).parent) not in folders}
    return {f"{DOMAIN}/{path}" for path in folders | files}


@cache
def _domain_names(module: str) -> frozenset[str]:
    calls = [node for node in ast.walk(syntax(module)) if isinstance(node, ast.Call) and node.args]
    readers = ("domain_data", "domain_file")
    return frozenset(
        _text(call.args[0]) for call in calls if _name(call.func) in readers and _text(call.args[0]) != "*"
    )


@cache
def data_files() -> tuple[Path, ...]:
    """All files within the packages that are neither code nor of a domain."""
    found = (file.relative_to(ROOT) for package in CODE for file in (ROOT / package).rglob("*") if file.is_file())
    domains = PurePosixPath(DOMAIN).parent
    kept = (f for f in found if f.suffix not in (".py", ".pyc") and "__pycache__" not in f.parts)
    return tuple(sorted(file for file in kept if not file.is_relative_to(domains)))


def _by_package(module: str, reached: frozenset[str]) -> Iterator[Path]:
    for pattern in _patterns(module):
        candidates = _matching(pattern)
        computed = PurePosixPath(pattern).name
        if computed == "*":
            candidates = [file for file in candidates if file.name in _nearby_constants(module, reached)]
        elif computed.startswith("*."):
            candidates = [file for file in candidates if file.stem in _nearby_constants(module, reached)]
        yield from candidates
        yield from (include for file in candidates for include in _included(file))


@cache
def _patterns(module: str) -> tuple[str, ...]:
    """Globs of the data files that calls in a module can name."""
    calls = (node for node in ast.walk(syntax(module)) if isinstance(node, ast.Call))
    return tuple(pattern for pattern in (_pattern(call, module) for call in calls) if pattern)


@cache
def _matching(pattern: str) -> list[Path]:
    """Files that a glob names, or the files in a folder that it names."""
    return [file for file in data_files() if file.match(pattern) or file.parent.match(pattern)]


def _pattern(call: ast.Call, module: str) -> str | None:
    """A glob of the files that a call can name, ``*`` for computed parts; None for other calls."""
    function, arguments = _name(call.func), call.args
    if function in _PROMPTS and len(arguments) > 1:
        package, parts = arguments[0], ["prompts", f"{_text(arguments[1])}.txt"]
    elif function == "PackageLoader":
        package, parts = arguments[0], ["templates", "*"]
    elif function == "joinpath" and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        package, parts = call.func.value.args[0], [_text(part) for part in arguments]
    else:
        return None
    folder = _folder(package, module)
    return None if folder is None else "/".join([folder, *parts])


def _folder(package: ast.expr, module: str) -> str | None:
    """Folder of the package that an expression names; None where the caller passes it."""
    if isinstance(package, ast.Name) and package.id == "__package__":
        return project_modules()[module].parent.relative_to(ROOT).as_posix()
    if isinstance(package, ast.Name):
        for node in syntax(module).body:
            if isinstance(node, ast.Assign) and package.id in [_name(target) for target in node.targets]:
                return _folder(node.value, module)
    name = _text(package)
    return None if name == "*" else name.replace(".", "/")


@cache
def _included(template: Path) -> set[Path]:
    """Templates that an HTML template includes."""
    if template.suffix != ".html":
        return set()
    names = _INCLUDE.findall((ROOT / template).read_text(encoding="utf-8"))
    return {template.parent / name for name in names if template.parent / name in data_files()}


@cache
def _stems(module: str) -> frozenset[str]:
    """Stems in a module's calls of ``stage.dep`` and ``stage.load``; all its constants where the stem is a variable."""
    found: set[str] = set()
    for call in ast.walk(syntax(module)):
        if isinstance(call, ast.Call) and _name(call.func) in ("dep", "load") and call.args:
            stem = _text(call.args[0])
            found |= _constants(module) if stem == "*" else {stem}
    return frozenset(found)


def _nearby_constants(module: str, reached: frozenset[str]) -> set[str]:
    importers = [other for other in reached if module in run_imports(other)]
    return {constant for other in (module, *importers) for constant in _constants(other)}


@cache
def _constants(module: str) -> frozenset[str]:
    nodes = (node.value for node in ast.walk(syntax(module)) if isinstance(node, ast.Constant))
    return frozenset(value for value in nodes if isinstance(value, str))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _text(argument: ast.expr) -> str:
    """A string as written, with ``*`` for computed parts."""
    if isinstance(argument, ast.JoinedStr):
        return "".join(_text(part) for part in argument.values)
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else "*"
