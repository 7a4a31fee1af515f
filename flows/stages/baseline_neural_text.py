"""Stage `baseline_neural_text`: neural classifiers on note embeddings."""

from flows.engine.baseline_inputs import load_noted_parts
from flows.engine.stage import Stage
from schemas.tables.baselines import PREDICTIONS
from tasks.baselines import neural_text


async def run(stage: Stage) -> None:
    """Train and predict for each note version, embedding, symptom and seed."""
    parts, vectors = load_noted_parts(stage)
    predictions = neural_text.predict(parts.definition, vectors, parts.train, parts.test, stage.params.baselines)
    stage.save("predictions_neural_text", predictions, PREDICTIONS)
