"""The neural classifier of Appendix F.3, trained in batches of classifiers. The only importer of torch in this room.

One hidden layer with ReLU, sigmoid or softmax output, cross-entropy loss, Adam. Classifiers with the same inputs and
batch order are trained together: their hidden layers are concatenated in one matrix, so that a step is two large matrix
products whatever the number of classifiers. The result is the same as training each classifier separately.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.optim.adam import adam

from schemas.params.baselines import Neural, Schedule
from tasks.baselines.arrays import Flags, Floats, Integers, Singles

WEIGHT_STREAM, BATCH_STREAM = 41, 42
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""Precision of the two large products of a step; weights, Adam and all other arithmetic are float32."""


@dataclass(frozen=True)
class Classifiers:
    """Classifiers with the same inputs.

    ``inputs`` (n, d); ``labels`` (n, m), one column per classifier, each with ``values`` values; ``feature_mask``
    (m, d): the inputs that each classifier uses (None: all); ``streams`` (m): random streams of the initial weights.
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


def initial_weights(classifiers: Classifiers, hidden: int, seed: int) -> list[Singles]:
    """Initial weights, uniform within 1/sqrt(inputs) as in torch's Linear layers.

    Shapes: (m, hidden, d), (m, hidden), (m, outputs, hidden), (m, outputs); weights of masked inputs are 0.
    """
    d, o = classifiers.inputs.shape[1], classifiers.outputs
    parts = []
    for number, stream in enumerate(classifiers.streams):
        random = np.random.default_rng([seed, WEIGHT_STREAM, stream])
        mask = np.ones(d, dtype=bool) if classifiers.feature_mask is None else classifiers.feature_mask[number]
        inner, outer = 1 / np.sqrt(mask.sum()), 1 / np.sqrt(hidden)
        shapes = (((hidden, d), inner), ((hidden,), inner), ((o, hidden), outer), ((o,), outer))
        weights = [random.uniform(-bound, bound, shape).astype(np.float32) for shape, bound in shapes]
        weights[0] *= mask
        parts.append(weights)
    return [np.stack([weights[layer] for weights in parts]) for layer in range(4)]


def batch_order(rows: int, epochs: int, seed: int) -> list[Integers]:
    """The order of the rows in each epoch; it depends on the seed only, so classifiers with one seed share it."""
    random = np.random.default_rng([seed, BATCH_STREAM])
    return [random.permutation(rows) for _ in range(epochs)]


def epochs_for(rows: int, schedule: Schedule, params: Neural) -> int:
    """The schedule's epochs, raised on fewer than ``least_rows`` rows to keep the number of steps."""
    return math.ceil(schedule.epochs * max(1.0, params.least_rows / rows))


def train_and_predict(
    classifiers: Classifiers, others: Singles, params: Neural, seed: int, device: str = "cpu"
) -> Floats:
    """Train ``classifiers`` on ``device`` and return their probabilities on ``others`` (k, d): (m, k, values)."""
    schedule = params.two_values if classifiers.values == 2 else params.more_values
    with torch.no_grad(), _single_thread():
        networks = JointNetworks(classifiers, params, schedule, seed, device)
        rows = len(classifiers.inputs)
        for order in batch_order(rows, epochs_for(rows, schedule, params), seed):
            networks.train_epoch(order)
        probabilities: Floats = networks.probabilities(others).cpu().numpy()
        return probabilities


