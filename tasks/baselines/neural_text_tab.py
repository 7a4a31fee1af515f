"""Neural-text-tab: a classifier on the mean note embedding concatenated with the tabular evidence (3.2.1, F.4)."""

import numpy as np
import pandas as pd

from schemas.evidence import EVIDENCE_SETTINGS, EvidenceSetting, evidence_columns
from schemas.params.baselines import Baselines
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.neural_text import Job, classifiers_of, joint_targets, predictions_of
from tasks.baselines.note_vectors import NoteVectors
from tasks.baselines.tabular_features import TabularFeatures
from tasks.baselines.targets import Target
from tasks.network.graph import NetworkDefinition

SYSTEM = "neural-text-tab"
EMBEDDING = "mean"


def predict(
    definition: NetworkDefinition, vectors: NoteVectors, train: pd.DataFrame, test: pd.DataFrame, params: Baselines
) -> pd.DataFrame:
    """PREDICTIONS for each note version, evidence setting and seed; conditions as ``normal/all``."""
    vectors = vectors.as_released(params.neural.as_released)
    jobs = [
        _job(definition, vectors, train, test, params, version, setting, targets)
        for version in NOTE_VERSIONS
        for setting in EVIDENCE_SETTINGS
        for targets in joint_targets(definition)
    ]
    return predictions_of(SYSTEM, jobs, test, params)


def _job(
    definition: NetworkDefinition,
    vectors: NoteVectors,
    train: pd.DataFrame,
    test: pd.DataFrame,
    params: Baselines,
    version: str,
    setting: EvidenceSetting,
    targets: tuple[Target, ...],
) -> Job:
    """Classifiers on the text and the evidence of all ``targets``; each masks what is not its evidence."""
    evidence = {t.symptom: set(evidence_columns(definition, t.symptom, setting)) for t in targets}
    used = set().union(*evidence.values())
    columns = [name for name in definition.variables if name in used]
    features = TabularFeatures(columns, definition).fit(train)
    parts = (train, test)
    embedded = vectors.inputs(EMBEDDING, version, *(part["record"].to_numpy() for part in parts))
    inputs, others = (
        np.concatenate([text, features.transform(part)], axis=1) for text, part in zip(embedded, parts, strict=True)
    )
    text_width = inputs.shape[1] - len(features.owner)
    mask = np.ones((len(targets), inputs.shape[1]), dtype=bool)
    for row, target in enumerate(targets):
        mask[row, text_width:] = [owner in evidence[target.symptom] for owner in features.owner]
    classifiers = classifiers_of(train, inputs, targets, definition, None if mask.all() else mask)
    return Job(f"{version}/{setting}", targets, classifiers, others, params)
