"""Stage `baseline_bn_text`: the network and the text classifier, combined as probabilities."""

from flows.engine.baseline_inputs import load_noted_parts
from flows.engine.stage import Stage
from schemas.tables.baselines import PREDICTIONS
from tasks.baselines import bn_text


async def run(stage: Stage) -> None:
    """Calibrate neural-text's predictions on train records, and combine them with the network's posterior."""
    parts, vectors = load_noted_parts(stage)
    text_predictions = stage.load("predictions_neural_text", PREDICTIONS)
    predictions = bn_text.predict(
        parts.definition, vectors, text_predictions, parts.train, parts.test, stage.params.baselines, stage.params.seed
    )
    stage.save("predictions_bn_text", predictions, PREDICTIONS)
