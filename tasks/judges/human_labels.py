"""Human labels of some of a judge's verdicts: two estimates of the share that is true, and the errors it finds.

Prediction-powered inference (`tasks.statistics.prediction_powered`) uses the labelled items as a sample of all items.
The correction for error rates (`tasks.statistics.misclassification`) uses them as cases with known truth only.
"""

from io import StringIO
from pathlib import Path

import pandas as pd

from schemas.errors import SourceError
from schemas.tables.verdicts import PERSON, verdict_table
from tasks.judges.rates import rate_rows
from tasks.statistics.metric_rows import NAN, mean_row, metric_row, metric_table
from tasks.statistics.misclassification import corrected_mean
from tasks.statistics.prediction_powered import powered_share
from tasks.texts.document import WHOLE
from tasks.texts.files import read_rows

STAGE, LABELS = "human_labels", "human labels"
COLUMNS = ("item", "judged", "label")
JUDGED = "verdicts.csv"
"""File in the folder of an evaluation's sheets, with verdict, metric and system by item: people do not see them."""
TAKE = "take"
"""Column that numbers the times that the same was asked."""
_YES, _NO = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no")
"""With the form in which pandas and spreadsheets save a column of numbers that has gaps."""


def read_labels(path: Path, encoding: str | None = None) -> pd.DataFrame:
    """VERDICTS of a sheet, see `parse_labels`; raises SourceError for what cannot be read."""
    return parse_labels(str(path), with_verdicts(path, _as_csv(path, encoding)))


def _as_csv(path: Path, encoding: str | None) -> str:
    """A sheet as CSV text with commas, however a spreadsheet saved it. Raises SourceError, see `read_rows`."""
    rows = [dict(row.values) for row in read_rows(path, encoding=encoding).rows]
    if not rows:
        raise SourceError(f"{path}: no label, as there are no rows; expected the columns {', '.join(COLUMNS)}")
    return pd.DataFrame(rows).to_csv(index=False, lineterminator="\r\n")  # quotes cells with either


def with_verdicts(path: Path, text: str) -> str:
    """CSV text of a sheet of `vignette evaluate`, with the column judged from the file JUDGED of its folder.

    Raises SourceError for an item without a verdict and for items of two sheets. Other tables are as they were.
    """
    if (kept := _kept(path)) is None:
        return text
    try:
        raw = pd.read_csv(StringIO(text), dtype="str", keep_default_na=False)
    except ValueError:  # which `parse_labels` names
        return text
    if "judged" in raw or "item" not in raw:
        return text
    judged = raw["item"].map(kept.set_index("item")["judged"])
    if judged.isna().any():
        item = raw["item"][judged.isna()].iloc[0]
        raise SourceError(
            f"{path}: item {item!r} is not in {path.parent / JUDGED}; expected a sheet of the same evaluation"
        )
    own = kept[kept["item"].isin(raw["item"])].reindex(columns=["metric", "system"]).drop_duplicates()
    if len(own) > 1:
        named = " and ".join(f"{metric} of system {system}" for metric, system in own.to_numpy()[:2])
        raise SourceError(f"{path}: holds items of {named}; keep a file for each sheet, as shares and rates are of one")
    return raw.assign(judged=judged).to_csv(index=False)


def _kept(path: Path) -> pd.DataFrame | None:
    """The verdicts by item in the folder of a sheet; None where there are none, or the file is another program's."""
    try:
        found = pd.read_csv(path.parent / JUDGED, dtype="str", keep_default_na=False)
    except (OSError, ValueError):
        return None
    return found if {"item", "judged"} <= {*found} and found["item"].is_unique else None


def sheet_of(path: Path, encoding: str | None = None) -> tuple[str, str] | None:
    """Metric and system of a sheet of `vignette evaluate`, by the file JUDGED of its folder; None for other tables."""
    if (kept := _kept(path)) is None:
        return None
    items = pd.read_csv(StringIO(_as_csv(path, encoding)), dtype="str", keep_default_na=False)["item"]
    own = kept[kept["item"].isin(items)].reindex(columns=["metric", "system"]).dropna()
    return None if own.empty else (own["metric"].iloc[0], own["system"].iloc[0])


