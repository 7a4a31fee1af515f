"""Stage `baseline_neural_text_tab`: neural classifiers on note embeddings and tabular evidence."""

from flows.engine.baseline_inputs import load_noted_parts
from flows.engine.stage import Stage
from schemas.tables.baselines import PREDICTIONS
from tasks.baselines import neural_text_tab


async def run(stage: Stage) -> None:
    """Train and predict for each note version, evidence setting, symptom and seed."""
    parts, vectors = load_noted_parts(stage)
    predictions = neural_text_tab.predict(parts.definition, vectors, parts.train, parts.test, stage.params.baselines)
    stage.save("predictions_neural_text_tab", predictions, PREDICTIONS)
