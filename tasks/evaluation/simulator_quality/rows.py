"""Metric rows on the quality of the simulator's notes."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tasks.evaluation.simulator_quality.quality import (
    STYLE,
    Floats,
    highest_overlap,
    near_duplicates,
    repeated_separability,
    repeated_style,
    stock_sentences,
    style_statistics,
)
from tasks.statistics.bootstrap import LEVEL
from tasks.statistics.metric_rows import NAN, Row, mean_row, metric_row, metric_table

STAGE = "embedded_quality"
PROVENANCE = "vignette-writer (embedded rules)"
_STOCK_SHARE, _DUPLICATE = 0.02, 0.8


def text_rows(notes: Mapping[str, Sequence[str]], with_symptoms: Sequence[str], seed: int) -> pd.DataFrame:
    """Rows that need no real notes: stock sentences, near-duplicates, length of compact over normal notes.

    ``notes``: texts by version, in the same order. ``with_symptoms``: normal notes of patients with symptoms.
    """
    rows = []
    for version, texts in notes.items():
        shares = stock_sentences(texts)
        rows += [
            _row(version, "most frequent sentence", "share_of_notes", float(shares.iloc[0]), len(texts)),
            _row(version, "sentences in over 2%", "count", float((shares > _STOCK_SHARE).sum()), len(texts)),
        ]
    pairs = near_duplicates(with_symptoms, _DUPLICATE)
    rows += [
        _row("normal", "word 5-gram Jaccard", "pairs_at_0.8", float(len(pairs)), len(with_symptoms)),
        _row("normal", "word 5-gram Jaccard", "highest_at_most", highest_overlap(with_symptoms), len(with_symptoms)),
    ]
    lengths = [len(b) / len(a) for a, b in zip(notes["normal"], notes["compact"], strict=True)]
    rows.append(mean_row("characters_over_normal", lengths, seed=seed, condition="compact", item="all"))
    return _table(rows)


def style_rows(
    written: Mapping[str, Sequence[str]], real: Mapping[str, Sequence[str]], *, draws: int, seed: int
) -> pd.DataFrame:
    """Style of real notes, of equally large samples of written notes, and their ratio, by version."""
    rows = []
    for version, texts in real.items():
        published = style_statistics(texts)
        samples = repeated_style(written[version], len(texts), draws, seed)
        for metric in STYLE:
            ratios = samples[metric].to_numpy() / published[metric]
            low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            rows += [
                _row(version, "style, real", metric, published[metric], len(texts)),
                _row(version, "style, embedded", metric, float(samples[metric].mean()), len(texts), seed=seed),
                _row(version, "style, ratio", metric, float(ratios.mean()), len(texts), low, high, seed),
            ]
    lengths = [len(b) / len(a) for a, b in zip(real["normal"], real["compact"], strict=True)]
    rows.append(_row("compact", "style, real", "characters_over_normal", float(np.mean(lengths)), len(lengths)))
    return _table(rows)


def separability_rows(
    real: Mapping[str, Floats], written: Mapping[str, Floats], *, draws: int, seed: int, encoder: str
) -> pd.DataFrame:
    """AUC of separating real from written notes by their mean sentence vectors, by version."""
    rows = []
    for version, vectors in real.items():
        found = repeated_separability(vectors, written[version], draws=draws, seed=seed)
        low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        row = _row(version, "real or embedded", "auc", float(found.mean()), len(vectors), low, high, seed)
        rows.append(row | {"provenance": f"{PROVENANCE}; {encoder}"})
    return _table(rows)


def error_rows(kinds: Mapping[str, Sequence[str | None]], names: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Share (0-1) of texts with each kind of planted error. ``kinds``: by version, the kind (or None) of each text."""
    rows = []
    for version, found in kinds.items():
        counts, n = Counter(kind for kind in found if kind), len(found)
        rows += [_row(version, kind, "planted_share", counts[kind] / n, n) for kind in names[version]]
        rows.append(_row(version, "all errors", "planted_share", sum(counts.values()) / n, n))
    return _table(rows)


def _row(
    version: str,
    item: str,
    metric: str,
    value: float,
    n: int,
    low: float = NAN,
    high: float = NAN,
    seed: int | None = None,
) -> Row:
    return metric_row(metric, value, low, high, n=n, condition=version, item=item, seed=seed)


def _table(rows: list[Row]) -> pd.DataFrame:
    return metric_table(rows, stage=STAGE, system="embedded writer", provenance=PROVENANCE)
