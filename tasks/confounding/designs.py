"""Adjustment sets as matrices: what an analyst sees of a patient, from nothing to the complete table."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.decomposition import PCA

Floats = npt.NDArray[np.float64]

UNADJUSTED = "unadjusted"
WITHOUT_SYMPTOMS = "tables without symptoms"
TABLES = "tables with symptoms"
SPANS = "tables and spans of the notes"
EMBEDDINGS = "tables and embeddings of the notes"
NOISE = "tables with symptoms and noise"
"""Control: as many columns of noise as the text has components; they cost nothing if the adjustment is sound."""
_NOISE_STREAM = 9


def adjustment_designs(
    records: pd.DataFrame,
    recorded: Sequence[str],
    symptoms: Sequence[str],
    spans: Mapping[str, npt.NDArray[np.float32]],
    notes: npt.NDArray[np.float32],
    components: int,
    seed: int,
) -> dict[str, Floats]:
    """Matrices (records, columns) by system, but for the unadjusted comparison.

    ``recorded``: columns of a patient record without symptoms. ``spans``: a vector for each record by symptom, zeros
    where a note has no span of the symptom. ``notes``: one embedding per note. Vectors are reduced to ``components``
    principal components (for spans, shared equally by the symptoms); components use the text only.
    """
    base = one_hot(records, recorded)
    each = max(1, components // len(symptoms))
    seen = [_span_columns(spans[symptom], each) for symptom in symptoms]
    tables = np.hstack([base, one_hot(records, symptoms)])
    noise = np.random.default_rng([seed, _NOISE_STREAM]).normal(size=(len(records), components))
    return {
        WITHOUT_SYMPTOMS: base,
        SPANS: np.hstack([base, *seen]),
        EMBEDDINGS: np.hstack([base, reduced(notes, components)]),
        TABLES: tables,
        NOISE: np.hstack([tables, noise]),
    }


def one_hot(records: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Indicators of all values but the first of each column, (records, indicators)."""
    frame = records[list(columns)].astype("str")
    return pd.get_dummies(frame, drop_first=True, dtype=float).to_numpy()


def reduced(vectors: npt.NDArray[np.float32], components: int) -> Floats:
    """The first principal components, (records, at most ``components``)."""
    count = min(components, *vectors.shape)
    return PCA(count, svd_solver="covariance_eigh").fit_transform(vectors.astype(np.float64))


def _span_columns(vectors: npt.NDArray[np.float32], components: int) -> Floats:
    """Whether a note has a span, and the components of its vector, 0 without one."""
    has = vectors.any(axis=1)
    columns = np.zeros((len(vectors), 1 + components))
    columns[:, 0] = has
    if has.sum() > 1:
        found = reduced(vectors[has], components)
        columns[has, 1 : 1 + found.shape[1]] = found
    return columns
