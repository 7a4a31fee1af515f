"""Stage `baselines_published`: tabular baselines on replicate draws of the published size, compared with Table 5."""

from flows.runtime.stage import Stage
from tasks.baselines.reproduction import replicate_many, replicate_rows, tabular_rows, tune_once
from tasks.baselines.xgboost_tab import tuned_rows


async def run(stage: Stage) -> None:
    """Tune once with the published grid, refit on each draw, and judge the printed figures by the draws' spread."""
    definition, size, seed = stage.network, stage.params.baselines_published, stage.params.seed
    params = stage.params.baselines
    params = params.model_copy(update={"xgboost": params.xgboost.model_copy(update={"grid": "published"})})
    known, tuned = tune_once(definition, params, size, seed)
    replicates = replicate_many(definition, params, size, known, seed)
    tests = round(size.records * params.test_share)
    stage.save_metrics("xgboost_tuned", tuned_rows(tuned, size.records - tests, seed))
    stage.save_metrics("baselines_replicates", replicate_rows(replicates, size.level, tests, seed))
    stage.save("reproduction_baselines", tabular_rows(replicates, stage.load("simsum_table5_f1"), size.level))
