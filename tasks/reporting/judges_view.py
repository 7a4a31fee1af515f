"""Several judges side by side: their figures of each system, how they agree, and the claims on which they split."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tasks.reporting.display import settings
from tasks.reporting.evaluation_text import SHARES, described, main_table, shown
from tasks.reporting.tables_view import metric_view
from tasks.statistics.panels import PANEL

AGREEMENT = "judge_agreement"
SPLITS = 200
"""Most split claims that are shown."""


def judges_view(tables: Mapping[str, pd.DataFrame], systems: Sequence[str]) -> dict[str, Any] | None:
    """What the page shows of several judges; None for an evaluation by one. ``tables``: by file stem."""
    if "by_judge" not in tables:
        return None
    verdicts, agreement = tables["verdicts_by_judge"], tables[AGREEMENT]
    columns = settings("columns.yaml")
    judges = list(dict.fromkeys(verdicts["judge"]))
    splits = split_cases(verdicts, judges)
    return {
        "judges": judges,
        **_side_by_side(tables["by_judge"], systems),
        "agreement": metric_view(agreement, columns["metrics"], columns["percent"]),
        "families": bool((agreement["metric"] == "same_family_gain").any()),
        "splits": splits.head(SPLITS).to_dict("records"),
        "split": len(splits),
    }


def _side_by_side(metrics: pd.DataFrame, systems: Sequence[str]) -> dict[str, Any]:
    """Rows by system and judge with the cells of each main metric."""
    order = [name for name in dict.fromkeys(metrics["condition"]) if name != PANEL]
    order += [PANEL] if (metrics["condition"] == PANEL).any() else []
    of = {judge: main_table(metrics[metrics["condition"] == judge], systems) for judge in order}
    labels = list(dict.fromkeys(name for names, _ in of.values() for name in names))
    rows = []
    for place, system in enumerate(systems):
        for judge in order:
            names, cells = of[judge]
            found = dict(zip(names, cells[place][1], strict=True))
            rows.append((system, judge, [_cell(found.get(name)) for name in labels]))
    return {"metrics": [described(name) for name in labels], "rows": rows}


def _cell(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    metric, low, high = row["metric"], row["low"], row["high"]
    interval = f"{shown(metric, low)} to {shown(metric, high)}" if low == low else "no interval"
    return {"value": shown(metric, row["value"]), "interval": interval, "n": row["n"], "unscored": row["unscored"]}


def split_cases(verdicts: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """VERDICTS_BY_JUDGE on which judges differ: document, system, metric, text and verdicts, in order of ``judges``."""
    key = ["stage", "document", "system", "item", "metric", "case", "text"]
    wide = verdicts.pivot(index=key, columns="judge", values="judged").reindex(columns=list(judges))
    differ = wide[wide.nunique(axis=1) > 1]
    words = {True: "yes", False: "no"}
    said = [[words.get(one, "failed") if pd.notna(one) else "failed" for one in row] for row in differ.to_numpy()]
    return differ.index.to_frame(index=False)[["document", "system", "metric", "text"]].assign(verdicts=said)


def judges_text(tables: Mapping[str, pd.DataFrame], systems: Sequence[str]) -> list[str]:
    """The judges' figures for the terminal, a line by metric and system; none for an evaluation by one judge."""
    if "by_judge" not in tables or tables["verdicts_by_judge"]["judge"].nunique() < 2:
        return []
    metrics = tables["by_judge"]
    chosen = metrics[(metrics["item"] == "all") & metrics["metric"].isin(SHARES) & metrics["system"].isin(systems)]
    lines = ["", "by judge (tables/by_judge.csv, tables/judge_agreement.csv):"]
    for (metric, system), rows in chosen.groupby(["metric", "system"], sort=True):
        said = [f"{row.condition} {_short(row)}" for row in rows.itertuples()]
        lines.append(f"  {described(str(metric))['label']}, {system}: {'; '.join(said)}")
    return lines


def _short(row: Any) -> str:
    n = f"n {row.n}" + (f"/{row.n + row.unscored}" if row.unscored else "")
    return f"{shown(row.metric, row.value)} ({n})" if row.n else f"– ({n})"
