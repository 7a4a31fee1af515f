"""Descriptive statistics of symptom spans (SimSUM, Tables 3(a) and 3(b)) for any set of notes, and their quality."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import SourceError
from schemas.tables.columns import NOTE_VERSIONS
from tasks.statistics.intervals import Floats, count_ratio_interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table, ratio_row

ASSERTION_STEP = "assertion"
"""Step of unscored rows for which a span has its place, but no assertion."""


def _rows(spans: pd.DataFrame, values: pd.DataFrame) -> Iterator[Row]:
    """Ratios of sums over the notes, of the spans of one version; ``values``: of each symptom, one row per note."""
    symptoms = [column for column in values.columns if column != "record"]
    position = {int(record): row for row, record in enumerate(values["record"].tolist())}
    inside = spans[spans["record"].isin(position)]
    note = inside["record"].map(position).to_numpy(dtype=int)
    weights = {
        "one": np.ones(len(inside)),
        "words": inside["text"].str.split().str.len().to_numpy(dtype=float),
        "chars": inside["text"].str.len().to_numpy(dtype=float),
        "history": (inside["section"] == "history").to_numpy(dtype=float),
        "examination": (inside["section"] == "physical_examination").to_numpy(dtype=float),
    }
    notes = np.ones(len(values))

    def per_note(weight: str, chosen: npt.NDArray[np.bool_]) -> Floats:
        return np.bincount(note[chosen], weights[weight][chosen], minlength=len(values)).astype(float)

    everything = per_note("one", np.ones(len(inside), dtype=bool))
    for item in [*symptoms, "all"]:
        chosen = np.ones(len(inside), dtype=bool) if item == "all" else (inside["symptom"] == item).to_numpy()
        count = per_note("one", chosen)
        yield _count_row("spans_per_note", count, notes, item)
        yield ratio_row("share_of_spans", count, everything, item=item)
        yield _count_row("words_per_span", per_note("words", chosen), count, item)
        yield _count_row("chars_per_span", per_note("chars", chosen), count, item)
        yield ratio_row("share_in_history", per_note("history", chosen), count, item=item)
        yield ratio_row("share_in_physical_examination", per_note("examination", chosen), count, item=item)
    yield ratio_row("share_of_notes_without_spans", (everything == 0).astype(float), notes, item="all")
    for symptom in symptoms:
        count = per_note("one", (inside["symptom"] == symptom).to_numpy())
        for value in sorted(values[symptom].unique()):
            held = (values[symptom] == value).to_numpy(dtype=float)
            item = f"{symptom}={value}"
            yield ratio_row("share_of_notes_mentioning", (count > 0) * held, held, item=item)
            yield _count_row("spans_per_note", count * held, held, item)


def _count_row(metric: str, counts: Floats, wholes: Floats, item: str) -> Row:
    """As `ratio_row`, for a ratio that may exceed 1."""
    return metric_row(metric, *count_ratio_interval(counts, wholes), n=int(wholes.sum()), item=item)


def all_statistics(
    spans: pd.DataFrame,
    records: pd.DataFrame,
    notes: Mapping[str, pd.DataFrame],
    symptoms: Sequence[str],
    unscored: pd.DataFrame,
    **about: Any,
) -> pd.DataFrame:
    """METRICS rows of Table 3 for each version in ``notes`` (version -> table), over the records with such a note.

    ``records`` has a column of values for each symptom. Items ``symptom`` and ``all`` are Table 3(a); items
    ``symptom=value`` are Table 3(b), whose shares refer to all notes with that value.
    """
    lost = unscored.loc[unscored["step"] != ASSERTION_STEP, "step"]
    failed = lost.isin(("extract", "normal"))
    counts = {"normal": int(failed.sum()), "compact": int((~failed).sum())}
    parts = []
    for version, frame in notes.items():
        values = records.loc[records["record"].isin(frame["record"]), ["record", *symptoms]]
        rows = _rows(spans[spans["version"] == version], values)
        about |= {"stage": "span", "system": "spans", "condition": version, "unscored": counts[version]}
        parts.append(metric_table(rows, **about))
    return pd.concat(parts, ignore_index=True)


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
