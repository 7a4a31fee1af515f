"""Stage `baselines_published`: tabular baselines on replicate draws of the published size, compared with Table 5."""

from flows.engine.stage import Stage
from schemas.tables.metrics import REPRODUCTION_ROWS
from schemas.tables.simsum import PRINTED_TABLE_5
from tasks.baselines.replicates import replicate_many, replicate_rows, tune_once
from tasks.baselines.reproduction import tabular_rows
from tasks.baselines.xgboost_tab import tuned_rows
from tasks.network.definition import load_definition


async def run(stage: Stage) -> None:
    """Tune once with the published grid, refit on each draw, and judge the printed figures by the draws' spread."""
    definition, size, seed = (
        load_definition(stage.dep("network")),
        stage.params.baselines_published,
        stage.params.seed,
    )
    params = stage.params.baselines
    params = params.model_copy(update={"xgboost": params.xgboost.model_copy(update={"grid": "published"})})
    known, tuned = tune_once(definition, params, size, seed)
    replicates = replicate_many(definition, params, size, known, seed)
    tests = round(size.records * params.test_share)
    stage.save_metrics("xgboost_tuned", tuned_rows(tuned, size.records - tests, seed))
    stage.save_metrics("baselines_replicates", replicate_rows(replicates, size.level, tests, seed))
    rows = tabular_rows(replicates, stage.load("simsum_table5_f1", PRINTED_TABLE_5), size.level)
    stage.save("reproduction_baselines", rows, REPRODUCTION_ROWS)
