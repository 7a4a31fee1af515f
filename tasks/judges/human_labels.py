"""Human labels of some of a judge's verdicts: two estimates of the share that is true, and the errors it finds.

Prediction-powered inference (`tasks.statistics.prediction_powered`) uses the labelled items as a sample of all items.
The correction for error rates (`tasks.statistics.misclassification`) uses them as cases with known truth only.
"""

from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.errors import SourceError
from tasks.judges.rates import sample_rows, verdict_rows
from tasks.statistics.metric_rows import NAN, mean_row, metric_row, metric_table
from tasks.statistics.misclassification import corrected_mean
from tasks.statistics.prediction_powered import powered_share
from tasks.transport.untrusted import read_bytes

STAGE, LABELS = "human_labels", "human labels"
COLUMNS = ("item", "judged", "label")
TAKE = "take"
"""Column that numbers the times that the same was asked."""
_YES, _NO = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no")
"""With the form in which pandas and spreadsheets save a column of numbers that has gaps."""


def read_labels(path: Path) -> pd.DataFrame:
    """Verdicts and labels of a CSV file, see `parse_labels`; raises SourceError for what is no file or no UTF-8."""
    try:
        return parse_labels(str(path), read_bytes(path).decode())
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not in UTF-8 ({error}); save the file in UTF-8") from error


def parse_labels(name: str, text: str) -> pd.DataFrame:
    """Verdicts and labels of CSV text with the columns item, judged, label and, optionally, cluster (the note).

    ``judged`` is boolean; ``label`` is boolean, missing for items without a human label. Without the column cluster,
    each item is a cluster, with its repeated takes if a column numbers them (`TAKE`). Raises ValueError naming the file
    and the row for missing columns, duplicate items and values other than 0/1 (or 0.0/1.0), true/false or yes/no.
    """
    raw = pd.read_csv(StringIO(text), dtype="str", keep_default_na=False)
    missing = [name for name in COLUMNS if name not in raw]
    if missing:
        raise ValueError(f"{name}: columns {', '.join(missing)} missing; found {', '.join(raw.columns)}")
    twice = raw.loc[raw.duplicated([one for one in ("item", TAKE) if one in raw]), "item"]
    if not twice.empty:
        said = f"keep one row per item, or number its takes in a column {TAKE}"
        raise ValueError(f"{name}: item {twice.iloc[0]!r} occurs more than once; {said}")
    judged = [_flag(name, at, "judged", value) for at, value in enumerate(raw["judged"], 2)]
    labels = [_flag(name, at, "label", value) if value.strip() else None for at, value in enumerate(raw["label"], 2)]
    flags = {"judged": pd.array(judged, dtype="boolean"), "label": pd.array(labels, dtype="boolean")}
    return pd.DataFrame({"item": raw["item"], **flags, "cluster": raw["cluster"] if "cluster" in raw else raw["item"]})


def _flag(name: str, row: int, column: str, value: str) -> bool:
    written = value.strip().lower()
    if written not in (*_YES, *_NO):
        raise ValueError(f"{name}, row {row}, column {column}: found {value!r}; expected 0 or 1")
    return written in _YES


def file_rows(path: Path, *, seed: int) -> pd.DataFrame:
    """METRICS of a CSV file of labels; the file's name is the judge. Raises ValueError, see `parse_labels`."""
    return label_rows(read_labels(path), system=path.stem, seed=seed, provenance=f"human labels of {path.name}")


def form_rows(labels: pd.DataFrame, kind: str, *, seed: int) -> pd.DataFrame:
    """METRICS of the labels of one ``kind`` of form (HUMAN_LABELS): how many there are, and `label_rows` where any.

    The condition names the kind; the system is what made the verdicts.
    """
    condition, judge = f"{LABELS}, {kind}", str(labels["provenance"].iloc[0]) if len(labels) else "none"
    about = {"condition": condition, "system": judge, "seed": seed, "provenance": f"{judge}; returned forms"}
    count = metric_row("labelled_items", int(labels["label"].notna().sum()), n=len(labels), item="all")
    rows = metric_table([count], stage=STAGE, **about)
    if not labels["label"].notna().any():
        return rows
    return pd.concat([rows, label_rows(labels, **about)], ignore_index=True)  # type: ignore[arg-type]


def label_rows(
    labels: pd.DataFrame, *, system: str, seed: int, provenance: str, condition: str = LABELS
) -> pd.DataFrame:
    """METRICS of one judge: share judged true, both estimates of the share that is true, and the errors it finds.

    ``labels`` has the columns item, judged, label and cluster (`read_labels`).
    """
    known, other = labels[labels["label"].notna()], labels[labels["label"].isna()]
    truth, judged = known["label"].to_numpy(dtype=bool), known["judged"].to_numpy(dtype=bool)
    clusters = known["cluster"].to_numpy()
    of = {"clusters": clusters, "clusters_only": other["cluster"].to_numpy()}
    powered = powered_share(truth, judged, other["judged"].to_numpy(dtype=bool), seed=seed, **of)
    sums, sizes = labels.groupby("cluster")["judged"].sum(), labels.groupby("cluster").size()
    corrected = corrected_mean(sums, truth, judged, clusters, seed=seed, ceilings=sizes)
    size = len(labels) / max(len(sizes), 1)  # mean items a cluster: sums back to shares
    shares = [corrected.value / size, corrected.low / size, corrected.high / size]
    rows = [
        mean_row("labelled_share", truth, clusters=clusters, seed=seed),
        metric_row("judged_share", float(labels["judged"].mean()) if len(labels) else NAN, n=len(labels)),
        metric_row("powered_share", *powered, n=len(known)),
        metric_row("corrected_share", *shares, n=len(labels)),
        metric_row("corrected_share_possible", float(corrected.inside), n=len(known)),
    ]
    about = {"stage": STAGE, "system": system, "seed": seed, "provenance": provenance}
    errors = pd.DataFrame({"check": condition, "flagged": ~judged, "error": ~truth, "cluster": clusters})
    kinds = np.where(truth, "none", "labelled false")
    rates = verdict_rows(errors.assign(kind=kinds), **about)  # type: ignore[arg-type]
    rates = rates[rates["metric"] != "precision_at_half"]  # the labelled items are a sample, with its own prevalence
    found = metric_table([*rows, *sample_rows(errors, seed=seed)], condition=condition, item="all", **about)
    return pd.concat([found, rates], ignore_index=True)
