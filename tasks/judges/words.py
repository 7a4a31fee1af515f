"""Words and patterns of scripted changes, from the YAML files of this package. No judge reads them."""

import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml


@lru_cache(maxsize=4)
def words(file: str) -> dict[str, Any]:
    """The content of a YAML file of this package."""
    raw: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(f"{file}.yaml").read_text(encoding="utf-8"))
    return raw


@lru_cache(maxsize=64)
def pattern(file: str, name: str) -> re.Pattern[str]:
    """A pattern of a file of words; "%name%" stands for any of the words that the file lists under that name."""
    listed = words(file)
    return re.compile(re.sub(r"%(\w+)%", lambda found: "|".join(listed[found[1]]), listed["patterns"][name]))
