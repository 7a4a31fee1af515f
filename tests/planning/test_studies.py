"""Half widths and power as planned, beside those of studies that the product analyses; the soak test has 1,000 each."""

import numpy as np
import pytest

from tests.planning.studies import DESIGNS, planned, studies

RUNS = 80
CHANCE = 3 * np.sqrt(0.25 / RUNS)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_plan_holds_in_simulated_studies(name: str) -> None:
    plan = planned(DESIGNS[name], np.random.default_rng(1), notes=4000)
    half, power = studies(DESIGNS[name], RUNS, draws=250)
    assert half == pytest.approx(plan.half_width, rel=0.1)
    assert power == pytest.approx(plan.power, abs=0.05 + CHANCE)
    assert 0.5 < plan.power < 0.97  # a power of 0 or 1 would be right of any plan
