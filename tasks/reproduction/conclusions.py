"""What the papers conclude, and whether it holds here: conclusions.yaml applied to the committed metric tables."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import yaml

from schemas.conclusions import CONCLUSIONS
from schemas.tables.columns import typed

HOLDS, FAILS, UNTOLD = "holds", "does not hold", "cannot be told"
_COLUMNS = ("system", "condition", "item", "metric")
Side = tuple[float, float, float]
"""Value, and the half widths of its interval below and above; nan where there is none."""


@cache
def entries() -> list[dict[str, Any]]:
    """The entries of conclusions.yaml."""
    loaded: list[dict[str, Any]] = yaml.safe_load(
        files("tasks.reproduction").joinpath("conclusions.yaml").read_text("utf-8")
    )
    return loaded


def tables_needed() -> list[str]:
    """Names of the metric tables, such as ``published/baselines_text``."""
    return sorted(
        {str(one[side]["table"]) for one in entries() for side in ("first", "second") if "table" in one[side]}
    )


def conclusions(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """CONCLUSIONS from METRICS by name. Raises ValueError naming the conclusion for rows that a table lacks."""
    rows = []
    for one in entries():
        try:
            first, second = (_side(one[name], tables) for name in ("first", "second"))
        except KeyError as error:
            raise ValueError(f"conclusions.yaml, {one['conclusion']}: no row of table {error}") from error
        difference = first[0] - second[0]
        # of independent sides (Zou and Donner 2008); for sides on the same texts the interval is too wide
        low, high = difference - np.hypot(first[1], second[2]), difference + np.hypot(first[2], second[1])
        verdict = verdict_of(one["test"], float(one.get("margin", 0)), difference, low, high)
        kept = {name: one[name] for name in ("source", "conclusion", "test", "basis")}
        rows.append({**kept, "difference": difference, "low": low, "high": high, "verdict": verdict})
    return typed(rows, CONCLUSIONS)


def _side(wanted: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Side:
    """The mean of the rows and of their half widths, which is that of rows on the same texts at the worst."""
    if "value" in wanted:
        return float(wanted["value"]), 0.0, 0.0
    table = tables[wanted["table"]]
    keys = [name for name in _COLUMNS if name in wanted]
    rows = table[(table[keys] == pd.Series({name: wanted[name] for name in keys})).all(axis=1) & table["value"].notna()]
    if rows.empty:
        raise KeyError(f"{wanted['table']}: {', '.join(str(wanted[name]) for name in keys)}")
    value = rows["value"]
    return float(value.mean()), float((value - rows["low"]).mean()), float((rows["high"] - value).mean())


def verdict_of(test: str, margin: float, difference: float, low: float, high: float) -> str:
    """Whether a difference with its interval shows what a conclusion says; without an interval nothing can be told."""
    if np.isnan([difference, low, high]).any():
        return UNTOLD
    holds, fails = {
        "more": (low > 0, high < 0),
        "as much": (low > -margin, high < -margin),
        "same": (-margin < low and high < margin, low > margin or high < -margin),
    }[test]
    return HOLDS if holds else FAILS if fails else UNTOLD


def conclusions_text(table: pd.DataFrame, titles: Mapping[str, str], sources: Sequence[str]) -> str:
    """The table as Markdown, by paper."""
    lines = ["| paper | conclusion | difference here | verdict | basis |", "|---|---|---|---|---|"]
    for source in sources:
        for row in table[table["source"] == source].to_dict("records"):
            shown = f"{row['difference']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
            lines.append(f"| {titles[source]} | {row['conclusion']} | {shown} | {row['verdict']} | {row['basis']} |")
    return "\n".join(lines)
