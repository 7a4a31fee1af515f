"""Reliability curves: predicted probability against observed frequency, in equally wide bins."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tasks.baselines.scoring import models_in
from tasks.baselines.targets import Target


def reliability_rows(predictions: pd.DataFrame, targets: Sequence[Target], *, bins: int) -> pd.DataFrame:
    """RELIABILITY rows, all seeds of a model taken together; empty bins are absent."""
    rows = []
    for model in models_in(predictions, targets):
        shown = model.target.values[1:] if model.target.is_binary else model.target.values
        for value in shown:
            code = model.target.values.index(value)
            chance = np.concatenate([chances[:, code] for chances in model.probabilities])
            hit = np.tile(model.labels == code, len(model.seeds))
            column = np.minimum((chance * bins).astype(int), bins - 1)
            for number in np.unique(column):
                inside = column == number
                rows.append(
                    {
                        "system": model.system,
                        "condition": model.condition,
                        "symptom": model.target.symptom,
                        "value": value,
                        "bin": np.int64(number),
                        "predicted": float(chance[inside].mean()),
                        "observed": float(hit[inside].mean()),
                        "n": np.int64(inside.sum()),
                    }
                )
    return pd.DataFrame(rows)
