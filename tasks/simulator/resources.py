"""Reads the YAML files in the ``data`` folders of the simulator's packages."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml


@lru_cache(maxsize=32)
def load(package: str, name: str) -> Any:
    """Return the content of ``data/<name>.yaml`` of a package of the simulator."""
    file = Path(__file__).parent / package / "data" / f"{name}.yaml"
    return yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def any_of(expressions: str) -> str:
    """Return a regular expression for one of ``expressions``, separated by `` | ``; of several that fit, the first."""
    return f"(?:{'|'.join(expressions.split(' | '))})"


def vocabulary() -> dict[str, str]:
    """Return the reader's regular expressions by name."""
    return {name: any_of(expressions) for name, expressions in load("reader", "vocabulary").items()}
