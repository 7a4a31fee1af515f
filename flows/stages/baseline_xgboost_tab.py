"""Stage `baseline_xgboost_tab`: tuned gradient boosting on the tabular evidence."""

from flows.engine.baseline_inputs import load_parts
from flows.engine.stage import Stage
from schemas.tables.baselines import PREDICTIONS, TUNED
from tasks.baselines import xgboost_tab


async def run(stage: Stage) -> None:
    """Tune, fit and predict one classifier a symptom and evidence setting."""
    parts, params = load_parts(stage), stage.params
    predictions, tuned = xgboost_tab.predict(parts.definition, parts.train, parts.test, params.baselines, params.seed)
    stage.save("predictions_xgboost_tab", predictions, PREDICTIONS)
    stage.save("tuned", tuned, TUNED)
