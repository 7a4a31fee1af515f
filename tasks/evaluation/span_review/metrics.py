"""Counts of wrong and missing phrases over readers, and the published shares for comparison."""

import pandas as pd

from schemas.tables.columns import NOTE_VERSIONS
from tasks.statistics.metric_rows import Row, metric_row, metric_table

STAGE = "span_review"
PUBLISHED_NOTES = 100
_COUNTS = ("extracted", "incorrect", "missing")


def counts_by_note(counts: pd.DataFrame) -> pd.DataFrame | None:
    """One row for each note of which both versions were checked, with columns ``<version>_<count>``; None without any.

    ``counts`` are those of `read_span_reviews`; several readers of a note are averaged.
    """
    if counts.empty:
        return None
    by_reader = counts.groupby(["record", "version", "rater"])[list(_COUNTS)].sum()
    wide = by_reader.groupby(["record", "version"]).mean().unstack("version").dropna()
    wide.columns = [f"{version}_{name}" for name, version in wide.columns]
    needed = [f"{version}_{name}" for version in NOTE_VERSIONS for name in _COUNTS]
    return wide[needed] if len(wide) and set(needed) <= set(wide) else None


def symptom_rows(counts: pd.DataFrame, *, provenance: str) -> pd.DataFrame:
    """METRICS: extracted, incorrect and missing phrases of each symptom; readers of a note are averaged."""
    rows: list[Row] = []
    mean = counts.groupby(["record", "version", "symptom"], sort=True)[list(_COUNTS)].mean()
    for (version, symptom), group in mean.groupby(["version", "symptom"], sort=True):
        totals = group.sum()
        rows += [
            metric_row(f"{name}_phrases", float(totals[name]), n=len(group), condition=version, item=symptom)
            for name in _COUNTS
        ]
    return metric_table(rows, stage=STAGE, system="annotator", provenance=provenance)


def published_rows(published: pd.DataFrame) -> pd.DataFrame:
    """METRICS of SimSUM's manual evaluation as printed (Section 2.3); ``published`` has shares in percent by note."""
    rows = [
        metric_row(metric, float(line[f"{metric}_percent"]) / 100, n=PUBLISHED_NOTES, condition=line["note"])
        for line in published.to_dict("records")
        for metric in ("precision", "recall")
    ]
    return metric_table(rows, stage=STAGE, system="SimSUM, as printed", item="all", provenance="SimSUM, Section 2.3")
