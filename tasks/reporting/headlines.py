"""Headline figures of a lineage, for `dvc exp show`, `dvc metrics diff` and `dvc plots`."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tasks.measures.described import SHARES
from tasks.measures.report import report
from tasks.reporting.display import settings

FIGURES: Mapping[str, Mapping[str, list[str]]] = settings("headlines.yaml")["figures"] | report("headlines")
SETTINGS: Mapping[str, str] = settings("headlines.yaml")["settings"]


def headlines(tables: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, float]]:
    """Figures by group and name, from metric tables by stem; absent figures are skipped. Shares are in 0-1.

    ``f1`` is the mean over symptoms of a predictor's F1 (macro for more than two values).
    """
    rows = {group: {name: first_row(tables, *key) for name, key in of.items()} for group, of in FIGURES.items()}
    found = {group: {name: row["value"] for name, row in of.items() if row is not None} for group, of in rows.items()}
    f1 = mean_f1(tables["baselines"]).set_index("setting")["f1"]
    chosen = {system: f"{system} {condition}" for system, condition in SETTINGS.items()}
    found["f1"] = {system: f1[setting] for system, setting in chosen.items() if setting in f1}
    return {
        group: {name: float(f"{value:.4g}") for name, value in of_group.items()}
        for group, of_group in found.items()
        if of_group
    }


def with_intervals(tables: Mapping[str, pd.DataFrame]) -> dict[str, tuple[float, float, float]]:
    """The figures that are rows of these tables, by ``group/name``: value, and 95% interval, NaN where it has none."""
    found = {
        f"{group}/{name}": first_row(tables, *key)
        for group, of in FIGURES.items()
        for name, key in of.items()
        if key[0] in tables
    }
    return {name: tuple(row[["value", "low", "high"]].astype(float)) for name, row in found.items() if row is not None}


def first_row(tables: Mapping[str, pd.DataFrame], table: str, *key: str) -> "pd.Series[Any] | None":
    """The first row of METRICS with a value and this system, condition, item and metric; ``*`` is any."""
    rows = tables[table][tables[table]["value"].notna()]
    for column, wanted in zip(("system", "condition", "item", "metric"), key, strict=True):
        if wanted != "*":
            rows = rows[rows[column] == wanted]
    return rows.iloc[0] if len(rows) else None


def mean_f1(baselines: pd.DataFrame) -> pd.DataFrame:
    """F1 of each predictor and setting, mean over symptoms: columns setting, f1."""
    rows = baselines[(baselines["metric"] == "f1") & baselines["value"].notna()]
    means = rows.groupby(["system", "condition"])["value"].mean().reset_index()
    return pd.DataFrame({"setting": means["system"] + " " + means["condition"], "f1": means["value"]})


def reliability_curves(reliability: pd.DataFrame) -> pd.DataFrame:
    """Observed frequency of "yes" by bin of predicted probability, pooled over symptoms.

    Columns: ``predicted`` (bin centre) and one per predictor, in its representative setting.
    """
    bins = int(reliability["bin"].max()) + 1 if len(reliability) else 1
    chosen = reliability[
        (reliability["condition"] == reliability["system"].map(SETTINGS)) & (reliability["value"] == "yes")
    ]
    chosen = chosen.assign(share=chosen["observed"] * chosen["n"])
    sums = chosen.groupby(["bin", "system"])[["share", "n"]].sum()
    curves = (sums["share"] / sums["n"]).unstack("system")
    curves.insert(0, "predicted", (curves.index + 0.5) / bins)
    return curves.reset_index(drop=True)


def shares(figures: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Headline figures of measures and of the judge that are shares in 0-1, for a bar chart: columns measure, share."""
    known = {*SHARES, *settings("columns.yaml")["percent"]}
    rows = [
        (f"{group} {name}", figures[group][name])
        for group in (*report("headlines"), "judge")
        for name in figures.get(group, {})
        if group == "judge" or FIGURES[group][name][-1] in known
    ]
    return pd.DataFrame(rows, columns=["measure", "share"])
