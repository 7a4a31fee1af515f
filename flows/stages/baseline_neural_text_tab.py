"""Stage `baseline_neural_text_tab`: neural classifiers on note embeddings and tabular evidence."""

from flows.runtime.stage import Stage
from flows.stages.baseline_inputs import load_noted_parts
from tasks.baselines import neural_text


async def run(stage: Stage) -> None:
    """Train and predict for each note version, evidence setting, symptom and seed."""
    predictions = neural_text.predict_with_tables(*load_noted_parts(stage), stage.params.baselines)
    stage.save("predictions_neural_text_tab", predictions)
