"""Numbers of tables as a spreadsheet of another language writes them."""

import re
from collections.abc import Sequence

import pandas as pd

from schemas.errors import SourceError
from tasks.texts.fields import Row

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def with_points(rows: Sequence[Row], column: pd.Series) -> pd.Series:
    """A ``column`` of ``rows`` with decimal commas written as points.

    Raises SourceError for a column of numbers where a comma may divide thousands as well.
    """
    texts = column.astype("object").where(column.notna(), "").map(lambda value: str(value).strip())
    has_comma = texts.str.fullmatch(_DECIMAL_COMMA)
    if not has_comma.any():
        return column
    others = texts[~has_comma & (texts != "")]
    numbers = others[others.str.fullmatch(_NUMBER)]
    if texts[has_comma].str.fullmatch(_THOUSANDS).all() or numbers.str.contains(".", regex=False).any():
        if len(numbers) < len(others):
            return column  # words, among them numbers
        at = int(has_comma.to_numpy().argmax())
        raise SourceError(
            f"{rows[at].place}: column {column.name} holds {texts.iloc[at]!r}, whose comma may divide decimals or "
            "thousands; write all numbers of the column with a decimal point and without other marks"
        )
    return column.where(~has_comma, texts.str.replace(",", ".", regex=False))
