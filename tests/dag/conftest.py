"""One clone in which the whole DAG has run on few records, for all tests of this folder: one worker runs them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clone import SMALL, Clone

FEW_RECORDS: dict[str, Any] = {
    **SMALL,
    "sample__records": 12,
    "visits__patients": 4,
    "summarise__patients": 2,
    "summarise__judged": 1,
    "calibrate__rounds": 1,
    "planted_errors__each": 2,
    "planted_errors__rounds": 2,
    "planted_errors__assertions": 2,
    "network__held_out": 100,
    "baselines__seeds": [0],
    "baselines__neural__least_rows": 100,
    "baselines__neural__hidden": 16,
    "baselines__processes": 1,
    "baselines__calibration_folds": 2,
    "baselines__xgboost__grid": "first",
    "baselines__xgboost__folds": 2,
    "baselines__xgboost__verify": 1,
}
"""Params of the whole DAG. A stage that reads none of them and whose outputs are in git is not run."""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A scratch clone in which the whole DAG has run on few records. Tests must leave it unchanged."""
    clone = Clone(tmp_path_factory.mktemp("clone") / "vignette")
    clone.set_params(**FEW_RECORDS)
    clone.vignette("repro")
    clone.commit("built")
    yield clone
    clone.vignette("server", "stop")
