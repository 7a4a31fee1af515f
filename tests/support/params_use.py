"""Which params a stage reads, from the source of its modules: ``params.a.b`` on values that annotations and assignments
trace back to params. As for code dependencies, an imported module counts as a whole."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache

from pydantic import BaseModel

from flows.engine.code_dependencies import MACHINERY
from flows.engine.imports import reachable, syntax
from schemas.params import Params

GLOBAL_SECTIONS = {"domain", "roles", "prices", "sources", "runtime", "budget", "watch"}
"""Sections that no stage lists: they say how stages run. Stages list the roles that they ask,
and depend on files of the domain."""

CHANGE_NO_BYTE = {"baselines.processes": "classifiers are trained in this many processes, each by itself"}
"""Params of a stage's section that its outputs do not depend on, with the reason."""


def leaves(model: type[BaseModel] = Params, prefix: str = "") -> Iterator[str]:
    """Dotted names of all params."""
    for name, field in model.model_fields.items():
        path = f"{prefix}.{name}".lstrip(".")
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from leaves(field.annotation, path)
        else:
            yield path


def below(prefixes: Iterable[str]) -> set[str]:
    """The params at or below any of ``prefixes``; all of them for an empty one."""
    wanted = set(prefixes)
    return {leaf for leaf in _leaves() if "" in wanted or any(start in wanted for start in _starts(leaf))}


@cache
def _leaves() -> frozenset[str]:
    return frozenset(leaves())


@cache
def _starts(path: str) -> tuple[str, ...]:
    """``a``, ``a.b`` and ``a.b.c`` of ``a.b.c``."""
    return tuple(path.rsplit(".", depth)[0] for depth in range(path.count(".") + 1))


def params_read(stage: str) -> set[str]:
    """Dotted names of the params that the outputs of a stage depend on, without roles."""
    modules = reachable({f"flows.stages.{stage}"}, MACHINERY)
    reads = {module: _reads(module) for module in modules}
    named = {path for module in modules if module.startswith("flows.") for path in reads[module][1]}
    read = {path for found, _ in reads.values() for path in found} & below(named)
    return {path for path in read if path.split(".")[0] not in GLOBAL_SECTIONS and path not in CHANGE_NO_BYTE}


def shortest(read: set[str]) -> list[str]:
    """``read`` in the form of dvc.yaml: a section's name if the whole section is read."""
    prefixes = {start for path in read for start in _starts(path)}
    whole = {prefix for prefix in prefixes if below([prefix]) <= read}
    return sorted(p for p in whole if not any(p.startswith(f"{other}.") for other in whole))


@cache
def _reads(module: str) -> tuple[set[str], set[str]]:
    """Params that a module reads, and the params and sections that it uses or passes on."""
    read: set[str] = set()
    named: set[str] = set()
    fields = _fields(module)
    for function in ast.walk(syntax(module)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            known, only_assigned = _names(function, fields), _only_assigned(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute | ast.Name):
                    paths = _paths(node, known)
                    read |= paths & _leaves()
                    named |= {path for path in paths if path} if node not in only_assigned else set()
    return read, named


def _fields(module: str) -> dict[str, set[str]]:
    """Paths in params that each annotated field of the module's classes may refer to, by ``.name``."""
    classes = (node for node in ast.walk(syntax(module)) if isinstance(node, ast.ClassDef))
    fields = (node for found in classes for node in found.body if isinstance(node, ast.AnnAssign))
    return {f".{ast.unparse(field.target)}": _of_type(ast.unparse(field.annotation)) for field in fields}


def _only_assigned(function: ast.AST) -> set[ast.AST]:
    """Expressions that are only assigned to a name or accessed by attribute."""
    found: set[ast.AST] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            found.add(node.value)
        if isinstance(node, ast.Assign):
            found |= {node.value, *(node.value.elts if isinstance(node.value, ast.Tuple) else [])}
            found |= {element for target in node.targets for element in ast.walk(target)}
    return found


def _names(function: ast.FunctionDef | ast.AsyncFunctionDef, fields: dict[str, set[str]]) -> dict[str, set[str]]:
    """Paths in params that each name of a function, and each of ``fields``, may refer to."""
    known = {name: set(paths) for name, paths in fields.items()}
    for inner in ast.walk(function):
        if isinstance(inner, ast.arg) and inner.annotation is not None:
            known.setdefault(inner.arg, set()).update(_of_type(ast.unparse(inner.annotation)))
    for _ in range(2):  # an assignment may use a name that a later node of the walk assigns
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                pairs = [(target, value)]
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = list(zip(target.elts, value.elts, strict=True))
                for name, source in pairs:
                    if isinstance(name, ast.Name):
                        known.setdefault(name.id, set()).update(_paths(source, known))
    return known


def _of_type(annotation: str) -> set[str]:
    if annotation == "Stage":
        return {"stage"}
    return _paths_of_types().get(annotation, set())


@cache
def _paths_of_types() -> dict[str, set[str]]:
    paths: dict[str, set[str]] = {}
    for path, model in _sections():
        paths.setdefault(model.__name__, set()).add(path)
    return paths


def _sections(model: type[BaseModel] = Params, prefix: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    yield prefix, model
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _sections(field.annotation, f"{prefix}.{name}".lstrip("."))


def _paths(node: ast.expr, known: dict[str, set[str]]) -> set[str]:
    """Paths in params that an expression may refer to; the empty string is params as a whole."""
    if isinstance(node, ast.Name):
        return known.get(node.id, set())
    if isinstance(node, ast.Attribute):
        found = {f"{path}.{node.attr}".lstrip(".") for path in _paths(node.value, known)}
        found = found or known.get(f".{node.attr}", set())
        return {"" if path == "stage.params" else path for path in found}
    return set()


def roles_asked(stage: str) -> set[str]:
    """Roles that a stage calls: ``ask("judge")`` in its module or in a module of flows that it imports."""
    modules = reachable({f"flows.stages.{stage}"}, MACHINERY)
    calls = (node for module in modules if module.startswith("flows.") for node in ast.walk(syntax(module)))
    asks = (node for node in calls if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "ask")
    return {arg.value for node in asks for arg in node.args if isinstance(arg, ast.Constant)}


def listed_params(stage: str) -> list[str]:
    """``params`` of a stage as required in dvc.yaml: the seed, params that its code reads, and the roles that it calls.

    Roles are listed as a whole: sampling settings change the replies and are not part of fingerprints.
    """
    read = shortest(params_read(stage))
    roles = [f"roles.{role}" for role in ("writer", "annotator", "judge", "answerer") if role in roles_asked(stage)]
    return [*(path for path in read if path == "seed"), *(path for path in read if path != "seed"), *roles]
