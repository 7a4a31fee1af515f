"""The shipped params with other values."""

from typing import Any

from flows.repository.params import load_params
from flows.repository.pipeline import MAIN, read_pipeline
from schemas.params import Params
from tests.support.cases import merged
from tests.support.imports import ROOT

SAMPLED = tuple(name for name, one in read_pipeline(ROOT / MAIN).items() if f"{name}.notes" in one.get("params", ()))
"""Stages that judge a sample of the notes."""


def shipped(**changes: Any) -> Params:
    """params.yaml with ``changes`` by section, which are merged at each level; null restores a default."""
    return Params.model_validate(merged(load_params(ROOT / "params.yaml").model_dump(mode="json"), changes))
