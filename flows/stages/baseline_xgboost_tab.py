"""Stage `baseline_xgboost_tab`: tuned gradient boosting on the tabular evidence."""

from flows.runtime.stage import Stage
from flows.stages.baseline_inputs import load_parts
from tasks.baselines import xgboost_tab


async def run(stage: Stage) -> None:
    """Tune, fit and predict one classifier for each symptom and evidence setting."""
    predictions, tuned = xgboost_tab.predict(load_parts(stage), stage.params.baselines, stage.params.seed)
    stage.save("predictions_xgboost_tab", predictions)
    stage.save("tuned", tuned)
