"""Simulated coverage of every kind of interval that is printed; writes the table of docs/statistics.md.

tests/statistics/test_coverage.py has a short version.
"""

import numpy as np
import pytest

from tests.statistics.coverage import SIZES, STUDIES, shares_of
from tests.support.imports import ROOT
from tests.support.simulated import Cell, coverage, write_rows

pytestmark = pytest.mark.soak

PAGE = ROOT / "docs" / "statistics.md"
SOURCE = "tests/soak/test_coverage.py"
HEADER = ("interval", "n", "p = .5", "p = .8", "p = .95", "p = .99", "mean", "runs", "without")
RUNS = 1000


def _row(kind: str, n: int, cells: list[Cell]) -> str:
    shown = [f"{one.covered:.3f} ({one.width:.2f})" for one in cells] + ["-"] * (4 - len(cells))
    if np.isnan([one.covered for one in cells]).all():
        return f"| {kind} | {n} | {' | '.join(['none'] * 4)} | - | {RUNS} | 1.000 |"
    mean = np.mean([one.covered for one in cells])
    return f"| {kind} | {n} | {' | '.join(shown)} | {mean:.3f} | {RUNS} | {max(c.undefined for c in cells):.3f} |"


@pytest.mark.parametrize("kind", STUDIES)
def test_each_kind_of_interval_covers_the_truth_at_every_size(kind: str) -> None:
    lines, short = [], []
    for n in SIZES:
        cells = [coverage(STUDIES[kind], n, p, runs=RUNS, seed=1) for p in shares_of(kind)]
        covered = np.array([cell.covered for cell in cells])
        lines.append(_row(kind, n, cells))
        assert np.isnan(covered).all() or not np.isnan(covered).any(), "an interval depends on method and n only"
        if covered.min() < 0.9 or covered.mean() < 0.94:
            short.append(lines[-1])
    write_rows(PAGE, SOURCE, HEADER, {kind: lines})
    assert short == []
