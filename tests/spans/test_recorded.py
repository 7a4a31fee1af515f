"""Statistics of spans with their intervals are those of earlier versions."""

from tests.spans.test_statistics import METRIC_ROWS
from tests.support.recorded import assert_as_recorded


def test_statistics() -> None:
    shown = METRIC_ROWS[METRIC_ROWS["item"].isin(["all", "cough"])]
    assert_as_recorded("span_statistics", shown[["item", "metric", "value", "low", "high", "n", "unscored"]])