@contextmanager
def _single_thread() -> Iterator[None]:
    """Run torch with one thread, so that the last bits do not depend on the number of processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class JointNetworks:
    """m classifiers on one device, as one network of two linear layers, block-diagonal in the second.

    Weights outside the blocks and of masked inputs start at 0 and get no gradient. Gradients are written out instead
    of using autograd, as each is one product.
    """

    def __init__(
        self, classifiers: Classifiers, params: Neural, schedule: Schedule, seed: int, device: str = "cpu"
    ) -> None:
        self._m, self._o, self._batch = len(classifiers.streams), classifiers.outputs, params.batch_size
        self._device = device
        w1, b1, w2, b2 = (self._tensor(w) for w in initial_weights(classifiers, params.hidden, seed))
        starts = [w1.flatten(0, 1), b1.flatten(), torch.block_diag(*w2), b2.flatten()]
        self._adam = _Adam(starts, schedule.learning_rate, params.weight_decay)
        self._w1, self._b1, self._w2, self._b2 = self._adam.weights
        self._blocks = torch.block_diag(*torch.ones_like(w2))
        self._mask = self._weight_mask(classifiers, params.hidden)
        self._inputs = self._tensor(np.ascontiguousarray(classifiers.inputs)).to(PRECISIONS[params.precision])
        self._targets = self._one_hot(self._tensor(classifiers.labels))

    def _tensor(self, array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)

    def _one_hot(self, labels: torch.Tensor) -> torch.Tensor:
        """(n, m) labels to (n, m * outputs) target probabilities."""
        targets = labels if self._o == 1 else torch.nn.functional.one_hot(labels, self._o).flatten(1)
        return targets.float()

    def _weight_mask(self, classifiers: Classifiers, hidden: int) -> tuple[int, torch.Tensor] | None:
        """The first column that any classifier masks, and 0 or 1 for each weight from that column on."""
        if classifiers.feature_mask is None:
            return None
        first = int(np.argmin(classifiers.feature_mask.all(axis=0)))
        mask = np.repeat(classifiers.feature_mask[:, first:], hidden, axis=0)
        return first, self._tensor(mask.astype(np.float32))

    def _forward(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Hidden activations (n, m * hidden) and outputs before sigmoid or softmax (n, m * outputs)."""
        hidden = _relu_of_linear(inputs, self._w1.to(inputs.dtype), self._b1.to(inputs.dtype)).float()
        return hidden, torch.addmm(self._b2, hidden, self._w2.t())

    def train_epoch(self, order: Integers) -> None:
        """One pass over all rows, in ``order`` (n,)."""
        rows = self._tensor(order)
        inputs, targets = self._inputs[rows], self._targets[rows]
        for batch in zip(inputs.split(self._batch), targets.split(self._batch), strict=True):
            self._step(*batch)

    def _step(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        hidden, outputs = self._forward(inputs)
        probabilities = outputs.sigmoid() if self._o == 1 else self._softmax(outputs).flatten(1)
        error = (probabilities - targets) / len(inputs)  # gradient of the mean cross-entropy for sigmoid and softmax
        back = torch.ops.aten.threshold_backward(error @ self._w2, hidden, 0)  # through the ReLU
        inner, inner_bias, outer, outer_bias = self._adam.gradients
        _product_into(inner, back.t(), inputs)
        torch.sum(back, dim=0, out=inner_bias)
        torch.mm(error.t(), hidden, out=outer).mul_(self._blocks)
        torch.sum(error, dim=0, out=outer_bias)
        if self._mask is not None:
            first, mask = self._mask
            inner[:, first:] *= mask
        self._adam.step()

    def _softmax(self, outputs: torch.Tensor) -> torch.Tensor:
        return outputs.view(len(outputs), self._m, self._o).softmax(dim=-1)

    def probabilities(self, inputs: Singles) -> torch.Tensor:
        """(m, n, values) of ``inputs`` (n, d); the outputs and all that follows in double precision."""
        outputs = self._forward(self._tensor(inputs).to(self._inputs.dtype))[1].double()
        outputs = outputs.view(len(inputs), self._m, self._o)
        if self._o == 1:
            outputs = torch.cat([torch.zeros_like(outputs), outputs], dim=-1)
        return outputs.softmax(dim=-1).transpose(0, 1)


class _Adam:
    """torch's Adam with its default settings, on all weights concatenated in one vector.

    Calls the function behind torch.optim.Adam: the overhead of that class is as large as the step of a small layer.
    """

    def __init__(self, starts: list[torch.Tensor], learning_rate: float, weight_decay: float) -> None:
        self._weights = torch.cat([start.flatten() for start in starts])
        self._gradient, self._means, self._squares = (torch.zeros_like(self._weights) for _ in range(3))
        self._steps, self._learning_rate, self._weight_decay = self._weights.new_zeros(()), learning_rate, weight_decay
        self.weights, self.gradients = _views(self._weights, starts), _views(self._gradient, starts)

    def step(self) -> None:
        """Update the weights in place from ``gradients``."""
        adam(
            [self._weights],
            [self._gradient],
            [self._means],
            [self._squares],
            [],
            [self._steps],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self._learning_rate,
            weight_decay=self._weight_decay,
            eps=1e-8,
            maximize=False,
        )


def _views(vector: torch.Tensor, like: list[torch.Tensor]) -> list[torch.Tensor]:
    """Consecutive parts of ``vector`` as views with the shapes of ``like``."""
    parts = vector.split([tensor.numel() for tensor in like])
    return [part.view(tensor.shape) for part, tensor in zip(parts, like, strict=True)]


def _relu_of_linear(inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """``relu(inputs @ weight.T + bias)``, fused on a CPU where oneDNN is available."""
    if inputs.device.type == "cpu" and torch.backends.mkldnn.is_available():
        hidden: torch.Tensor = torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "relu", [], "")
        return hidden
    return torch.addmm(bias, inputs, weight.t()).relu_()


def _product_into(out: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    """``left @ right`` in the precision of ``right``."""
    if right.dtype == out.dtype:
        torch.mm(left, right, out=out)
    else:
        out.copy_(torch.mm(left.to(right.dtype), right))
