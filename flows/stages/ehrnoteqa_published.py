"""Stage `ehrnoteqa_published`: EHRNoteQA's tables that follow from its own printed figures."""

import pandas as pd

from flows.runtime.stage import Stage
from tasks.measures.note_qa.reproduction import correlation_metrics, reproduction_rows


async def run(stage: Stage) -> None:
    """Write the reproduction rows, and Table 5 with intervals."""
    scores = pd.read_csv(stage.dep("ehrnoteqa_table4_scores"))
    correlations = pd.read_csv(stage.dep("ehrnoteqa_table5_correlations"))
    takes = pd.read_csv(stage.dep("ehrnoteqa_table6_takes"))
    benchmarks = pd.read_csv(stage.dep("ehrnoteqa_table7_benchmarks"))
    rows = reproduction_rows(scores, correlations, takes, benchmarks)
    stage.save("reproduction_note_qa", rows)
    stage.save_metrics("ehrnoteqa_correlations", correlation_metrics(benchmarks, seed=stage.params.seed))
