"""Read the YAML files of the writer's ``data`` folder."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml


def flatten(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten nested rule blocks to names of the form ``outer.inner``."""
    rules: dict[str, str] = {}
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            rules |= flatten(value, f"{key}.")
        else:
            rules[key] = str(value)
    return rules


@lru_cache(maxsize=16)
def read_data(name: str) -> Any:
    """Return the content of a YAML file."""
    return yaml.safe_load(files(__package__).joinpath("data", name).read_text(encoding="utf-8"))
