"""Stages `baseline_*`: each fits one model on the train records and predicts the test records.

Models are imported by their stages: XGBoost takes a second, and one of them uses it.
"""

import json
from typing import TYPE_CHECKING

from flows.runtime.stage import Stage
from flows.runtime.tables import read_vectors
from tasks.baselines.targets import Parts, parts_of

if TYPE_CHECKING:
    from tasks.baselines.note_vectors import NoteVectors


def load_parts(stage: Stage) -> Parts:
    """Load the records, divided by the split stage."""
    return parts_of(stage.network, stage.load("records"), stage.load("split"))


def load_noted_parts(stage: Stage) -> "tuple[Parts, NoteVectors]":
    """Load the parts, restricted to records with a note in every version, and the note vectors."""
    from tasks.baselines.note_vectors import NoteVectors, noted_records

    tables = stage.load("note_sentences"), stage.load("span_vectors")
    vectors = NoteVectors(*tables, read_vectors(stage.dep("vectors")))
    return load_parts(stage).only(noted_records(vectors.note_sentences)), vectors


def encoder_label(stage: Stage) -> str:
    """The encoder's name, precision and identity, for provenance columns."""
    return str(json.loads(stage.dep("encoder").read_text(encoding="utf-8"))["label"])


async def run_baseline_bn_tab(stage: Stage) -> None:
    """The fitted network in every evidence setting."""
    from tasks.baselines import bn_tab

    predictions = bn_tab.predict(load_parts(stage), stage.params.baselines.network, stage.params.seed)
    stage.save("predictions_bn_tab", predictions)


async def run_baseline_xgboost_tab(stage: Stage) -> None:
    """Tuned gradient boosting on the tabular evidence, for each symptom and evidence setting."""
    from tasks.baselines import xgboost_tab

    predictions, tuned = xgboost_tab.predict(load_parts(stage), stage.params.baselines, stage.params.seed)
    stage.save("predictions_xgboost_tab", predictions)
    stage.save("tuned", tuned)


async def run_baseline_neural_text(stage: Stage) -> None:
    """Neural classifiers on note embeddings, for each note version, embedding, symptom and seed."""
    from tasks.baselines import neural_text

    predictions = neural_text.predict(*load_noted_parts(stage), stage.params.baselines)
    stage.save("predictions_neural_text", predictions)


async def run_baseline_neural_text_tab(stage: Stage) -> None:
    """Neural classifiers on note embeddings and tabular evidence, for each evidence setting as well."""
    from tasks.baselines import neural_text

    predictions = neural_text.predict(*load_noted_parts(stage), stage.params.baselines, tables=True)
    stage.save("predictions_neural_text_tab", predictions)


async def run_baseline_bn_text(stage: Stage) -> None:
    """Neural-text's predictions, calibrated on train records and combined with the network's posterior."""
    from tasks.baselines import bn_text

    parts, vectors = load_noted_parts(stage)
    text = stage.load("predictions_neural_text")
    predictions = bn_text.predict(parts, vectors, text, stage.params.baselines, stage.params.seed)
    stage.save("predictions_bn_text", predictions)
