"""Neural-text: a classifier on the note's embedding (Section 3.2.1, Appendix F.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.params.baselines import Baselines
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.input_scale import on_one_scale
from tasks.baselines.mlp import Classifiers, Floats, Singles, train_and_predict
from tasks.baselines.note_vectors import EMBEDDINGS, NoteVectors
from tasks.baselines.targets import Definition, Target, codes_of, prediction_rows, targets_of
from tasks.baselines.workers import run_jobs

SYSTEM = "neural-text"


@dataclass(frozen=True)
class Job:
    """Classifiers that read the same inputs, trained with each seed, and what they are asked about."""

    condition: str
    targets: tuple[Target, ...]
    classifiers: Classifiers
    others: Singles
    params: Baselines


def train_job(job: Job) -> list[Floats]:
    """Probabilities of ``others`` (m, k, values), one entry a seed."""
    return [train_and_predict(job.classifiers, job.others, job.params.neural, seed) for seed in job.params.seeds]


def side_by_side(definition: Definition) -> list[tuple[Target, ...]]:
    """Symptoms whose classifiers can be trained side by side: those with equally many values."""
    targets = targets_of(definition)
    sizes = sorted({len(target.values) for target in targets})
    return [tuple(target for target in targets if len(target.values) == size) for size in sizes]


def classifiers_of(
    train: pd.DataFrame,
    inputs: Singles,
    targets: Sequence[Target],
    definition: Definition,
    sees: np.ndarray | None = None,
) -> Classifiers:
    """Classifiers of ``targets`` on ``inputs``; starting weights do not depend on what is trained beside."""
    labels = np.stack([codes_of(train, target) for target in targets], axis=1)
    streams = tuple(definition.variables.index(target.symptom) for target in targets)
    return Classifiers(inputs, labels, len(targets[0].values), streams, sees)


def jobs_of(
    definition: Definition, vectors: NoteVectors, train: pd.DataFrame, test: pd.DataFrame, params: Baselines
) -> list[Job]:
    """One job a note version, embedding and group of symptoms; spans belong to one symptom each."""
    jobs = []
    for version in NOTE_VERSIONS:
        for kind in EMBEDDINGS:
            groups = side_by_side(definition)
            if kind == "span":
                groups = [(target,) for group in groups for target in group]
            for targets in groups:
                inputs, others = on_one_scale(
                    *(
                        vectors.embedding(kind, version, part["record"].to_numpy(), targets[0].symptom)
                        for part in (train, test)
                    )
                )
                classifiers = classifiers_of(train, inputs, targets, definition)
                jobs.append(Job(f"{version}/{kind}", targets, classifiers, others, params))
    return jobs


def predict(
    definition: Definition, vectors: NoteVectors, train: pd.DataFrame, test: pd.DataFrame, params: Baselines
) -> pd.DataFrame:
    """PREDICTIONS of neural-text for each note version, embedding and seed; conditions as ``normal/mean``."""
    return predictions_of(SYSTEM, jobs_of(definition, vectors, train, test, params), test, params)


def predictions_of(system: str, jobs: Sequence[Job], test: pd.DataFrame, params: Baselines) -> pd.DataFrame:
    """Train all jobs and lay their probabilities out as PREDICTIONS."""
    rows = [
        prediction_rows(test, chances[place], target, system=system, condition=job.condition, seed=seed)
        for job, by_seed in zip(jobs, run_jobs(train_job, jobs, params.processes), strict=True)
        for seed, chances in zip(params.seeds, by_seed, strict=True)
        for place, target in enumerate(job.targets)
    ]
    return pd.concat(rows, ignore_index=True)
