"""Precision and recall of extracted spans from manual counts of missing and incorrect phrases (SimSUM, Section 2.3).

    precision = (extracted - incorrect) / extracted
    recall = (extracted - incorrect) / (extracted - incorrect + missing)

for each note, then averaged over notes. A note with nothing to count has the value 1, as the published figures imply.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import SourceError
from schemas.tables.columns import NOTE_VERSIONS
from tasks.statistics.metric_rows import mean_row, metric_table

COUNTS_FILE = "simsum/span_evaluation.csv"
"""Path of the manual counts in the sources folder."""
_COUNTS = ("extracted", "missing", "incorrect")


def precision(extracted: npt.ArrayLike, incorrect: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Share (0-1) of each note's extracted phrases that are correct; 1 if none was extracted."""
    total, wrong = np.asarray(extracted, dtype=float), np.asarray(incorrect, dtype=float)
    return _share(total - wrong, total)


def recall(extracted: npt.ArrayLike, incorrect: npt.ArrayLike, missing: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Share (0-1) of each note's symptom phrases that were extracted; 1 if it has none."""
    correct = np.asarray(extracted, dtype=float) - np.asarray(incorrect, dtype=float)
    return _share(correct, correct + np.asarray(missing, dtype=float))


def span_quality(
    counts: pd.DataFrame | None, *, seed: int, system: str, provenance: str, stage: str = "span_quality"
) -> pd.DataFrame:
    """METRICS rows. ``counts`` has one row per note and columns ``<version>_<count>``; None gives no rows.

    Raises SourceError for missing columns, or for a note with more incorrect than extracted phrases.
    """
    if counts is None:
        return metric_table([])
    _check_counts(counts)
    rows = []
    for version in NOTE_VERSIONS:
        extracted, missing, incorrect = (counts[f"{version}_{name}"].to_numpy() for name in _COUNTS)
        scores = {"precision": precision(extracted, incorrect), "recall": recall(extracted, incorrect, missing)}
        rows += [mean_row(metric, values, seed=seed, condition=version) for metric, values in scores.items()]
    return metric_table(rows, stage=stage, system=system, item="all", provenance=provenance)


def read_counts(sources: Path | None) -> pd.DataFrame | None:
    """Manual counts of SimSUM's 100 notes from a sources folder; None if the file is missing."""
    file = sources / COUNTS_FILE if sources else None
    return pd.read_csv(file) if file and file.exists() else None


def _check_counts(counts: pd.DataFrame) -> None:
    """Raise SourceError unless all counts are present and not negative, and incorrect <= extracted."""
    needed = [f"{version}_{name}" for version in NOTE_VERSIONS for name in _COUNTS]
    if absent := [column for column in needed if column not in counts.columns]:
        raise SourceError(f"span evaluation: columns {absent} are missing; found {list(counts.columns)}")
    for version in NOTE_VERSIONS:
        wrong = counts[f"{version}_incorrect"] > counts[f"{version}_extracted"]
        negative = (counts[[f"{version}_{name}" for name in _COUNTS]] < 0).any(axis=1)
        if (wrong | negative).any():
            row = counts[wrong | negative].iloc[0].to_dict()
            raise SourceError(f"span evaluation, {version} note: counts do not fit each other in {row}")


def _share(part: npt.NDArray[np.float64], whole: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)
