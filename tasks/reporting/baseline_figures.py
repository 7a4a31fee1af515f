"""Figures of the symptom predictors: SimSUM's Fig. 10, F1 by evidence setting, and reliability curves."""

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from tasks.reporting.style import COLOURS, SETTINGS

EMBEDDINGS = ("hist", "phys", "mean", "concat", "span")
EVIDENCE = ("all", "no-sympt", "realistic")


def embedding_types(table: pd.DataFrame) -> Figure | None:
    """F1 of neural-text by embedding type and symptom, one panel per note version (SimSUM, Fig. 10)."""
    rows = _f1(table[table["system"] == "neural-text"])
    panels = [(f"{version} notes", [f"{version}/{e}" for e in EMBEDDINGS]) for version in ("normal", "compact")]
    return _bars(rows, "condition", panels, EMBEDDINGS)


def evidence_settings(table: pd.DataFrame) -> Figure | None:
    """F1 by evidence setting and symptom, one panel per model with tabular features."""
    rows = _f1(table)
    rows = rows.assign(key=rows["system"] + "|" + rows["condition"])
    panels = [
        (
            system if not version else f"{system}, {version[:-1]} notes",
            [f"{system}|{version}{setting}" for setting in EVIDENCE],
        )
        for system, version in (
            ("BN-tab", ""),
            ("XGBoost-tab", ""),
            ("neural-text-tab", "normal/"),
            ("BN-text", "normal/"),
        )
    ]
    return _bars(rows, "key", panels, EVIDENCE)


def reliability(table: pd.DataFrame) -> Figure | None:
    """Observed frequency against predicted probability by bin, pooled over symptoms, one panel per model.

    The area of a marker is proportional to the number of predictions in the bin.
    """
    chosen = [
        (("BN-tab", "all"), "BN-tab, all"),
        (("XGBoost-tab", "all"), "XGBoost-tab, all"),
        (("neural-text", "normal/mean"), "neural-text, normal"),
        (("BN-text", "normal/realistic"), "BN-text, normal, realistic"),
    ]
    parts = [(title, _pooled(table[(table["system"] == s) & (table["condition"] == c)])) for (s, c), title in chosen]
    parts = [(title, part) for title, part in parts if len(part)]
    if not parts:
        return None
    with rc_context(SETTINGS):
        figure = Figure(figsize=(2.6 * len(parts), 2.7))
        for place, (title, bins) in enumerate(parts):
            axes = figure.add_subplot(1, len(parts), place + 1)
            axes.plot([0, 1], [0, 1], color="#8fa1b1", linewidth=0.8)
            axes.plot(bins["predicted"], bins["observed"], color=COLOURS[0], linewidth=1)
            axes.scatter(bins["predicted"], bins["observed"], s=8 + 240 * bins["n"] / bins["n"].sum(), color=COLOURS[0])
            axes.set(title=title, xlabel="predicted probability", ylabel="observed frequency" if place == 0 else "")
            axes.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05))
        figure.tight_layout()
    return figure


def _pooled(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean predicted probability and observed frequency of each bin over all symptoms and values, weighted by n."""
    filled = rows[rows["n"] > 0]
    sums = filled[["predicted", "observed"]].mul(filled["n"], axis=0).assign(bin=filled["bin"], n=filled["n"])
    sums = sums.groupby("bin", as_index=False).sum()
    return sums.assign(predicted=sums["predicted"] / sums["n"], observed=sums["observed"] / sums["n"])


def _f1(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["metric"] == "f1") & table["value"].notna()]


def _bars(rows: pd.DataFrame, key: str, panels: list[tuple[str, list[str]]], labels: tuple[str, ...]) -> Figure | None:
    """Grouped bars with intervals: symptoms along x, one colour per label."""
    panels = [(title, keys) for title, keys in panels if rows[key].isin(keys).any()]
    if not panels:
        return None
    symptoms = sorted(set(rows["item"]) - {"all", "mean"})
    with rc_context(SETTINGS):
        figure = Figure(figsize=(max(3.0 * len(panels), 4.5), 2.9))
        for place, (title, keys) in enumerate(panels):
            axes = figure.add_subplot(1, len(panels), place + 1)
            for number, (one, label) in enumerate(zip(keys, labels, strict=True)):
                part = rows[rows[key] == one].set_index("item").reindex(symptoms)
                x = [s + (number - (len(labels) - 1) / 2) * 0.8 / len(labels) for s in range(len(symptoms))]
                spread = [(part["value"] - part["low"]).clip(lower=0), (part["high"] - part["value"]).clip(lower=0)]
                axes.bar(x, part["value"], 0.76 / len(labels), yerr=spread, label=label, color=COLOURS[number],
                         error_kw={"elinewidth": 0.6, "ecolor": "#1d2733"})  # fmt: skip
            axes.set_xticks(range(len(symptoms)), symptoms, rotation=25, fontsize=7)
            axes.set(title=title, ylabel="F1" if place == 0 else "", ylim=(0, 1))
        figure.axes[-1].legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.tight_layout()
    return figure
