"""Neural-text: a classifier on the note's embedding (Section 3.2.1, Appendix F.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.params.baselines import Baselines
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.arrays import Flags, Floats, Singles
from tasks.baselines.mlp import Classifiers, train_and_predict
from tasks.baselines.note_vectors import EMBEDDINGS, NoteVectors
from tasks.baselines.targets import Target, labels_of, prediction_rows, targets_of
from tasks.baselines.workers import run_jobs
from tasks.device import torch_device
from tasks.network.graph import NetworkDefinition

SYSTEM = "neural-text"


@dataclass(frozen=True)
class Job:
    """Classifiers with the same inputs, trained once per seed, and the inputs ``others`` to predict on."""

    condition: str
    targets: tuple[Target, ...]
    classifiers: Classifiers
    others: Singles
    params: Baselines


def train_job(job: Job) -> list[Floats]:
    """Probabilities on ``others`` (m, k, values), one entry per seed."""
    params, device = job.params, torch_device(job.params.device, "baselines.device")
    return [train_and_predict(job.classifiers, job.others, params.neural, seed, device) for seed in params.seeds]


def joint_targets(definition: NetworkDefinition) -> list[tuple[Target, ...]]:
    """Symptoms whose classifiers can be trained together: those with the same number of values."""
    targets = targets_of(definition)
    sizes = sorted({len(target.values) for target in targets})
    return [tuple(target for target in targets if len(target.values) == size) for size in sizes]


def classifiers_of(
    train: pd.DataFrame,
    inputs: Singles,
    targets: Sequence[Target],
    definition: NetworkDefinition,
    feature_mask: Flags | None = None,
) -> Classifiers:
    """Classifiers of ``targets`` on ``inputs``; initial weights do not depend on what else is trained in the job."""
    labels = np.stack([labels_of(train, target) for target in targets], axis=1)
    streams = tuple(definition.variables.index(target.symptom) for target in targets)
    return Classifiers(inputs, labels, len(targets[0].values), streams, feature_mask)


def jobs_of(
    definition: NetworkDefinition, vectors: NoteVectors, train: pd.DataFrame, test: pd.DataFrame, params: Baselines
) -> list[Job]:
    """One job per note version, embedding and group of symptoms; span embeddings differ by symptom."""
    jobs = []
    vectors = vectors.as_released(params.neural.as_released)
    ids = [part["record"].to_numpy() for part in (train, test)]
    for version in NOTE_VERSIONS:
        for kind in EMBEDDINGS:
            groups = joint_targets(definition)
            if kind == "span":
                groups = [(target,) for group in groups for target in group]
            for targets in groups:
                inputs, others = vectors.inputs(kind, version, *ids, symptom=targets[0].symptom)
                classifiers = classifiers_of(train, inputs, targets, definition)
                jobs.append(Job(f"{version}/{kind}", targets, classifiers, others, params))
    return jobs


def predict(
    definition: NetworkDefinition, vectors: NoteVectors, train: pd.DataFrame, test: pd.DataFrame, params: Baselines
) -> pd.DataFrame:
    """PREDICTIONS of neural-text for each note version, embedding and seed; conditions as ``normal/mean``."""
    return predictions_of(SYSTEM, jobs_of(definition, vectors, train, test, params), test, params)


def predictions_of(system: str, jobs: Sequence[Job], test: pd.DataFrame, params: Baselines) -> pd.DataFrame:
    """Train all jobs and return their probabilities as PREDICTIONS."""
    rows = []
    for job, by_seed in zip(jobs, run_jobs(train_job, jobs, params.processes), strict=True):
        for seed, by_target in zip(params.seeds, by_seed, strict=True):
            for target, probabilities in zip(job.targets, by_target, strict=True):
                rows.append(
                    prediction_rows(test, probabilities, target, system=system, condition=job.condition, seed=seed)
                )
    return pd.concat(rows, ignore_index=True)
