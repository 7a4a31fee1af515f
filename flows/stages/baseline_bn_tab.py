"""Stage `baseline_bn_tab`: the fitted network's predictions on the test records."""

from flows.engine.baseline_inputs import load_parts
from flows.engine.stage import Stage
from schemas.tables.baselines import PREDICTIONS
from tasks.baselines import bn_tab


async def run(stage: Stage) -> None:
    """Fit on the train records, predict in every evidence setting."""
    parts, params = load_parts(stage), stage.params
    predictions = bn_tab.predict(parts.definition, parts.train, parts.test, params.baselines.network, params.seed)
    stage.save("predictions_bn_tab", predictions, PREDICTIONS)
