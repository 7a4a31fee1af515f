"""Hashes the files that shape the replies of a model of the simulator: its package, and its imports in the project."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from schemas.errors import IdentityError
from tasks.domains.in_use import FOLDER, domain_cache, domain_file, domain_folder
from tasks.simulator.dispatch import MODELS, family

ROOT = Path(__file__).resolve().parents[2]
CORE = ("tasks.simulator.dispatch", "tasks.simulator.request", "tasks.simulator.completions")
"""Modules that every reply passes through; the server and its faults transport replies unchanged."""


@domain_cache(maxsize=16)
def content_hash(model: str) -> str:
    """Hash of all files that shape the replies of ``model``. Raises IdentityError for a model that is not served."""
    digest = hashlib.sha256()
    for path in content_files(model):
        within = FOLDER.parents[1] if path.is_relative_to(FOLDER) else ROOT
        digest.update(f"{path.relative_to(within).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def content_files(model: str) -> list[Path]:
    """The files, sorted: the model's package with its data, its imports and theirs, and the domain."""
    if model not in MODELS:
        served = ", ".join(MODELS)
        raise IdentityError(f"the simulator serves no model {model!r} but {served}; correct params.yaml")
    found = set(_domain_files(family(model)))
    waiting = [_module_file(name) for name in CORE] + _package_files(ROOT / "tasks" / "simulator" / family(model))
    while waiting:
        path = waiting.pop()
        if path is None or path in found:
            continue
        found.add(path)
        if path.suffix == ".py":
            waiting += _imports(path)
    return sorted(found)


def _domain_files(package: str) -> list[Path]:
    """Files of the domain in use: the writer's words or, for the other models, the lexicon that they read."""
    folders = ("writer", "second") if package == "writer" else ("lexicon",)
    own = [file for folder in folders for file in _package_files(domain_folder() / folder)]
    words = [domain_file("history")] if domain_file("history").is_file() else []
    return [domain_file("network"), domain_file("wording"), *words, *own]


@cache  # the models share most modules
def _imports(path: Path) -> list[Path]:
    """Files that a module imports of the project; a package brings its data files, which it may read."""
    names: list[str] = []
    for node in _statements(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    files: list[Path] = []
    for name in names:
        if name.startswith("tasks."):
            module = _module_file(name)
            files += [] if module is None else [module, *_data_files(module.parent)]
    return files


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements within a node; expressions, which are most of a module, hold no import."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from _statements(inner)


def _module_file(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    if path.is_dir():
        return path / "__init__.py" if (path / "__init__.py").exists() else None
    return path.with_suffix(".py") if path.with_suffix(".py").exists() else None


def _package_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def _data_files(folder: Path) -> list[Path]:
    """Files that modules of a package may read: those in its folder, and all below its ``data``."""
    beside = [path for path in folder.iterdir() if path.is_file()]
    below = [path for path in (folder / "data").rglob("*") if path.is_file()]
    return [path for path in beside + below if path.suffix not in (".py", ".pyc")]
