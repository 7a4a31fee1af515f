"""Neural-text and neural-text-tab: classifiers on a note's embedding, the second also on the tabular evidence.

SimSUM, Section 3.2.1 and Appendices F.3 and F.4: one hidden layer with ReLU, sigmoid or softmax output, cross-entropy
loss, Adam.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.learning import Baselines, Neural, Schedule
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.note_vectors import EMBEDDINGS, NoteVectors
from tasks.baselines.targets import (
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
from tasks.network.graph import EVIDENCE_SETTINGS, evidence_columns

WEIGHT_STREAM, BATCH_STREAM = 41, 42
FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8
"""Of Adam: the shares that its moments keep, and what is added to the root of the second."""


@dataclass(frozen=True)
class Classifier:
    """One classifier's ``inputs`` (n, d) and ``labels`` (n,), of ``values``; ``stream``: of its initial weights."""

    inputs: Singles
    labels: Integers
    values: int
    stream: int

    @property
    def outputs(self) -> int:
        """Output neurons: one sigmoid for two values, otherwise a softmax over the values (Appendix F.3)."""
        return 1 if self.values == 2 else self.values


def initial_weights(classifier: Classifier, hidden: int, seed: int) -> list[Singles]:
    """Weights and biases of the two layers, (hidden, d), (hidden,), (outputs, hidden), (outputs,).

    Uniform within 1/sqrt(inputs), as in torch's Linear layers.
    """
    random = np.random.default_rng([seed, WEIGHT_STREAM, classifier.stream])
    d, o = classifier.inputs.shape[1], classifier.outputs
    shapes = (((hidden, d), d), ((hidden,), d), ((o, hidden), hidden), ((o,), hidden))
    return [random.uniform(-(inputs**-0.5), inputs**-0.5, shape).astype(np.float32) for shape, inputs in shapes]


def batch_order(rows: int, epochs: int, seed: int) -> list[Integers]:
    """The order of the rows in each epoch; it depends on the seed only, so classifiers with one seed share it."""
    random = np.random.default_rng([seed, BATCH_STREAM])
    return [random.permutation(rows) for _ in range(epochs)]


def rate_for(rows: int, schedule: Schedule, params: Neural) -> float:
    """The schedule's learning rate, raised on fewer than ``least_rows`` rows, as their epochs have fewer steps."""
    return schedule.learning_rate * max(1.0, params.least_rows / max(rows, params.batch_size))


class Network:
    """Weights and biases of two layers, which are parts of one vector, so that a step of Adam is of them all."""

    def __init__(self, layers: Sequence[Singles], rate: float, decay: float) -> None:
        self.vector = np.concatenate([layer.ravel() for layer in layers])
        self.slope, self.mean, self.square, self.step = (np.zeros_like(self.vector) for _ in range(4))
        ends = np.cumsum([layer.size for layer in layers])[:-1]
        self.layers, self.slopes = (
            [part.reshape(layer.shape) for part, layer in zip(np.split(vector, ends), layers, strict=True)]
            for vector in (self.vector, self.slope)
        )
        self.rate, self.decay, self.steps = rate, decay, 0

    def hidden(self, inputs: Singles) -> Singles:
        """The hidden layer (n, hidden) of ``inputs`` (n, d)."""
        values = inputs @ self.layers[0].T
        values += self.layers[1]
        return np.maximum(values, 0, out=values)

    def probabilities(self, hidden: Singles) -> Floats:
        """Probabilities (n, values), in double precision."""
        outputs = (hidden @ self.layers[2].T + self.layers[3]).astype(np.float64)
        if outputs.shape[1] == 1:
            outputs = np.concatenate([np.zeros_like(outputs), outputs], axis=1)
        powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def train(self, inputs: Singles, truth: Floats) -> None:
        """A step of Adam on the mean cross-entropy of ``inputs`` (n, d), whose ``truth`` is 0 or 1, (n, values)."""
        hidden = self.hidden(inputs)
        errors = (self.probabilities(hidden) - truth)[:, -len(self.layers[3]) :]
        errors = (errors / len(inputs)).astype(np.float32)
        inner = errors @ self.layers[2]
        inner *= hidden > 0
        np.matmul(inner.T, inputs, out=self.slopes[0])
        inner.sum(axis=0, out=self.slopes[1])
        np.matmul(errors.T, hidden, out=self.slopes[2])
        errors.sum(axis=0, out=self.slopes[3])
        self._adam()

    def _adam(self) -> None:
        """A step with an L2 penalty.

        ``mean`` and ``square`` are sums: Adam's moments without their factors 1 - FIRST and 1 - SECOND, which ``size``
        and ``scale`` include, as an operation on all weights takes as long as a tenth of a product.
        """
        self.steps += 1
        scale = ((1 - SECOND) / (1 - SECOND**self.steps)) ** 0.5
        size = self.rate * (1 - FIRST) / (1 - FIRST**self.steps) / scale
        slope, step = self.slope, self.step
        slope += np.multiply(self.vector, self.decay, out=step)
        self.mean *= FIRST
        self.mean += slope
        self.square *= SECOND
        self.square += np.multiply(slope, slope, out=step)
        np.sqrt(self.square, out=step)
        step += EPSILON / scale
        np.divide(self.mean, step, out=step)
        step *= size
        self.vector -= step


