"""Adjusted effects are those of earlier versions: committed results depend on their folds and draws."""

import numpy as np
import pandas as pd

from tasks.confounding.coverage import Pool, confounding_table, estimates
from tasks.confounding.designs import adjustment_designs
from tests.confounding.test_effects import population
from tests.support.recorded import assert_as_recorded


def test_effects() -> None:
    symptom, treated, outcome = population(600)
    records = pd.DataFrame({"season": np.tile(["summer", "winter"], 300), "cough": np.where(symptom, "yes", "no")})
    vectors = (symptom[:, None] + np.random.default_rng(4).normal(size=(600, 4))).astype(np.float32)
    designs = adjustment_designs(records, ["season"], ["cough"], {"cough": vectors}, vectors, 3)
    found = estimates(Pool(designs, treated, outcome), draws=4, size=300, folds=2, seed=7)
    table = confounding_table(found, -0.5, pool=600, size=300, seed=7, item="drug on days", provenance="test")
    assert_as_recorded("confounding", table[["metric", "system", "condition", "value", "low", "high", "n"]])
