"""Reads which module of the project imports which, from the source text, without running any of them."""

import ast
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from flows.repository.pipeline import CODE

ROOT = Path(__file__).resolve().parents[2]


@cache
def project_modules() -> dict[str, Path]:
    """File of every module of the project by dotted name; a package's is its ``__init__.py``."""
    found = {}
    for package in CODE:
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def room(module: str) -> str:
    """The package of ``flows``, ``tasks`` or ``schemas`` that a module is in."""
    return ".".join(module.split(".")[:2])


@cache
def syntax(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(project_modules()[module].read_text(encoding="utf-8"))


@cache
def imports_of(module: str) -> frozenset[str]:
    """Modules and names that ``module`` imports, at any depth of its code, as dotted paths; type-only imports too."""
    return frozenset(_imported(ast.walk(syntax(module))))


@cache
def run_imports(module: str) -> frozenset[str]:
    """Modules of the project that ``module`` imports at run time, in functions too; type-only imports are left out."""
    found = _imported(_run_nodes(syntax(module)))
    return frozenset(name for name in found if name in project_modules())


def used_imports(module: str, function: str) -> frozenset[str]:
    """Modules of the project that ``function`` and the definitions of ``module`` that it uses import."""
    tree = syntax(module)
    definitions: dict[str, ast.AST] = {}
    for node in tree.body:
        targets = [node] if hasattr(node, "name") else getattr(node, "targets", [getattr(node, "target", None)])
        definitions |= {named: node for one in targets if (named := getattr(one, "name", getattr(one, "id", None)))}
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                of = getattr(node, "module", None)
                one = ast.ImportFrom(of, [alias], 0) if of else ast.Import([alias])
                definitions[alias.asname or alias.name.split(".")[0]] = one
    seen, waiting, found = set(), [function], set()
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in seen:
            seen.add(name)
            nodes = list(_run_nodes(definitions[name]))
            found |= _imported(iter(nodes))
            waiting += [node.id for node in nodes if isinstance(node, ast.Name)]
    return frozenset(name for name in found if name in project_modules())


def reachable(roots: Collection[str], beyond: Collection[str] = ()) -> set[str]:
    """Modules of the project that running ``roots`` loads, packages' ``__init__`` included.

    Modules of ``beyond`` are left out, and so are those that are loaded through them only.
    """
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module in seen or module in beyond:
            continue
        seen.add(module)
        waiting += run_imports(module)
        parent = module.rpartition(".")[0]
        waiting += [parent] if parent else []
    return seen


def project_imports(module: str) -> set[str]:
    """The project's modules that ``module`` imports, including type-only imports."""
    return {name for name in imports_of(module) if name in project_modules()}


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but the bodies of ``if TYPE_CHECKING:``."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"):
            yield from _run_nodes(child)


def _imported(nodes: Iterator[ast.AST]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found
