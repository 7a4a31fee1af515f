"""Cases of rules in YAML: groups of a claim, a form and cases, or tables of a test's arguments."""

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml


def read_cases(file: Path) -> list[Any]:
    """Pytest's parameters (form, inputs, expected) of each case of ``file``."""
    return [
        pytest.param(group["form"], case[:-1], case[-1], id=f"{group['claim']} {number}")
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))
        for number, case in enumerate(group["cases"])
    ]


def from_table(test: Callable[..., None]) -> Callable[..., None]:
    """Run ``test`` with each row of its table in ``tables.yaml`` of its folder; rows may have names."""
    table = _tables(Path(inspect.getfile(test)).with_name("tables.yaml"))[test.__name__]
    rows, names = table["rows"], None
    if isinstance(rows, dict):
        rows, names = list(rows.values()), list(rows)
    marked: Callable[..., None] = pytest.mark.parametrize(table["arguments"], rows, ids=names)(test)
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
