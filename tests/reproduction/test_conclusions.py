"""Conclusions hold, do not hold, or cannot be told, by the interval of the difference that decides them."""

import math

import pandas as pd
import pytest

from flows.commands.papers import CONCLUSIONS, concluded
from tasks.reproduction.conclusions import FAILS, HOLDS, UNTOLD, conclusions, entries, tables_needed, verdict_of
from tasks.reproduction.published import items, papers


@pytest.mark.parametrize(
    ("test", "margin", "low", "high", "verdict"),
    [
        ("more", 0, 0.01, 0.2, HOLDS),
        ("more", 0, -0.2, -0.01, FAILS),
        ("more", 0, -0.1, 0.1, UNTOLD),
        ("as much", 0.05, -0.04, 0.1, HOLDS),
        ("as much", 0.05, -0.2, -0.06, FAILS),
        ("as much", 0.05, -0.2, 0.1, UNTOLD),
        ("same", 0.05, -0.04, 0.04, HOLDS),
        ("same", 0.05, 0.06, 0.2, FAILS),
        ("same", 0.05, -0.2, 0.2, UNTOLD),
        ("more", 0, math.nan, math.nan, UNTOLD),
    ],
)
def test_verdicts_follow_from_the_interval(test: str, margin: float, low: float, high: float, verdict: str) -> None:
    assert verdict_of(test, margin, (low + high) / 2, low, high) == verdict


def test_a_difference_has_the_interval_of_independent_sides() -> None:
    """Sides 0.9 (0.87 to 0.92) and 0.6 (0.56 to 0.63)."""
    columns = ["system", "condition", "item", "metric", "value", "low", "high"]
    found = {name: pd.DataFrame(columns=columns) for name in tables_needed()}
    for one in entries():
        for side, row in (("first", (0.9, 0.87, 0.92)), ("second", (0.6, 0.56, 0.63))):
            if "table" in one[side]:
                keys = [one[side].get(name, "any") for name in columns[:4]]
                new = pd.DataFrame([[*keys, *row]], columns=columns)
                table = found[one[side]["table"]]
                same = (table[columns[:4]] == keys).all(axis=1)
                found[one[side]["table"]] = pd.concat([table[~same], new], ignore_index=True)
    text = conclusions(found).set_index("conclusion").loc["Free text is harder than multiple choice (Table 4)"]
    assert text["difference"] == pytest.approx(0.3)
    assert text["low"] == pytest.approx(0.3 - (0.03**2 + 0.03**2) ** 0.5)
    assert text["high"] == pytest.approx(0.3 + (0.02**2 + 0.04**2) ** 0.5)
    with pytest.raises(ValueError, match="no row of table"):
        conclusions({name: table.head(0) for name, table in found.items()})


def test_each_conclusion_names_a_table_of_its_paper_and_the_file_is_up_to_date() -> None:
    listed = {(source, name.split(",")[0]) for source, name in items()}
    for one in entries():
        place = one["conclusion"].rpartition("(")[2].rstrip(")").split(",")[0]
        assert (one["source"], place) in listed and one["source"] in papers()
    written = concluded().to_csv(index=False, float_format="%.6g", lineterminator="\n")
    assert CONCLUSIONS.read_text(encoding="utf-8") == written, "run vignette papers"
