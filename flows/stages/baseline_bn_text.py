"""Stage `baseline_bn_text`: the network and the text classifier, combined as probabilities."""

from flows.runtime.stage import Stage
from flows.stages.baseline_inputs import load_noted_parts
from tasks.baselines import bn_text


async def run(stage: Stage) -> None:
    """Calibrate neural-text's predictions on train records, and combine them with the network's posterior."""
    parts, vectors = load_noted_parts(stage)
    text = stage.load("predictions_neural_text")
    predictions = bn_text.predict(parts, vectors, text, stage.params.baselines, stage.params.seed)
    stage.save("predictions_bn_text", predictions)
