"""An evaluation as text for the terminal: the main metrics of each system, and the differences beyond chance."""

from collections.abc import Sequence

import pandas as pd

from tasks.reporting.numbers import number, percent

MAIN: dict[str, str] = {
    "claim_recall": "claim recall",
    "claim_precision": "claim precision",
    "citation_recall": "citation recall",
    "citation_precision": "citation precision",
    "omission_share": "facts omitted",
    "omission_weight": "omission weight",
    "qa_free_text": "questions",
    "qa_multiple_choice": "questions, choices",
    "rouge1_f": "ROUGE-1",
    "rouge2_f": "ROUGE-2",
    "rougeLsum_f": "ROUGE-L",
    "bertscore_f1": "BERTScore",
}
"""The metrics that are shown first, with their labels, in order."""
SHARES = frozenset(
    [
        *("claim_recall", "claim_precision", "citation_recall", "citation_precision"),
        *("omission_share", "qa_free_text", "qa_multiple_choice"),
    ]
)
_SHOWN = 12
_LABEL, _CELL = 20, 22


def main_table(metrics: pd.DataFrame, systems: Sequence[str]) -> tuple[list[str], list[tuple[str, list[dict | None]]]]:
    """Labels of the main metrics that were measured, and for each system their rows (None where it has none)."""
    whole = metrics[(metrics["item"] == "all") & metrics["metric"].isin(MAIN) & metrics["value"].notna()]
    rows = {(row["system"], row["metric"]): row for row in whole.to_dict("records")}
    names = [name for name in MAIN if any((system, name) in rows for system in systems)]
    return names, [(system, [rows.get((system, name)) for name in names]) for system in systems]


def shown(metric: str, value: float) -> str:
    """A value in the form of its metric: percent for shares."""
    return percent(value) if metric in SHARES else number(value)


def summary_text(
    metrics: pd.DataFrame, comparisons: pd.DataFrame, systems: Sequence[str], *, unscored: int, fewest: int
) -> str:
    """Means over documents with 95% intervals, and paired differences beyond chance (5% family-wise).

    ``unscored``: number of failed judgements; ``fewest``: differences on fewer documents are not tested.
    """
    names, rows = main_table(metrics, systems)
    lines = [f"[{number}] {system}" for number, system in enumerate(systems, 1)]
    lines += ["", " " * _LABEL + "".join(f"{f'[{number}]':<{_CELL}}" for number in range(1, len(systems) + 1)).rstrip()]
    for place, name in enumerate(names):
        cells = "".join(f"{_cell(name, row[place]):<{_CELL}}" for _, row in rows)
        lines.append(f"{MAIN[name]:<{_LABEL}}{cells}".rstrip())
    lines += [
        "",
        f"means over documents with 95% bootstrap intervals; failed judgements: {unscored} (tables/unscored.csv)",
    ]
    return "\n".join([*lines, *_differences(comparisons, fewest)])


def _cell(metric: str, row: dict | None) -> str:
    if row is None:
        return "–"
    low, high = shown(metric, row["low"]), shown(metric, row["high"])
    return f"{shown(metric, row['value'])} ({low.rstrip('%')}–{high.rstrip('%')})"


def _differences(comparisons: pd.DataFrame, fewest: int) -> list[str]:
    if not len(comparisons):
        return []
    if (comparisons["n"] < fewest).all():
        return ["", f"paired comparisons: {len(comparisons)}; not tested, as this takes at least {fewest} documents"]
    changed = comparisons[comparisons["changed"].astype(bool) & (comparisons["item"] == "all")]
    lines = [
        "",
        f"paired comparisons: {len(comparisons)}; beyond chance (5% family-wise) on whole texts: {len(changed)}",
    ]
    for row in changed.sort_values(["p", "system_a", "system_b", "metric"]).head(_SHOWN).itertuples():
        lines.append(
            f"  {row.system_b} against {row.system_a}, {row.metric}: {row.difference:+.3f} "
            f"[{row.low:+.3f}, {row.high:+.3f}], p {row.p:.3f}, n {row.n}"
        )
    rest = len(changed) - _SHOWN
    return [*lines, *([f"  ... and {rest} more in tables/comparisons.csv"] if rest > 0 else [])]
