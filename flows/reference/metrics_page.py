"""The page of metrics: each table of the report with its metrics, from captions.yaml, columns.yaml and the tables."""

from pathlib import Path

import pandas as pd

from flows.engine.tables import read_table
from flows.reference.markdown import code, table
from schemas.tables.metrics import METRICS
from tasks.reporting.content import captions, meanings, percent_metrics

FOLDERS = ("reports/tables", "reports/published/tables")


def metrics_page(root: Path) -> str:
    """A section per group and a table of metrics per metric table that is committed."""
    parts = [
        "# Metrics\n",
        "Metric tables are CSV files in `reports/tables`; `reports/published/tables` holds those of the second "
        "pipeline. Every row has a value, a 95% interval, n, and the count of unscored records "
        "([columns](tables.md#metrics)). Shares are stored in 0-1 and displayed as percent.\n",
    ]
    group = None
    for stem, entry in captions().items():
        files = [root / folder / f"{stem}.csv" for folder in FOLDERS if (root / folder / f"{stem}.csv").exists()]
        if not files:
            continue
        if entry["group"] != group:
            group = entry["group"]
            parts.append(f"## {group}\n")
        parts.append(_table(stem, entry, files, root))
    return "\n".join(parts)


def _table(stem: str, entry: dict[str, str], files: list[Path], root: Path) -> str:
    named = ", ".join(code(file.relative_to(root).as_posix()) for file in files)
    metrics = sorted({metric for file in files for metric in _metrics(file)})
    known, shares = meanings(stem), percent_metrics(stem)
    rows = [(code(metric), "share" if metric in shares else "", known.get(metric, "")) for metric in metrics]
    listed = table(("metric", "", "description"), rows) if rows else ""
    return f"### {entry['title']}\n\n{entry['caption']} {named}\n\n{listed}"


def _metrics(file: Path) -> list[str]:
    header = pd.read_csv(file, nrows=0).columns.tolist()
    if header != list(METRICS.columns):
        return []
    return list(read_table(file, METRICS)["metric"].unique())
