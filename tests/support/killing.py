"""Runs a stage and kills it at a write boundary: ``python -m tests.support.killing BOUNDARY N STAGE``.

The N-th ``before-commit`` or ``after-commit`` of a group of replies, ``before-replace`` or ``after-replace`` of a file.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows.commands import parser
from flows.runtime import tables
from tasks.transport.store import ResponseStore

BOUNDARIES = ("before-commit", "after-commit", "before-replace", "after-replace")


def at(times: int, action: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
    """``action``, killed right before or right after its ``times``-th run."""
    count = 0

    def run(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == times and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = action(*arguments)
        if count == times:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return run


def main() -> int:
    """Patch the boundary and run the stage."""
    boundary, times, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    when, what = boundary.split("-")
    if what == "commit":
        ResponseStore._write = at(times, ResponseStore._write, before=when == "before")  # type: ignore[method-assign]
    else:
        original = Path.replace
        replace = at(times, original, before=when == "before")

        def replace_tables(path: Path, target: Path) -> Any:
            return replace(path, target) if path.name.endswith(".partial") else original(path, target)

        tables.Path.replace = replace_tables  # type: ignore[assignment,method-assign]
    return parser.run(["stage", name])


if __name__ == "__main__":
    sys.exit(main())
