"""The code of the project, read once for all tests of this folder, which one worker runs."""

import ast
from functools import cache

from flows.repository.code import StageCode
from tasks.code import ROOT

STAGES = StageCode(ROOT)
CODE = STAGES.code


@cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    """All nodes of a module's syntax tree."""
    return tuple(ast.walk(ast.parse(CODE.modules[module].read_bytes())))
