"""Planned half widths and power beside 1,000 studies of each design; writes the table of docs/plan.md."""

import numpy as np
import pytest

from tests.planning.studies import DESIGNS, planned, studies
from tests.support.imports import ROOT
from tests.support.simulated import write_rows

pytestmark = pytest.mark.soak

PAGE = ROOT / "docs" / "plan.md"
SOURCE = "tests/soak/test_plans.py"
HEADER = (
    "design",
    "notes, questions, takes, raters",
    "half width planned",
    "simulated",
    "power planned",
    "simulated",
)
RUNS, DRAWS = 1000, 2000


def test_plans_hold_in_a_thousand_studies_of_each_design() -> None:
    lines: dict[str, list[str]] = {}
    missed: list[str] = []
    for name, simulated in DESIGNS.items():
        plan = planned(simulated, np.random.default_rng(1))
        half, power = studies(simulated, RUNS, draws=DRAWS)
        one = simulated.design
        lines[name] = [
            f"| {name} | {one.notes}, {one.questions}, {one.takes}, {one.raters} | {plan.half_width:.4f} | {half:.4f} "
            f"| {plan.power:.3f} | {power:.3f} |"
        ]
        if abs(power - plan.power) > 0.05 or abs(half / plan.half_width - 1) > 0.1:
            missed += lines[name]
    write_rows(PAGE, SOURCE, HEADER, lines)
    assert missed == []
