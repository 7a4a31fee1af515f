"""The table of docs/scale.md follows from the measurements in docs/scale.csv."""

import pandas as pd

from tests.benchmarks.scale import MEASURED, PAGE, with_table


def test_the_page_shows_the_measurements() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, pd.read_csv(MEASURED)) == page
