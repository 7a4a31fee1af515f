"""Resampled intervals are those of earlier versions: committed results depend on their draws."""

import numpy as np
import pandas as pd

from tasks.statistics.agreement import correlation_interval, krippendorff_interval
from tasks.statistics.bootstrap import interval, mean_interval
from tasks.statistics.misclassification import Stratum, corrected_mean
from tasks.statistics.prediction_powered import powered_mean
from tasks.statistics.sampling import sample_records
from tests.support.recorded import assert_as_recorded

DRAW = np.random.default_rng(3)
SCORES, OTHERS = DRAW.normal(size=(2, 30)).round(2)
YES = DRAW.random(40) < 0.8
RATINGS = DRAW.integers(1, 6, size=(3, 12))


def test_intervals() -> None:
    cases = [Stratum(YES, np.arange(40) // 4, weight=3), Stratum(YES[:20], np.arange(20))], [Stratum(~YES, range(40))]
    corrected = corrected_mean(YES[:20].astype(float), *cases, seed=7)
    powered = powered_mean(YES[:10], YES[5:15], YES[15:])
    found = {
        "mean": mean_interval(SCORES, seed=7),
        "median": interval(lambda rows: float(np.median(SCORES[rows])), len(SCORES), seed=7),
        "spearman": correlation_interval(SCORES, OTHERS, "spearman", seed=7),
        "kendall": correlation_interval(SCORES, OTHERS, "kendall", seed=7),
        "alpha": krippendorff_interval(RATINGS, seed=7),
        "corrected": (corrected.low, corrected.high),
        "powered": (powered.low, powered.high),
    }
    assert_as_recorded("intervals", pd.DataFrame([(name, *ends) for name, ends in found.items()]))


def test_drawn_records() -> None:
    assert_as_recorded("drawn_records", pd.DataFrame({"record": sample_records(pd.Series(range(100)), 8, seed=7)}))
