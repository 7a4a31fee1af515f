"""Neural-text and neural-text-tab: classifiers on a note's embedding, the second also on the tabular evidence.

SimSUM, Section 3.2.1 and Appendices F.3 and F.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from schemas.params.learning import Baselines
from schemas.tables.baselines import EVIDENCE_SETTINGS, EvidenceSetting, evidence_columns
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.mlp import Classifiers, train_and_predict
from tasks.baselines.note_vectors import EMBEDDINGS, NoteVectors
from tasks.baselines.targets import (
    Flags,
    Floats,
    Parts,
    Singles,
    Target,
    fitted_targets,
    labels_of,
    lacking,
    prediction_rows,
    prediction_table,
    tabular_features,
)
from tasks.baselines.workers import run_jobs
from tasks.encoder import torch_device

TEXT, TEXT_TAB = "neural-text", "neural-text-tab"
MEAN = "mean"
"""The embedding that neural-text-tab and BN-text read."""

Groups = list[tuple[Target, ...]]


@dataclass(frozen=True)
class Job:
    """Classifiers of ``targets``, trained once per seed, and the inputs ``others`` to predict on."""

    condition: str
    targets: tuple[Target, ...]
    classifiers: Classifiers
    others: Singles
    params: Baselines


def train_job(job: Job) -> list[Floats]:
    """Probabilities on ``others`` (m, k, values), one entry per seed."""
    params, device = job.params, torch_device(job.params.device, "baselines.device")
    return [train_and_predict(job.classifiers, job.others, params.neural, seed, device) for seed in params.seeds]


def cannot_fit(parts: Parts) -> dict[str, str]:
    """Reasons by symptom: a classifier needs two values to tell apart."""
    return lacking(parts, values=2)


def joint_targets(targets: Sequence[Target]) -> Groups:
    """Symptoms whose classifiers can be trained together: those with the same number of values."""
    sizes = sorted({len(target.values) for target in targets})
    return [tuple(target for target in targets if len(target.values) == size) for size in sizes]


def make_job(
    condition: str,
    targets: tuple[Target, ...],
    parts: Parts,
    inputs: Sequence[Singles],
    params: Baselines,
    mask: Flags | None = None,
) -> Job:
    """A job on ``inputs`` (m or 1, n, d) of train and test records; initial weights do not depend on other targets."""
    labels = np.stack([labels_of(parts.train, target) for target in targets], axis=1)
    streams = tuple(parts.definition.variables.index(target.symptom) for target in targets)
    classifiers = Classifiers(inputs[0], labels, len(targets[0].values), streams, mask)
    return Job(condition, targets, classifiers, inputs[1], params)


def text_jobs(parts: Parts, vectors: NoteVectors, params: Baselines) -> list[Job]:
    """One job per note version, embedding and group of symptoms; span embeddings differ by symptom."""
    vectors = vectors.as_released(params.neural.as_released)
    records = [part["record"].to_numpy() for part in (parts.train, parts.test)]
    jobs, groups = [], joint_targets(fitted_targets(parts, cannot_fit(parts)))
    for version, kind, targets in product(NOTE_VERSIONS, EMBEDDINGS, groups):
        distinct = targets if kind == "span" else targets[:1]
        embedded = [vectors.inputs(kind, version, *records, symptom=target.symptom) for target in distinct]
        inputs = [np.stack(of_part) for of_part in zip(*embedded, strict=True)]
        jobs.append(make_job(f"{version}/{kind}", targets, parts, inputs, params))
    return jobs


def predict(parts: Parts, vectors: NoteVectors, params: Baselines, *, system: str = TEXT) -> pd.DataFrame:
    """PREDICTIONS of neural-text for each note version, embedding and seed; conditions as ``normal/mean``."""
    return _predictions(system, text_jobs(parts, vectors, params), parts, params)


def predict_with_tables(parts: Parts, vectors: NoteVectors, params: Baselines) -> pd.DataFrame:
    """PREDICTIONS of neural-text-tab for each version, evidence setting and seed; conditions as ``normal/all``."""
    vectors = vectors.as_released(params.neural.as_released)
    groups = joint_targets(fitted_targets(parts, cannot_fit(parts)))
    choices = product(NOTE_VERSIONS, EVIDENCE_SETTINGS, groups)
    return _predictions(TEXT_TAB, [_tab_job(parts, vectors, params, *choice) for choice in choices], parts, params)


def _tab_job(
    parts: Parts,
    vectors: NoteVectors,
    params: Baselines,
    version: str,
    setting: EvidenceSetting,
    targets: tuple[Target, ...],
) -> Job:
    """Classifiers on the text and the evidence of all ``targets``; each masks what is not its evidence."""
    evidence = {t.symptom: set(evidence_columns(parts.definition, t.symptom, setting)) for t in targets}
    columns = [name for name in parts.definition.variables if any(name in own for own in evidence.values())]
    tables, owners = tabular_features(columns, parts)
    embedded = vectors.inputs(MEAN, version, *(part["record"].to_numpy() for part in (parts.train, parts.test)))
    inputs = [np.concatenate(pair, axis=1)[None] for pair in zip(embedded, tables, strict=True)]
    of_table = [[owner in evidence[target.symptom] for owner in owners] for target in targets]
    of_text = np.ones((len(targets), embedded[0].shape[1]), dtype=bool)
    mask = np.concatenate([of_text, np.array(of_table, dtype=bool)], axis=1)
    return make_job(f"{version}/{setting}", targets, parts, inputs, params, mask)


def _predictions(system: str, jobs: Sequence[Job], parts: Parts, params: Baselines) -> pd.DataFrame:
    """Train all jobs and return their probabilities as PREDICTIONS."""
    rows = []
    for job, by_seed in zip(jobs, run_jobs(train_job, jobs, params.processes), strict=True):
        keys = {"system": system, "condition": job.condition}
        for seed, by_target in zip(params.seeds, by_seed, strict=True):
            for target, probabilities in zip(job.targets, by_target, strict=True):
                rows.append(prediction_rows(parts.test, probabilities, target, seed=seed, **keys))
    return prediction_table(rows)
