"""The rating instructions as data: parts that penalties are given for, and scales with their meanings."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from schemas.tables.review import SCALES


@lru_cache(maxsize=1)
def rubric() -> dict[str, Any]:
    """The instructions of ``rubric.yaml``; scales in the order of `SCALES`, meanings from 5 down to 1."""
    text = files(__package__).joinpath("rubric.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    assert tuple(loaded["scales"]) == SCALES, "rubric.yaml must have the scales of schemas.tables.review, in order"
    return loaded
