"""Conclusions and judged figures in words and counts, for the report and the page of the papers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from schemas.tables.metrics import basis_kind
from tasks.papers.conclusions import FAILS, HOLDS, UNTOLD, undecided
from tasks.papers.printed import papers


def shown(row: Mapping[str, Any]) -> str:
    """The difference with its interval as text; of pairs, how many of them: "20 of 24 pairs (0.64 to 0.93)"."""
    if pd.isna(row["difference"]):
        return "not in these tables"
    if row["test"] == "pairs":
        hits = round((row["difference"] + 0.5) * row["n"])
        return f"{hits} of {row['n']} pairs ({row['low'] + 0.5:.2f} to {row['high'] + 0.5:.2f})"
    interval = "no interval" if pd.isna(row["low"]) else f"{_signed(row['low'])} to {_signed(row['high'])}"
    return f"{_signed(row['difference'])} ({interval})"


def _signed(value: float) -> str:
    """Three decimals with a sign, and none for zero; one decimal from 10 up."""
    text = f"{value:+.1f}" if abs(value) >= 10 else f"{value:+.3f}"
    return text[1:] if float(text) == 0 else text


def tested(row: Mapping[str, Any]) -> str:
    """The test with its margin: "as much, margin 0.005"."""
    return f"{row['test']}, margin {row['margin']:g}" if row["margin"] else str(row["test"])


def counts_line(table: pd.DataFrame) -> str:
    """How many conclusions hold, by kind of basis, and how many only compare printed figures with each other."""
    kinds = basis_kind(table["basis"])
    said = []
    for kind in [kind for kind in CLASSES if kind in set(kinds) - {PRINTED}]:
        found = table.loc[kinds == kind, "verdict"].value_counts()
        said.append(f"{kind}, " + ", ".join(f"{found.get(one, 0)} {words}" for one, words in _SAID.items()))
    printed, left = (kinds == PRINTED).sum(), len(undecided(table))
    return (
        f"What the papers conclude, by the basis that decides it: {'; '.join(said)}. {printed} more conclusions "
        f"compare figures that a paper prints, and {left} are not decided."
    )


def short_titles() -> dict[str, str]:
    """Name of each paper by source: its title up to the colon."""
    return {source: paper["title"].partition(":")[0] for source, paper in papers().items()}


_SAID = {HOLDS: "hold", FAILS: "fail", UNTOLD: "cannot be told"}
PRINTED = "arithmetic"
"""Basis of what follows from a paper's own printed figures."""


def known_rows(runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The judged rows of several pipelines; a table that one of them reproduces is not absent in whole."""
    rows = pd.concat(runs, ignore_index=True).sort_values("basis", key=lambda basis: basis == "absent", kind="stable")
    whole = (rows["basis"] == "absent") & (rows["row"] == "all")
    return rows[~(whole & rows.duplicated(["source", "table"]))].reset_index(drop=True)


CLASSES = {
    "recomputed": "printed figures recomputed from released data",
    "closed form": "computed from the printed network",
    "arithmetic": "that follow from other printed figures",
    "sampled": "met on our own draws of records",
    "stand-in": "met by another model in place of the paper's",
}
"""What is counted, by kind of basis."""
ABSENT_TABLES = "tables that need data or models which are not at hand, whole or in part"


def class_counts(rows: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Figures within tolerance and figures compared, by kind of basis; absent tables are left out."""
    kinds = basis_kind(rows["basis"])
    counted = {kind: rows.loc[kinds == kind, "verdict"] == "pass" for kind in CLASSES}
    return {basis: (int(met.sum()), len(met)) for basis, met in counted.items() if len(met)}
