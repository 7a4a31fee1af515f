"""Stage `span_quality`: precision and recall of SimSUM's spans from its manual evaluation."""

import pandas as pd

from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.spans.reproduction import quality_rows
from tasks.spans.statistics import COUNTS_FILE, read_counts, span_quality


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [COUNTS_FILE]


async def run(stage: Stage) -> None:
    """Write the metrics and the reproduction rows; absent ones when the sources folder has no evaluation."""
    counts = read_counts(stage.sources)
    metrics = span_quality(counts, seed=stage.params.seed, system="SimSUM", provenance="published manual evaluation")
    stage.save_metrics("span_quality", metrics)
    published = pd.read_csv(stage.dep("simsum_span_quality"))
    stage.save("reproduction_span_quality", quality_rows(metrics, published))
