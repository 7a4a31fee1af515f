"""Numbers are displayed with a few significant digits."""

import math

from tasks.reporting.display import decimals, fixed, number, percent
from tests.support.cases import from_table


@from_table
def test_numbers_are_short(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_a_share_is_a_percentage_with_one_decimal() -> None:
    assert [percent(v) for v in (0.0311, 0.98, 1.0, 0.5, 0.0)] == ["3.1%", "98.0%", "100%", "50.0%", "0%"]
    assert [percent(v) for v in (-0.0732, 1e-5, -1e-5, math.nan)] == ["−7.3%", "<0.1%", ">−0.1%", "–"]
    assert [percent(v) for v in (-1.0, 1.01, 0.0005, None)] == ["−100%", "101.0%", "0.1%", "–"]


def test_a_printed_column_keeps_its_decimals() -> None:
    assert decimals([58.1, 58.83, 60.0]) == 2
    assert decimals([29.0, 12.0]) == decimals([]) == 0
    assert decimals([0.12345, 0.5]) == 4
    assert (fixed(58.1, 2), fixed(-1234.5, 1), fixed(None, 1)) == ("58.10", "−1,234.5", "–")
    assert fixed(math.nan, 2) == "–"
