"""Neural-text and neural-text-tab: classifiers on a note's embedding, the second also on the tabular evidence.

SimSUM, Section 3.2.1 and Appendices F.3 and F.4.

The neural classifier of Appendix F.3, trained in batches of classifiers. The only importer of torch in this room.

One hidden layer with ReLU, sigmoid or softmax output, cross-entropy loss, Adam. Classifiers with the same numbers of
rows, inputs and values are trained together, one batched product a layer. The result is the same as training each
classifier separately.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import nn

from schemas.params.learning import Baselines, Neural, Schedule
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.note_vectors import EMBEDDINGS, NoteVectors
from tasks.baselines.targets import (
    Flags,
    Floats,
    Integers,
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
from tasks.network.evidence import EVIDENCE_SETTINGS, EvidenceSetting, evidence_columns

WEIGHT_STREAM, BATCH_STREAM = 41, 42
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""Precision of the product with the inputs; weights, Adam and all other arithmetic are float32."""


@dataclass(frozen=True)
class Classifiers:
    """m classifiers.

    ``inputs`` (m, n, d), or (1, n, d) for the same inputs; ``labels`` (n, m), each with ``values`` values;
    ``streams`` (m): random streams of the initial weights; ``feature_mask`` (m, d): the inputs that each classifier
    uses (None: all).
    """

    inputs: Singles
    labels: Integers
    values: int
    streams: tuple[int, ...]
    feature_mask: Flags | None = None

    @property
    def outputs(self) -> int:
        """Output neurons: one sigmoid for two values, otherwise a softmax over the values (Appendix F.3)."""
        return 1 if self.values == 2 else self.values

    def used(self, inputs: Singles) -> torch.Tensor:
        """``inputs`` (m or 1, k, d) as a tensor (m, k, d), 0 where masked."""
        tensor = torch.from_numpy(inputs).expand(len(self.streams), -1, -1)
        return tensor if self.feature_mask is None else tensor * torch.from_numpy(self.feature_mask[:, None])


def initial_weights(classifiers: Classifiers, hidden: int, seed: int) -> list[Singles]:
    """Initial weights, uniform within 1/sqrt(inputs) as in torch's Linear layers.

    Shapes: (m, hidden, d), (m, hidden), (m, outputs, hidden), (m, outputs).
    """
    d, o = classifiers.inputs.shape[2], classifiers.outputs
    parts = []
    for number, stream in enumerate(classifiers.streams):
        random = np.random.default_rng([seed, WEIGHT_STREAM, stream])
        used = d if classifiers.feature_mask is None else classifiers.feature_mask[number].sum()
        inner, outer = 1 / np.sqrt(used), 1 / np.sqrt(hidden)
        shapes = (((hidden, d), inner), ((hidden,), inner), ((o, hidden), outer), ((o,), outer))
        parts.append([random.uniform(-bound, bound, shape).astype(np.float32) for shape, bound in shapes])
    return [np.stack([weights[layer] for weights in parts]) for layer in range(4)]


def batch_order(rows: int, epochs: int, seed: int) -> list[Integers]:
    """The order of the rows in each epoch; it depends on the seed only, so classifiers with one seed share it."""
    random = np.random.default_rng([seed, BATCH_STREAM])
    return [random.permutation(rows) for _ in range(epochs)]


def epochs_for(rows: int, schedule: Schedule, params: Neural) -> int:
    """The schedule's epochs, raised on fewer than ``least_rows`` rows to keep the number of steps of whole batches."""
    return math.ceil(schedule.epochs * max(1.0, params.least_rows / max(rows, params.batch_size)))


class Networks(nn.Module):
    """m networks with one hidden layer each."""

    def __init__(self, classifiers: Classifiers, params: Neural, seed: int) -> None:
        super().__init__()
        w1, b1, w2, b2 = (torch.from_numpy(weights) for weights in initial_weights(classifiers, params.hidden, seed))
        self.inner, self.inner_bias = nn.Parameter(w1.mT.contiguous()), nn.Parameter(b1[:, None])
        self.outer, self.outer_bias = nn.Parameter(w2.mT.contiguous()), nn.Parameter(b2[:, None])
        self.precision = PRECISIONS[params.precision]

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """(m, n, d) to the outputs before sigmoid or softmax, (m, n, outputs)."""
        factors = (tensor.to(self.precision) for tensor in (self.inner_bias, inputs, self.inner))
        hidden = torch.baddbmm(*factors).relu().float()
        return torch.baddbmm(self.outer_bias, hidden, self.outer)


def train_and_predict(
    classifiers: Classifiers, others: Singles, params: Neural, seed: int, device: str = "cpu"
) -> Floats:
    """Train ``classifiers`` on ``device``; return their probabilities (m, k, values) on ``others`` (m or 1, k, d)."""
    schedule = params.two_values if classifiers.values == 2 else params.more_values
    with _single_thread():
        networks = Networks(classifiers, params, seed).to(device)
        rate, decay = schedule.learning_rate, params.weight_decay
        adam = torch.optim.Adam(networks.parameters(), lr=rate, weight_decay=decay, fused=True)
        inputs, labels = (
            classifiers.used(classifiers.inputs).to(device),
            torch.from_numpy(classifiers.labels).to(device),
        )
        for order in batch_order(len(labels), epochs_for(len(labels), schedule, params), seed):
            for rows in torch.from_numpy(order).to(device).split(params.batch_size):
                adam.zero_grad()
                _loss(networks(inputs[:, rows]), labels[rows].T).backward()
                adam.step()
        with torch.no_grad():
            return _probabilities(networks(classifiers.used(others).to(device))).cpu().numpy()


def _loss(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Sum over classifiers of the mean cross-entropy of ``outputs`` (m, n, outputs) for ``labels`` (m, n)."""
    if outputs.shape[2] == 1:
        total = nn.functional.binary_cross_entropy_with_logits(outputs[..., 0], labels.float(), reduction="sum")
    else:
        total = nn.functional.cross_entropy(outputs.flatten(0, 1), labels.flatten(), reduction="sum")
    return total / labels.shape[1]


def _probabilities(outputs: torch.Tensor) -> torch.Tensor:
    """Probabilities (m, n, values) of ``outputs`` (m, n, outputs), in double precision."""
    outputs = outputs.double()
    if outputs.shape[2] == 1:
        outputs = torch.cat([torch.zeros_like(outputs), outputs], dim=2)
    return outputs.softmax(dim=2)


@contextmanager
def _single_thread() -> Iterator[None]:
    """Run torch with one thread, so that the last bits do not depend on the number of processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


TEXT, TEXT_TAB = "neural-text", "neural-text-tab"
MEAN = "mean"
"""The embedding that neural-text-tab and BN-text read."""


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


def joint_targets(targets: Sequence[Target]) -> list[tuple[Target, ...]]:
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
