"""False alarms of the comparison of lineages and systems; writes the table of docs/coverage.md."""

import pytest

from tests.support.imports import ROOT
from tests.support.null_pairs import EVALUATIONS, UNEQUAL, alarm_rate
from tests.support.simulated import write_rows

pytestmark = pytest.mark.soak

FAMILIES, SIZES = 500, (8, 20, 100)
PAGE = ROOT / "docs" / "coverage.md"
SOURCE, HEADER = "tests/soak/test_false_alarms.py", ("design", "8 records", "20", "100", "1,000")


@pytest.mark.parametrize("kind", ["normal", "mixed", *UNEQUAL, *EVALUATIONS])
def test_lineages_of_equal_means_raise_an_alarm_in_at_most_seven_percent(kind: str) -> None:
    """Exchangeable scores, skewed differences around 0, failures of one's own errors, and evaluations of systems."""
    sizes = (*SIZES, 1000) if kind == "failures" else SIZES
    rates = [alarm_rate(kind, n, pairs=FAMILIES, seed=3) for n in sizes]
    cells = [f"{rate:.3f}" for rate in rates] + [""] * (len(HEADER) - 1 - len(rates))
    write_rows(PAGE, SOURCE, HEADER, {kind: [f"| {kind} | {' | '.join(cells)} |".replace("|  |", "| |")]})
    assert max(rates) <= 0.07
