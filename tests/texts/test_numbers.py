"""Columns of numbers with decimal commas are read as with points; a comma that may be another mark is refused."""

import pandas as pd
import pytest

from schemas.errors import SourceError
from tasks.texts.fields import Row
from tasks.texts.numbers import with_points
from tests.support.cases import each


@each(
    "cells, found",
    [
        (["0,43", "1", None, "", "-2,5"], ["0.43", "1", None, "", "-2.5"]),
        (["1,234", "2,5", "1,2345"], ["1.234", "2.5", "1.2345"]),  # not all commas may divide thousands
        (["1,234", "yes", "7"], ["1,234", "yes", "7"]),
        (["0.21", "", "0,43"], "row 2: column rouge holds '0,43', whose comma may divide decimals"),
        (["7", "1,234", "2,345"], "row 1: column rouge holds '1,234'"),
    ],
)
def test_decimal_commas_are_read_as_points_or_refused(cells: list[str | None], found: list[str | None] | str) -> None:
    rows, column = [Row(f"row {at}", {}) for at in range(len(cells))], pd.Series(cells, name="rouge", dtype="object")
    if isinstance(found, list):
        assert with_points(rows, column).tolist() == found
        return
    with pytest.raises(SourceError, match=found):
        with_points(rows, column)
