"""Stage `baseline_bn_tab`: the fitted network's predictions on the test records."""

from flows.runtime.stage import Stage
from flows.stages.baseline_inputs import load_parts
from tasks.baselines import bn_tab


async def run(stage: Stage) -> None:
    """Fit on the train records, predict in every evidence setting."""
    predictions = bn_tab.predict(load_parts(stage), stage.params.baselines.network, stage.params.seed)
    stage.save("predictions_bn_tab", predictions)
