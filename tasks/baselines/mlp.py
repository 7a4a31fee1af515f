"""The neural classifier of Appendix F.3, trained in batches of classifiers. The only importer of torch in this room.

One hidden layer with ReLU, sigmoid or softmax output, cross-entropy loss, Adam. Classifiers with the same numbers of
rows, inputs and values are trained together, one batched product a layer. The result is the same as training each
classifier separately.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from schemas.params.learning import Neural, Schedule
from tasks.baselines.targets import Flags, Floats, Integers, Singles

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
