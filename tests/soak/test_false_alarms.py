"""False alarms of the comparison of lineages and systems; writes the table of docs/coverage.md."""

import pytest
from scipy.stats import binomtest

from tests.support.imports import ROOT
from tests.support.null_pairs import EVALUATIONS, UNEQUAL, alarm_rate
from tests.support.simulated import write_rows

pytestmark = pytest.mark.soak

FAMILIES, SIZES = 500, (8, 20, 100)
PAGE = ROOT / "docs" / "coverage.md"
SOURCE, HEADER = "tests/soak/test_false_alarms.py", ("design", "records", "families", "with an alarm", "95%")


@pytest.mark.parametrize("kind", ["normal", "mixed", *UNEQUAL, *EVALUATIONS])
def test_lineages_of_equal_means_raise_an_alarm_in_at_most_seven_percent(kind: str) -> None:
    """Exchangeable scores, skewed differences around 0, failures of one's own errors, and evaluations of systems."""
    rates, lines = [], []
    for n in (*SIZES, 1000) if kind == "failures" else SIZES:
        rates.append(alarm_rate(kind, n, pairs=FAMILIES, seed=3))
        ends = binomtest(round(rates[-1] * FAMILIES), FAMILIES).proportion_ci(method="wilson")
        lines.append(f"| {kind} | {n} | {FAMILIES} | {rates[-1]:.3f} | {ends.low:.3f} to {ends.high:.3f} |")
    write_rows(PAGE, SOURCE, HEADER, {kind: lines})
    assert max(rates) <= 0.07
