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
from tasks.reproduction.published import papers
from tasks.reproduction.sides import coin_passes, larger, share_of_pairs, side

HOLDS, FAILS, UNTOLD = "holds", "does not hold", "cannot be told"
NULL = 0.025
"""Share of results at the border of a conclusion whose 95% interval lies beyond it."""


@cache
def _read() -> dict[str, list[dict[str, Any]]]:
    loaded: dict[str, list[dict[str, Any]]] = yaml.safe_load(
        files("tasks.reproduction").joinpath("conclusions.yaml").read_text("utf-8")
    )
    return loaded


def entries() -> list[dict[str, Any]]:
    """The conclusions of conclusions.yaml that a test decides."""
    return _read()["decided"]


def undecided() -> list[dict[str, Any]]:
    """The conclusions of conclusions.yaml that nothing here decides: source, conclusion, needs."""
    return _read()["undecided"]


def tables_needed() -> list[str]:
    """Names of the metric tables, such as ``published/baselines_text``."""
    return sorted(
        {str(one[side]["table"]) for one in entries() for side in ("first", "second") if "table" in one[side]}
    )


def conclusions(
    tables: Mapping[str, pd.DataFrame], listed: Sequence[Mapping[str, Any]] | None = None, *, strict: bool = True
) -> pd.DataFrame:
    """CONCLUSIONS from METRICS by name, for the ``listed`` entries, by default those of conclusions.yaml.

    Raises ValueError naming the conclusion for rows that a table lacks; if not ``strict``, it cannot be told.
    """
    return typed([_row(one, tables, strict) for one in (entries() if listed is None else listed)], CONCLUSIONS)


def _row(one: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], strict: bool) -> dict[str, Any]:
    kept = {name: one[name] for name in ("source", "conclusion", "test", "basis")}
    margin = float(one.get("margin", 0))
    try:
        difference, low, high, n = _compared(one, tables)
    except KeyError as error:
        if strict:
            raise ValueError(
                f"conclusions.yaml, {one['conclusion']}: no row of table {error}; name one that it has"
            ) from error
        difference, low, high, n = np.nan, np.nan, np.nan, 0
    null = np.nan if np.isnan([low, high]).any() else coin_passes(n) if one["test"] == "pairs" else NULL
    verdict = verdict_of(one["test"], margin, difference, low, high)
    found = {"margin": margin, "difference": difference, "low": low, "high": high, "n": n, "null_pass": null}
    return {**kept, **found, "verdict": verdict}


def _compared(one: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> tuple[float, float, float, int]:
    """Difference, its interval, and n."""
    if one["test"] == "pairs":
        hits, pairs = larger(one["first"], one["second"])
        share, low, high = share_of_pairs(hits, pairs)
        return share - 0.5, low - 0.5, high - 0.5, pairs
    first, second = (side(one[name], tables) for name in ("first", "second"))
    difference = first.value - second.value
    # of independent sides (Zou and Donner 2008); for sides on the same texts the interval is too wide
    low, high = difference - np.hypot(first.below, second.above), difference + np.hypot(first.above, second.below)
    return difference, float(low), float(high), min(n for n in (first.n, second.n) if n)


def verdict_of(test: str, margin: float, difference: float, low: float, high: float) -> str:
    """Whether a difference with its interval shows what a conclusion says; without an interval nothing can be told."""
    if np.isnan([difference, low, high]).any():
        return UNTOLD
    holds, fails = {
        "more": (low > 0, high < 0),
        "pairs": (low > 0, high < 0),
        "as much": (low > -margin, high < -margin),
        "same": (-margin < low and high < margin, low > margin or high < -margin),
    }[test]
    return HOLDS if holds else FAILS if fails else UNTOLD


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
    """One sentence of how many conclusions hold, of how many; and how many nothing decides."""
    of = table["verdict"].value_counts()
    said = [f"{of.get(verdict, 0)} {words}" for verdict, words in _SAID.items()]
    return f"Of {len(table)} conclusions of the papers, {', '.join(said)}; {len(undecided())} more are not decided."


def short_titles() -> dict[str, str]:
    """Name of each paper by source: its title up to the colon."""
    return {source: title.partition(":")[0] for source, title in papers().items()}


_SAID = {HOLDS: "hold here", FAILS: "do not", UNTOLD: "cannot be told"}


def conclusions_text(table: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The table as Markdown, by paper, and the conclusions that nothing here decides."""
    names = ["paper", "conclusion", "test", "difference here", "n", "null", "verdict", "basis"]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for source in titles:
        for row in table[table["source"] == source].to_dict("records"):
            null = "-" if pd.isna(row["null_pass"]) else f"{row['null_pass']:.3f}"
            cells = [titles[source], row["conclusion"], tested(row), shown(row), f"{row['n']:,}", null]
            lines.append(f"| {' | '.join([*cells, row['verdict'], row['basis']])} |")
    lines += ["", "Nothing here decides:", "", "| paper | conclusion | what is missing |", "|---|---|---|"]
    for source in titles:
        found = [one for one in undecided() if one["source"] == source]
        lines += [f"| {titles[source]} | {one['conclusion']} | {one['needs']} |" for one in found]
    return "\n".join(lines)
