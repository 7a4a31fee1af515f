"""Comments and docstrings of definitions, read from their source: the descriptions in the reference."""

import ast
import inspect
import io
import itertools
import tokenize
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType

from pydantic import BaseModel


@lru_cache
def module_tree(module: ModuleType) -> ast.Module:
    """The syntax of a module."""
    return ast.parse(inspect.getsource(module))


@lru_cache
def comments(module: ModuleType) -> Mapping[int, str]:
    """Comments of a module by line, without the sign."""
    lines = io.StringIO(inspect.getsource(module)).readline
    tokens = [token for token in tokenize.generate_tokens(lines) if token.type == tokenize.COMMENT]
    return {token.start[0]: token.string.lstrip("# ").strip() for token in tokens}


def field_comments(model: type[BaseModel]) -> dict[str, str]:
    """The comment of each field of a params section; empty for a field without one."""
    module = inspect.getmodule(model)
    assert module is not None
    bodies = [n.body for n in module_tree(module).body if isinstance(n, ast.ClassDef) and n.name == model.__name__]
    fields = [node for body in bodies for node in body if isinstance(node, ast.AnnAssign)]
    return {ast.unparse(node.target): _comment_on(module, node) for node in fields}


def column_comments(module: ModuleType) -> dict[str, dict[str, str]]:
    """By table (name of the schema in ``module``): the comment of each column that its definition lists."""
    found: dict[str, dict[str, str]] = {}
    for node in module_tree(module).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args:
            columns = node.value.args[0]
            if isinstance(columns, ast.Dict):
                found[ast.unparse(node.targets[0])] = {
                    str(key.value): _comment_on(module, value) or _shared_description(value)
                    for key, value in zip(columns.keys, columns.values, strict=True)
                    if isinstance(key, ast.Constant)
                }
    return found


def constant_docstrings(module: ModuleType) -> dict[str, str]:
    """The string below an assignment at the top of ``module``, by the assigned name."""
    body = module_tree(module).body
    found = {}
    for node, below in itertools.pairwise(body):
        if isinstance(node, ast.Assign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[ast.unparse(node.targets[0])] = str(below.value.value)
    return found


def _comment_on(module: ModuleType, node: ast.AST) -> str:
    """Comments at the end of the lines of ``node``, and on comment lines directly below them."""
    first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
    lines = inspect.getsource(module).splitlines()
    while last < len(lines) and lines[last].lstrip().startswith("#") and last in comments(module):
        last += 1
    return " ".join(comments(module)[line] for line in range(first, last + 1) if line in comments(module))


def _shared_description(value: ast.expr) -> str:
    """The description of a column that is defined in `schemas.tables.columns`."""
    from schemas.tables import columns

    return constant_docstrings(columns).get(ast.unparse(value), "")
