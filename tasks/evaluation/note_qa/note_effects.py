"""How the number and the length of a patient's notes bear on the score (EHRNoteQA, Section 4.2, Figure 3)."""

import numpy as np
import pandas as pd

from tasks.statistics.agreement import correlation, correlation_interval
from tasks.statistics.bootstrap import interval, mean_interval


def effect_rows(scored: pd.DataFrame, *, seed: int) -> list[tuple[str, str, float, float, float, int]]:
    """(item, metric, value, low, high, n) from one score a question (columns score 0 to 100, notes, tokens, level).

    Score by number of notes and by level; the change a further note brings (least squares slope); and Spearman's
    correlation of score and tokens. Slope and correlation stand only where notes, or tokens, differ.
    """
    rows: list[tuple[str, str, float, float, float, int]] = []
    for column, name in (("notes", "notes"), ("level", "level")):
        for value, group in scored.groupby(column):
            rows.append((f"{name} {value}", "score", *mean_interval(group["score"], seed=seed), len(group)))
    score, notes, tokens = (scored[name].to_numpy(float) for name in ("score", "notes", "tokens"))
    n = len(scored)
    if np.unique(notes).size > 1:
        low, high = interval(lambda i: _slope(notes[i], score[i]), n, seed=seed)
        rows.append(("notes", "score_change_a_note", _slope(notes, score), low, high, n))
    if np.unique(tokens).size > 1 and np.unique(score).size > 1:
        low, high = correlation_interval(tokens, score, "spearman", seed=seed)
        rows.append(("tokens", "spearman_with_score", correlation(tokens, score, "spearman"), low, high, n))
    return rows


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    spread = float(((x - x.mean()) ** 2).sum())
    return float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread else np.nan
