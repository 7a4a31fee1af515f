"""Reads which module imports which, without running any of them."""

import ast
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("flows", "tasks", "schemas")


@lru_cache
def project_modules() -> dict[str, Path]:
    """Every module of the project by dotted name."""
    found = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@lru_cache
def imports_of(module: str) -> frozenset[str]:
    """Modules and names that ``module`` imports, at any depth of its code, as dotted paths."""
    tree = ast.parse(project_modules()[module].read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(found)


def project_imports(module: str) -> set[str]:
    """The project's own modules that ``module`` imports."""
    return {name for name in imports_of(module) if name in project_modules()}


def reachable(module: str, beyond: frozenset[str] = frozenset()) -> set[str]:
    """The project's modules that running ``module`` loads, packages' ``__init__`` included.

    What is loaded only through a module of ``beyond`` is left out, and those modules themselves.
    """
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current in seen or current in beyond:
            continue
        seen.add(current)
        parents = {current.rsplit(".", depth)[0] for depth in range(1, current.count(".") + 1)}
        waiting.extend((project_imports(current) | parents) & set(project_modules()))
    return seen
