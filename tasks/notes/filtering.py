"""Metric rows on the consistency filter: shares of flagged and kept notes, and differences of regenerated notes.

Regeneration is a selection: notes are rewritten until they pass, so kept notes are not a random sample of the writer's
notes. The rows quantify the difference between the two populations.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.statistics.bootstrap import interval
from tasks.statistics.metric_rows import NAN, Row, mean_row, metric_row, metric_table

Floats = npt.NDArray[np.float64]


def filtering_metrics(
    attempts: pd.DataFrame, kinds: Mapping[int, str], *, seed: int, annotator: str, stage: str = "filter"
) -> pd.DataFrame:
    """METRICS rows from ATTEMPTS; ``kinds`` maps a record to its kind of prompt. The item is the kind, or "all".

    Shares (0-1): ``flagged_first`` (flagged first notes, of those with a verdict), and of all records ``kept_first``,
    ``kept_regenerated`` and ``kept_flagged`` (still flagged after the last attempt). ``attempts``: mean per record.
    ``words_per_note`` of notes that were never flagged (condition ``first``), of flagged first notes (``flagged``), of
    their replacements (``regenerated``), and the paired difference of the last two.
    """
    frame = attempts.assign(kind=attempts["record"].map(kinds), words=attempts["note"].str.count(r"\S+"))
    rows: list[Row] = []
    for item, part in [("all", frame), *frame.groupby("kind", sort=True)]:
        rows += _shares(part, str(item), seed)
        rows += _lengths(part, str(item), seed)
    return metric_table(rows, stage=stage, system=annotator, seed=seed, provenance=annotator)


def spans_rows(
    attempts: pd.DataFrame, spans: pd.DataFrame, *, seed: int, provenance: str, stage: str = "span"
) -> pd.DataFrame:
    """Spans per normal note of kept first notes and of regenerated notes, and the difference of the means.

    Flagged notes are not compared, because spans are extracted from kept notes only.
    """
    last = attempts.sort_values("attempt").groupby("record", sort=True)["attempt"].last()
    counted = spans[spans["version"] == "normal"].groupby("record").size()
    counts = counted.reindex(last.index, fill_value=0).to_numpy(dtype=float)
    new = last.to_numpy() > 0
    rows = [
        mean_row("spans_per_note", counts[~new], seed=seed, condition="kept_first"),
        mean_row("spans_per_note", counts[new], seed=seed, condition="kept_regenerated"),
        _difference_row("kept_regenerated - kept_first", "spans_per_note", counts[new], counts[~new], seed),
    ]
    return metric_table(rows, stage=stage, system="filter", item="all", seed=seed, provenance=provenance)


def _shares(part: pd.DataFrame, item: str, seed: int) -> list[Row]:
    first = part[part["attempt"] == 0]
    last = part.sort_values("attempt").groupby("record", sort=True).last()
    judged = first["consistent"].dropna()
    flagged = (~judged.astype(bool)).to_numpy(dtype=float)
    still = (last["consistent"] == False).fillna(False).to_numpy(dtype=bool)  # noqa: E712 - null is not flagged
    new = (last["attempt"] > 0).to_numpy(dtype=bool)
    unscored = int(part["consistent"].isna().sum())
    shares = {"kept_first": ~new & ~still, "kept_regenerated": new & ~still, "kept_flagged": still}
    rows = [mean_row("flagged_first", flagged, seed=seed, unscored=unscored)]
    rows += [mean_row(name, kept.astype(float), seed=seed) for name, kept in shares.items()]
    rows.append(mean_row("attempts", last["attempt"].to_numpy(dtype=float) + 1, seed=seed))
    return [{**row, "condition": "check", "item": item} for row in rows]


def _lengths(part: pd.DataFrame, item: str, seed: int) -> list[Row]:
    """Length in words of notes never flagged, of flagged first notes, and of their replacements."""
    ordered = part.sort_values("attempt").groupby("record", sort=True)
    first, last, attempt = ordered["words"].first(), ordered["words"].last(), ordered["attempt"].last()
    new = attempt > 0
    old, replaced = first[new].to_numpy(dtype=float), last[new].to_numpy(dtype=float)
    lengths = {
        "first": first[~new].to_numpy(dtype=float),
        "flagged": old,
        "regenerated": replaced,
        "regenerated - flagged": replaced - old,
    }
    return [
        mean_row("words_per_note", values, seed=seed, condition=condition, item=item)
        for condition, values in lengths.items()
    ]


def _difference_row(condition: str, metric: str, one: Floats, other: Floats, seed: int) -> Row:
    """Difference of two groups' means; the bootstrap resamples all notes, keeping each note's group."""
    values, group = np.concatenate([one, other]), np.arange(len(one) + len(other)) < len(one)
    if not len(one) or not len(other):
        return metric_row(metric, NAN, n=len(values), condition=condition)

    def difference(rows: npt.NDArray[np.int64]) -> float:
        chosen = group[rows]
        if chosen.all() or not chosen.any():
            return float("nan")
        return float(values[rows][chosen].mean() - values[rows][~chosen].mean())

    low, high = interval(difference, len(values), seed=seed)
    return metric_row(metric, float(one.mean() - other.mean()), low, high, n=len(values), condition=condition)
