"""Headline figures of a lineage, for `dvc exp show`, `dvc metrics diff` and `dvc plots`."""

from collections.abc import Mapping

import pandas as pd

Key = tuple[str, str, str, str, str]

FIGURES: dict[str, dict[str, Key]] = {
    # group: name: table, system, condition, item, metric
    "notes": {
        "rewritten": ("filtering", "*", "check", "all", "flagged_first"),
        "spans": ("span_statistics", "spans", "normal", "all", "spans_per_note"),
    },
    "doclens": {
        "claim_recall": ("doclens", "compact notes", "*", "all", "claim_recall"),
        "claim_precision": ("doclens", "compact notes", "*", "all", "claim_precision"),
        "citation_recall": ("doclens", "cited compact notes", "*", "all", "citation_recall"),
    },
    "med_omit": {
        "omitted": ("med_omit", "compact notes", "*", "all", "omission_share"),
        "weight": ("med_omit", "compact notes", "*", "all", "omission_weight"),
    },
    "note_qa": {
        "normal": ("note_qa", "answerer", "multiple_choice/normal", "all", "accuracy"),
        "compact": ("note_qa", "answerer", "multiple_choice/compact", "all", "accuracy"),
        "none": ("note_qa", "answerer", "multiple_choice/none", "all", "accuracy"),
    },
    "judge": {
        "precision": ("calibration", "judge", "entailment", "all", "precision"),
        "recall": ("calibration", "judge", "entailment", "all", "recall"),
    },
}

SETTINGS = {
    "BN-tab": "all",
    "XGBoost-tab": "all",
    "neural-text": "normal/mean",
    "neural-text-tab": "normal/all",
    "BN-text": "normal/all",
}
"""Representative setting of each predictor: all evidence and the whole normal note."""


def headlines(tables: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, float]]:
    """Figures by group and name, from metric tables by stem; absent figures are skipped. Shares are in 0-1.

    ``f1`` is the mean over symptoms of a predictor's F1 (macro for more than two values).
    """
    figures = {
        group: {name: value for name, key in wanted.items() if (value := _find(tables, key)) is not None}
        for group, wanted in FIGURES.items()
    }
    f1 = mean_f1(tables["baselines"]).set_index("setting")["f1"]
    figures["f1"] = {
        system: float(f1[f"{system} {condition}"])
        for system, condition in SETTINGS.items()
        if f"{system} {condition}" in f1.index
    }
    return {
        group: {name: float(f"{value:.4g}") for name, value in found.items()}
        for group, found in figures.items()
        if found
    }


def _find(tables: Mapping[str, pd.DataFrame], key: Key) -> float | None:
    rows = tables[key[0]]
    for column, wanted in zip(("system", "condition", "item", "metric"), key[1:], strict=True):
        if wanted != "*":
            rows = rows[rows[column] == wanted]
    values = rows["value"].dropna()
    return float(values.iloc[0]) if len(values) else None


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
    """Headline figures that are shares in 0-1, for a bar chart: columns measure, share."""
    rows = [
        (f"{group} {name}", figures[group][name])
        for group in ("doclens", "med_omit", "judge")
        for name in figures.get(group, {})
        if name != "weight"
    ]
    return pd.DataFrame(rows, columns=["measure", "share"])
