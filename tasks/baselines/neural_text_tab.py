"""Neural-text-tab: the mean note embedding and the tabular evidence beside each other (Section 3.2.1, F.4)."""

import numpy as np
import pandas as pd

from schemas.evidence import EVIDENCE_SETTINGS, EvidenceSetting, evidence_columns
from schemas.params.baselines import Baselines
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.features import TabularFeatures
from tasks.baselines.input_scale import on_one_scale
from tasks.baselines.neural_text import Job, classifiers_of, predictions_of, side_by_side
from tasks.baselines.note_vectors import NoteVectors
from tasks.baselines.targets import Definition, Target

SYSTEM = "neural-text-tab"
EMBEDDING = "mean"


def predict(
    definition: Definition, vectors: NoteVectors, train: pd.DataFrame, test: pd.DataFrame, params: Baselines
) -> pd.DataFrame:
    """PREDICTIONS for each note version, evidence setting and seed; conditions are ``normal/all`` and the like."""
    jobs = [
        _job(definition, vectors, train, test, params, version, setting, targets)
        for version in NOTE_VERSIONS
        for setting in EVIDENCE_SETTINGS
        for targets in side_by_side(definition)
    ]
    return predictions_of(SYSTEM, jobs, test, params)


def _job(
    definition: Definition,
    vectors: NoteVectors,
    train: pd.DataFrame,
    test: pd.DataFrame,
    params: Baselines,
    version: str,
    setting: EvidenceSetting,
    targets: tuple[Target, ...],
) -> Job:
    """Classifiers on text and the evidence of all of ``targets``; each is kept from seeing what is not its evidence."""
    evidence = {t.symptom: set(evidence_columns(definition, t.symptom, setting)) for t in targets}
    columns = [name for name in definition.variables if any(name in names for names in evidence.values())]
    features = TabularFeatures(columns, definition).fit(train)
    told = on_one_scale(*(vectors.embedding(EMBEDDING, version, part["record"].to_numpy()) for part in (train, test)))
    inputs, others = (
        np.concatenate([embedded, features.transform(part)], axis=1)
        for embedded, part in zip(told, (train, test), strict=True)
    )
    sees = np.ones((len(targets), inputs.shape[1]), dtype=bool)
    for row, target in enumerate(targets):
        sees[row, inputs.shape[1] - len(features.owner) :] = [
            owner in evidence[target.symptom] for owner in features.owner
        ]
    classifiers = classifiers_of(train, inputs, targets, definition, None if sees.all() else sees)
    return Job(f"{version}/{setting}", targets, classifiers, others, params)
