"""Reads the kernel's data files."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml


@lru_cache(maxsize=16)
def load(name: str) -> Any:
    """Return the content of ``data/<name>.yaml``."""
    source = files(__package__).joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(source, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def words(name: str) -> frozenset[str]:
    """Return a word list of ``data/cues.yaml``."""
    return frozenset(load("cues")[name].split())