def parse_labels(name: str, text: str) -> pd.DataFrame:
    """VERDICTS of CSV text with the columns item, judged, label and, optionally, cluster (the note, their document).

    The truth is the label, missing for items without one. Without the column cluster, each item is a document, with its
    repeated takes if a column numbers them (`TAKE`). Raises ValueError naming the file and the row for missing columns,
    duplicate items and values other than 0/1 (or 0.0/1.0), true/false or yes/no.
    """
    raw = pd.read_csv(StringIO(text), dtype="str", keep_default_na=False)
    missing = [name for name in COLUMNS if name not in raw]
    if missing:
        where = f"; a sheet of an evaluation is read in its folder, beside {JUDGED}" if missing == ["judged"] else ""
        raise ValueError(f"{name}: columns {', '.join(missing)} missing; found {', '.join(raw.columns)}{where}")
    twice = raw.loc[raw.duplicated([one for one in ("item", TAKE) if one in raw]), "item"]
    if not twice.empty:
        said = f"keep one row per item, or number its takes in a column {TAKE}"
        raise ValueError(f"{name}: item {twice.iloc[0]!r} occurs more than once; {said}")
    rows = []
    for at, row in enumerate(raw.to_dict("records"), 2):
        about = {"document": row.get("cluster", row["item"]), "system": LABELS, "item": WHOLE, "metric": LABELS}
        about |= {"condition": row.get(TAKE, LABELS), "unit": row["item"], "text": ""}
        label = float(_flag(name, at, "label", row["label"])) if row["label"].strip() else None
        rows.append({**about, "value": float(_flag(name, at, "judged", row["judged"])), "truth": label})
    return verdict_table(rows, judge=Path(name).stem)


def _flag(name: str, row: int, column: str, value: str) -> bool:
    written = value.strip().lower()
    if written not in (*_YES, *_NO):
        raise ValueError(f"{name}, row {row}, column {column}: found {value!r}; expected 0 or 1")
    return written in _YES


def file_rows(path: Path, *, seed: int, encoding: str | None = None) -> pd.DataFrame:
    """METRICS of a CSV file of labels; the file's name is the judge. Raises ValueError, see `parse_labels`."""
    if not (labels := read_labels(path, encoding))["truth"].notna().any():
        raise SourceError(f"{path}: no label; enter 1 or 0 in the column label, from the top")
    return label_rows(labels, system=path.stem, seed=seed, provenance=f"human labels of {path.name}")


def form_rows(labels: pd.DataFrame, kind: str, *, seed: int) -> pd.DataFrame:
    """METRICS of the labels of one ``kind`` of form: how many there are, and `label_rows` where any.

    ``labels``: VERDICTS of a judge with people's labels as truth, and of people. The condition names the kind; the
    system is the judge.
    """
    labels = labels[labels["kind"] != PERSON]
    condition, judge = f"{LABELS}, {kind}", str(labels["judge"].iloc[0]) if len(labels) else "none"
    about = {"condition": condition, "system": judge, "seed": seed, "provenance": f"{judge}; returned forms"}
    count = metric_row("labelled_items", int(labels["truth"].notna().sum()), n=len(labels), item="all")
    rows = metric_table([count], stage=STAGE, **about)
    if not labels["truth"].notna().any():
        return rows
    return pd.concat([rows, label_rows(labels, **about)], ignore_index=True)  # type: ignore[arg-type]


def label_rows(
    labels: pd.DataFrame, *, system: str, seed: int, provenance: str, condition: str = LABELS
) -> pd.DataFrame:
    """METRICS of one judge: share judged true, both estimates of the share that is true, and its rates.

    ``labels``: its VERDICTS, whose truth is what people say, null where they say nothing; documents are clusters. Yes
    is the positive answer: sensitivity is the share of the items labelled yes that are judged yes. A corrected share
    whose interval is wider than 1 says nothing, and is not given.
    """
    known, other = labels[labels["truth"].notna()], labels[labels["truth"].isna()]
    truth, judged = known["truth"].to_numpy(dtype=bool), known["value"].to_numpy(dtype=bool)
    clusters = known["document"].to_numpy()
    of = {"clusters": clusters, "clusters_only": other["document"].to_numpy()}
    powered = powered_share(truth, judged, other["value"].to_numpy(dtype=bool), seed=seed, **of)
    sums, sizes = labels.groupby("document")["value"].sum(), labels.groupby("document").size()
    corrected = corrected_mean(sums, truth, judged, clusters, seed=seed, ceilings=sizes)
    size = len(labels) / max(len(sizes), 1)  # mean items a cluster: sums back to shares
    shares = [end / size for end in corrected]
    told = shares[2] - shares[1] <= 1
    yes = known[judged]
    rates = [row for row in rate_rows(known.assign(metric=condition), seed=seed) if row["item"] == "all"]
    rows = [
        mean_row("labelled_share", truth, clusters=clusters, seed=seed),
        metric_row("judged_share", float(labels["value"].mean()) if len(labels) else NAN, n=len(labels)),
        metric_row("powered_share", *powered, n=len(known)),
        metric_row("corrected_share", *(shares if told else [NAN] * 3), n=len(labels)),
        metric_row("corrected_share_possible", float(told and 0 <= shares[0] <= 1), n=len(known)),
        mean_row("precision", yes["truth"], clusters=yes["document"], seed=seed),
        *(row for row in rates if row["metric"] != "precision_at_half"),
    ]
    about = {"condition": condition, "item": "all", "system": system, "seed": seed, "provenance": provenance}
    return metric_table(rows, stage=STAGE, **about)
