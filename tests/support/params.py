"""The shipped params with other values."""

from typing import Any

from flows.repository.params import load_params
from schemas.params import Params
from tests.support.cases import merged
from tests.support.imports import ROOT


def shipped(**changes: Any) -> Params:
    """params.yaml with ``changes`` by section, which are merged at each level; null restores a default."""
    return Params.model_validate(merged(load_params(ROOT / "params.yaml").model_dump(mode="json"), changes))