def train_and_predict(classifier: Classifier, others: Singles, params: Neural, seed: int) -> Floats:
    """Train ``classifier``; return its probabilities (k, values) on ``others`` (k, d)."""
    schedule = params.two_values if classifier.values == 2 else params.more_values
    rows, size = len(classifier.labels), params.batch_size
    weights = initial_weights(classifier, params.hidden, seed)
    network = Network(weights, rate_for(rows, schedule, params), params.weight_decay)
    truth = np.eye(classifier.values)[classifier.labels]
    for order in batch_order(rows, schedule.epochs, seed):
        for batch in np.split(order, range(size, rows, size)):
            network.train(classifier.inputs[batch], truth[batch])
    return network.probabilities(network.hidden(others))


TEXT, TEXT_TAB = "neural-text", "neural-text-tab"
MEAN = "mean"
"""The embedding that neural-text-tab and BN-text read."""


@dataclass(frozen=True)
class Job:
    """A classifier of ``target``, trained once per seed, and the inputs ``others`` to predict on."""

    condition: str
    target: Target
    classifier: Classifier
    others: Singles
    params: Baselines


def train_job(job: Job) -> list[Floats]:
    """Probabilities on ``others`` (k, values), one entry per seed."""
    return [train_and_predict(job.classifier, job.others, job.params.neural, seed) for seed in job.params.seeds]


def cannot_fit(parts: Parts) -> dict[str, str]:
    """Reasons by symptom: a classifier needs two values to tell apart."""
    return lacking(parts, values=2)


def make_job(condition: str, target: Target, parts: Parts, inputs: Sequence[Singles], params: Baselines) -> Job:
    """A job on ``inputs`` (n, d) of train and test records; initial weights do not depend on other targets."""
    stream = parts.definition.variables.index(target.symptom)
    classifier = Classifier(inputs[0], labels_of(parts.train, target), len(target.values), stream)
    return Job(condition, target, classifier, inputs[1], params)


def jobs_of(parts: Parts, vectors: NoteVectors, params: Baselines, *, tables: bool = False) -> Iterator[Job]:
    """One job per note version, embedding and symptom, or with ``tables`` on text and evidence, per evidence setting.

    Span embeddings differ by symptom.
    """
    vectors = vectors.as_released(params.neural.as_released)
    records = [part["record"].to_numpy() for part in (parts.train, parts.test)]
    targets = fitted_targets(parts, cannot_fit(parts))
    names: Sequence[Any] = EVIDENCE_SETTINGS if tables else EMBEDDINGS
    for version, name in product(NOTE_VERSIONS, names):
        kind = MEAN if tables else name
        shared = vectors.inputs(kind, version, *records) if kind != "span" else []
        for target in targets:
            inputs = shared or vectors.inputs(kind, version, *records, symptom=target.symptom)
            if tables:
                features = tabular_features(evidence_columns(parts.definition, target.symptom, name), parts)
                inputs = [np.concatenate(pair, axis=1) for pair in zip(inputs, features, strict=True)]
            yield make_job(f"{version}/{name}", target, parts, inputs, params)


def predict(
    parts: Parts, vectors: NoteVectors, params: Baselines, *, system: str = TEXT, tables: bool = False
) -> pd.DataFrame:
    """PREDICTIONS for each note version and seed: of neural-text by embedding, with ``tables`` by evidence setting.

    Conditions are as ``normal/mean`` and ``normal/all``.
    """
    jobs, rows = list(jobs_of(parts, vectors, params, tables=tables)), []
    for job, by_seed in zip(jobs, run_jobs(train_job, jobs, params.processes), strict=True):
        keys = {"system": TEXT_TAB if tables else system, "condition": job.condition}
        for seed, probabilities in zip(params.seeds, by_seed, strict=True):
            rows.append(prediction_rows(parts.test, probabilities, job.target, seed=seed, **keys))
    return prediction_table(rows)
