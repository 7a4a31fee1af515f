"""Patterns on texts of others take time in proportion to the text, also to runs of blanks, breaks or letters."""

import ast
import json
import re
import time
from collections import defaultdict
from functools import partial
from importlib import import_module

import pytest

from tasks.code import Code
from tasks.simulator.app import shortened
from tests.support.cases import each

RUNS = (
    " ",
    "\t",
    "\n",
    " \n",
    "a",
    "A",
    "1",
    ".",
    "-",
    '"',
    "*",
    "_",
    "[",
    "a ",
    "1: ",
    ", ",
    "Note\n",
    "note" + 99 * " ",
)
ENDS = ("", "!", "\nz")
LENGTH = 2_000
SLOW_S = 0.001
"""Time from which the growth can be told."""
GROWTH = 3.2
"""Of the time for double the length: 2 if it is linear, 4 if it is quadratic."""
METHODS = {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
CODE = Code()
RULES = "tasks.simulator"
"""Reads requests without long runs of blanks."""


def uses(module: str) -> dict[str, set[str]]:
    """Methods by which a module uses a pattern, by its name."""
    found = defaultdict[str, set[str]](set)
    for node in ast.walk(ast.parse(CODE.modules[module].read_bytes())):
        if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
            found[node.value.id].add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            for given in node.args:  # of pandas, which takes the pattern
                found[given.id if isinstance(given, ast.Name) else ""].add(node.func.attr)
    return found


def patterns() -> list[tuple[str, str, str, str, int]]:
    """Module, name and method of each use of a pattern that a module has."""
    found = []
    for module in CODE.modules:
        if module.startswith(RULES) or "re.compile" not in CODE.modules[module].read_text(encoding="utf-8"):
            continue
        used = uses(module)
        for name, value in vars(import_module(module)).items():
            if isinstance(value, re.Pattern):
                found += [(module, name, method, value.pattern, value.flags) for method in sorted(used[name])]
    return sorted(set(found))


def seconds(method: str, pattern: re.Pattern[str], text: str) -> float:
    call = getattr(pattern, method)
    apply = {
        "finditer": lambda: [None for _ in call(text)],
        "sub": partial(call, "", text),
        "subn": partial(call, "", text),
    }
    act = apply.get(method, partial(call, text))
    best = 1e9
    for _ in range(2):
        begun = time.process_time()
        act()
        best = min(best, time.process_time() - begun)
        if best < SLOW_S:
            break
    return best


@each("module, name, method, pattern, flags", patterns())
def test_time_grows_with_the_text_and_no_faster(module: str, name: str, method: str, pattern: str, flags: int) -> None:
    compiled = re.compile(pattern, flags)
    for run in RUNS:
        for end in ENDS:
            for _ in range(3):  # another process may slow one of the two down
                once = seconds(method, compiled, run * (LENGTH // len(run)) + end)
                if once < SLOW_S:
                    break
                twice = seconds(method, compiled, run * (2 * LENGTH // len(run)) + end)
                if twice < GROWTH * once:
                    break
            else:
                pytest.fail(f"{module}.{name}.{method} on {run + end!r}: {once:.4f} s, then {twice:.4f} s")


def test_the_simulator_reads_long_runs_of_blanks_by_their_beginning() -> None:
    for blanks in (" ", "\n", "\t", "\r\n", " \n"):
        read = json.loads(shortened(json.dumps({"text": f"Dry{blanks * 100_000}cough."}).encode()))
        assert read == {"text": f"Dry{blanks * 200}cough."}
    short = json.dumps({"text": "Dry" + " " * 200 + r"\n" * 300}).encode()
    assert shortened(short) == short
