"""Cases of rules in YAML, and tests that run all their cases as one: groups of a claim, a form and cases, or tables."""

import inspect
from collections.abc import Callable, Iterable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest
import yaml

Test = Callable[..., None]


def each(arguments: str, cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test with every case in turn and report all cases that fail at once, as one test.

    Arguments and cases are written as for ``pytest.mark.parametrize``. Fixtures are shared by the cases.
    """
    names = [name.strip() for name in arguments.split(",")]
    every = list(cases)

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run_all(**fixtures: Any) -> None:
            assert every, f"{test.__name__} has no cases"
            failures: list[Exception] = []
            for case in every:
                values = case if len(names) > 1 else (case,)
                try:
                    test(**fixtures, **dict(zip(names, values, strict=True)))
                except (Exception, pytest.fail.Exception) as problem:
                    if "pytest-timeout" in str(problem):
                        raise
                    if not isinstance(problem, Exception):  # as an ExceptionGroup takes no other
                        problem = AssertionError(str(problem)).with_traceback(problem.__traceback__)
                    problem.add_note(f"case {case!r}")
                    failures.append(problem)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(every)} cases fail", failures)

        given = inspect.signature(test)
        others = [one for name, one in given.parameters.items() if name not in names]
        run_all.__signature__ = given.replace(parameters=others)  # type: ignore[attr-defined]
        return run_all

    return decorate


def read_cases(file: Path) -> list[tuple[str, list[Any], Any]]:
    """Form, inputs and expected outcome of each case of ``file``."""
    groups = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [(group["form"], case[:-1], case[-1]) for group in groups for case in group["cases"]]


def from_table(test: Test) -> Test:
    """Run ``test`` with each row of its table in ``tables.yaml`` of its folder; rows may have names.

    A test that needs fixtures gets new ones for each row.
    """
    table = _tables(Path(inspect.getfile(test)).with_name("tables.yaml"))[test.__name__]
    names, rows = table["arguments"], table["rows"]
    if len(names) == len(inspect.signature(test).parameters):
        return each(", ".join(names), rows.values() if isinstance(rows, dict) else rows)(test)
    ids, values = (list(rows), list(rows.values())) if isinstance(rows, dict) else (None, rows)
    marked: Test = pytest.mark.parametrize(names, values, ids=ids)(test)
    return marked


@cache
def _tables(file: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")))


def merged(content: Any, change: Any) -> Any:
    """``content`` with the entries of ``change``, which are merged at each level; null deletes an entry."""
    if not (isinstance(content, dict) and isinstance(change, dict)):
        return change
    new = content | {name: merged(content.get(name), value) for name, value in change.items()}
    return {name: value for name, value in new.items() if change.get(name, 0) is not None}
