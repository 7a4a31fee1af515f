"""Several judges side by side: their figures of each system, how they agree, and the claims on which they split."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from tasks.reporting.display import settings
from tasks.reporting.evaluation_text import SHARES, described, main_table, shown
from tasks.reporting.tables_view import block, cell, metric_view

SPLITS = 200
"""Most split claims that are shown."""


def judges_view(tables: Mapping[str, pd.DataFrame], systems: Sequence[str]) -> dict[str, Any] | None:
    """What the page shows of several judges; None for one, and where none had a case. ``tables``: by file stem."""
    if "judges" not in tables or tables["verdicts"].empty:
        return None
    verdicts, (figures, pairs) = tables["verdicts"], figures_and_pairs(tables["judges"])
    columns = settings("columns.yaml")
    judges = list(dict.fromkeys(verdicts["judge"]))
    splits = split_cases(verdicts, judges)
    by_judge: dict[tuple[str, ...], pd.DataFrame] = {(one,): figures[figures["condition"] == one] for one in judges}
    return {
        "judges": judges,
        "figures": {"n": "", "blocks": [main_block(["system", "judge"], by_judge, systems)]},
        "agreement": metric_view(pairs, columns["metrics"], columns["percent"]),
        "splits": splits.head(SPLITS).to_dict("records"),
        "split": len(splits),
    }


def figures_and_pairs(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the table ``judges`` by judge, and those on two judges."""
    of_two = table["metric"].isin(["kappa", "yes_difference", "p_value_adjusted", "p_value_scored"])
    return table[~of_two], table[of_two]


def main_block(
    named: Sequence[str], tables: Mapping[tuple[str, ...], pd.DataFrame], systems: Sequence[str]
) -> dict[str, Any]:
    """The main metrics of ``tables`` for each system; a table's name follows the system in the key of a row."""
    of = {key: main_table(table, systems) for key, table in tables.items()}
    labels = list(dict.fromkeys(name for names, _ in of.values() for name in names))
    rows = []
    for place, system in enumerate(systems):
        for key, (names, cells) in of.items():
            found = {name: row for name, row in zip(names, cells[place][1], strict=True) if row is not None}
            written = [cell(found[name], partial(shown, name)) if name in found else None for name in labels]
            rows.append({"key": [system, *key], "cells": written})
    return block(named, [described(name) for name in labels], rows)


def split_cases(verdicts: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """VERDICTS on which judges differ: document, system, metric, text and verdicts, in order of ``judges``."""
    key = ["document", "system", "condition", "item", "metric", "unit", "text"]
    wide = verdicts.pivot(index=key, columns="judge", values="value").astype("boolean").reindex(columns=list(judges))
    differ = wide[wide.nunique(axis=1) > 1]
    words = {True: "yes", False: "no"}
    said = [[words.get(one, "failed") if pd.notna(one) else "failed" for one in row] for row in differ.to_numpy()]
    return differ.index.to_frame(index=False)[["document", "system", "metric", "text"]].assign(verdicts=said)


def judges_text(tables: Mapping[str, pd.DataFrame], systems: Sequence[str]) -> list[str]:
    """The judges' figures and the kappa of every two, a line each; none for an evaluation by one judge."""
    if "judges" not in tables or tables["verdicts"].empty:
        return []
    figures, pairs = figures_and_pairs(tables["judges"])
    chosen = figures[(figures["item"] == "all") & figures["metric"].isin(SHARES) & figures["system"].isin(systems)]
    lines = ["", "by judge (tables/judges.csv, and each verdict in tables/verdicts.csv):"]
    for (metric, system), rows in chosen.groupby(["metric", "system"], sort=True):
        said = [f"{row.condition} {_short(row)}" for row in rows.itertuples()]
        lines.append(f"  {described(str(metric))['label']}, {system}: {'; '.join(said)}")
    for row in pairs[pairs["metric"] == "kappa"].itertuples():
        value = "not defined, as both always say the same" if pd.isna(row.value) else f"{row.value:.2f}"
        lines.append(f"  kappa, {described(row.item)['label']}, {row.system} {row.condition}: {value} (n {row.n})")
    return lines


def _short(row: Any) -> str:
    n = f"n {row.n}" + (f"/{row.n + row.unscored}" if row.unscored else "")
    return f"{shown(row.metric, row.value)} ({n})" if row.n else f"– ({n})"
