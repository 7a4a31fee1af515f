"""Calibrate a judge with human labels of some of its verdicts: two estimates of the share that is true.

Prediction-powered inference (`tasks.statistics.prediction_powered`) uses the labelled items as a sample of all items.
The correction for error rates (`tasks.statistics.misclassification`) uses them as cases with known truth only.
"""

from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.evaluation.annotator.consistency_checks import verdict_rows
from tasks.evaluation.calibration.judge_rates import STAGE
from tasks.evaluation.calibration.judges import HUMAN_LABELS
from tasks.statistics.metric_rows import metric_row, metric_table
from tasks.statistics.misclassification import Stratum, corrected_mean
from tasks.statistics.prediction_powered import powered_mean

COLUMNS = ("item", "judged", "label")
_YES, _NO = ("1", "true", "yes"), ("0", "false", "no")


def read_labels(path: Path) -> pd.DataFrame:
    """Verdicts and labels of a CSV file, see `parse_labels`."""
    return parse_labels(str(path), path.read_text(encoding="utf-8"))


def parse_labels(name: str, text: str) -> pd.DataFrame:
    """Verdicts and labels of CSV text with the columns item, judged, label and, optionally, cluster (the note).

    ``judged`` is boolean; ``label`` is boolean, missing for items without a human label. Without the column cluster,
    each item is a cluster. Raises ValueError naming the file and the row for missing columns, duplicate items and
    values other than 0/1, true/false or yes/no.
    """
    raw = pd.read_csv(StringIO(text), dtype="str", keep_default_na=False)
    missing = [name for name in COLUMNS if name not in raw]
    if missing:
        raise ValueError(f"{name}: columns {', '.join(missing)} missing; found {', '.join(raw.columns)}")
    twice = raw.loc[raw["item"].duplicated(), "item"]
    if not twice.empty:
        raise ValueError(f"{name}: item {twice.iloc[0]!r} occurs more than once; keep one row per item")
    judged = [_flag(name, at, "judged", value) for at, value in enumerate(raw["judged"], 2)]
    labels = [_flag(name, at, "label", value) if value.strip() else None for at, value in enumerate(raw["label"], 2)]
    return pd.DataFrame(
        {
            "item": raw["item"],
            "judged": pd.array(judged, dtype="boolean"),
            "label": pd.array(labels, dtype="boolean"),
            "cluster": raw["cluster"] if "cluster" in raw else raw["item"],
        }
    )


def _flag(name: str, row: int, column: str, value: str) -> bool:
    written = value.strip().lower()
    if written not in (*_YES, *_NO):
        raise ValueError(f"{name}, row {row}, column {column}: found {value!r}; expected 0 or 1")
    return written in _YES


def label_rows(labels: pd.DataFrame, *, system: str, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS of one judge: share judged true, both estimates of the share that is true, and the errors it finds.

    ``labels`` has the columns item, judged, label and cluster (`read_labels`). ``effective_labels`` is the number of
    labels that would give the powered estimate's standard error without a judge.
    """
    known, other = labels[labels["label"].notna()], labels[labels["label"].isna()]
    truth, judged = known["label"].to_numpy(dtype=bool), known["judged"].to_numpy(dtype=bool)
    powered = powered_mean(
        truth,
        judged,
        other["judged"].to_numpy(dtype=bool),
        clusters=known["cluster"].to_numpy(),
        clusters_only=other["cluster"].to_numpy(),
    )
    clusters = known["cluster"].to_numpy()
    corrected = corrected_mean(
        labels.groupby("cluster")["judged"].sum(),
        [Stratum(judged[truth], clusters[truth])],
        [Stratum(judged[~truth], clusters[~truth])],
        seed=seed,
        ceilings=labels.groupby("cluster").size(),
    )
    size = len(labels) / max(labels["cluster"].nunique(), 1)  # mean items a cluster: sums back to shares
    share = float(labels["judged"].mean()) if len(labels) else float("nan")
    rows = [
        metric_row("judged_share", share, n=len(labels)),
        metric_row("powered_share", powered.value, powered.low, powered.high, n=len(known)),
        metric_row("effective_labels", powered.effective_labels, n=len(known)),
        metric_row(
            "corrected_share", corrected.value / size, corrected.low / size, corrected.high / size, n=len(labels)
        ),
        metric_row("corrected_share_identified", float(corrected.inside), n=len(known)),
        metric_row("labelled_share", float(np.mean(truth)) if len(known) else float("nan"), n=len(known)),
    ]
    about = {"stage": STAGE, "system": system, "seed": seed, "provenance": provenance}
    kinds = np.where(truth, "none", "labelled false")
    errors = verdict_rows(pd.DataFrame({"check": HUMAN_LABELS, "kind": kinds, "flagged": ~judged}), **about)  # type: ignore[arg-type]
    return pd.concat([metric_table(rows, condition=HUMAN_LABELS, item="all", **about), errors], ignore_index=True)
