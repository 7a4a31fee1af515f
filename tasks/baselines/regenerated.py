"""Accuracy on regenerated notes against first notes: regeneration selects, as a note is rewritten until it passes.

``share_right`` is the share of test records whose symptom value is predicted correctly (the mean over seeds).
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np
import pandas as pd

from tasks.baselines.arrays import Flags, Floats
from tasks.baselines.scoring import STAGE, Scored, draw_counts, models_in
from tasks.baselines.targets import Target, decide
from tasks.statistics.bootstrap import LEVEL
from tasks.statistics.metric_rows import Row, metric_row, metric_table


def regenerated_rows(
    predictions: pd.DataFrame,
    attempts: Mapping[int, int],
    targets: Sequence[Target],
    *,
    seed: int,
    draws: int,
    provenance: Mapping[str, str],
) -> pd.DataFrame:
    """METRICS rows of every model in ``predictions``: the share on first and on regenerated notes, and the difference.

    ``attempts`` maps a record to the attempt that produced its note, 0 for a first note. A model whose test records
    have only first or only regenerated notes gets no rows.
    """
    rows: list[Row] = []
    drawn = cache(partial(draw_counts, seed=seed, draws=draws))
    for model in models_in(predictions, targets):
        new = np.array([attempts[int(record)] > 0 for record in model.records])
        if new.any() and not new.all():
            keys = {
                "system": model.system,
                "condition": model.condition,
                "item": model.target.symptom,
                "provenance": provenance[model.system],
            }
            rows += [{**row, **keys} for row in _shares(model, new, drawn(len(new)))]
    return metric_table(rows, stage=STAGE, seed=f"bootstrap {seed}")


def _shares(model: Scored, new: Flags, drawn: Floats) -> list[Row]:
    right: Floats = np.mean([decide(probabilities) == model.labels for probabilities in model.probabilities], axis=0)
    counts = np.vstack([np.ones((1, len(new))), drawn])
    with np.errstate(invalid="ignore"):
        shares = {
            name: (counts @ (right * chosen)) / (counts @ chosen)
            for name, chosen in (("first", (~new).astype(float)), ("regenerated", new.astype(float)))
        }
    shares["difference"] = shares["regenerated"] - shares["first"]
    sizes = {"first": int((~new).sum()), "regenerated": int(new.sum()), "difference": len(new)}
    rows = []
    for name, values in shares.items():
        low, high = np.nanquantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        metric = "share_right_regenerated_minus_first" if name == "difference" else f"share_right_{name}_notes"
        rows.append(metric_row(metric, values[0], low, high, n=sizes[name]))
    return rows
