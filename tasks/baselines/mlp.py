"""The neural classifier of Appendix F.3, many at a time. The only importer of torch in this room.

One hidden layer with ReLU, sigmoid or softmax, cross-entropy, Adam. Classifiers that read the same inputs in the same
order are trained as one: their hidden layers stand side by side in one matrix, so that a step is two large products,
whatever the number of classifiers. Each one's arithmetic is that of training it alone.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.optim.adam import adam

from schemas.params.baselines import Neural, Schedule

Singles = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

WEIGHT_STREAM, BATCH_STREAM = 41, 42
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""Of the two large products of a step; weights, Adam and all else are float32 throughout."""


@dataclass(frozen=True)
class Classifiers:
    """Classifiers that read the same inputs.

    ``inputs`` (n, d); ``labels`` (n, m) codes, one column a classifier, each with ``values`` values; ``sees`` (m, d):
    which inputs a classifier sees (None: all); ``streams`` (m): what tells their random starting weights apart.
    """

    inputs: Singles
    labels: Codes
    values: int
    streams: tuple[int, ...]
    sees: npt.NDArray[np.bool_] | None = None

    @property
    def outputs(self) -> int:
        """Output neurons: one with a sigmoid for two values, else one a value with a softmax (Appendix F.3)."""
        return 1 if self.values == 2 else self.values


def start_weights(classifiers: Classifiers, hidden: int, seed: int) -> list[Singles]:
    """Starting weights, uniform within 1/sqrt(inputs) as torch's Linear layers have them.

    Shapes: (m, hidden, d), (m, hidden), (m, outputs, hidden), (m, outputs); weights of unseen inputs are 0.
    """
    d, o = classifiers.inputs.shape[1], classifiers.outputs
    parts = []
    for number, stream in enumerate(classifiers.streams):
        random = np.random.default_rng([seed, WEIGHT_STREAM, stream])
        sees = np.ones(d, dtype=bool) if classifiers.sees is None else classifiers.sees[number]
        inner, outer = 1 / np.sqrt(sees.sum()), 1 / np.sqrt(hidden)
        shapes = (((hidden, d), inner), ((hidden,), inner), ((o, hidden), outer), ((o,), outer))
        weights = [random.uniform(-bound, bound, shape).astype(np.float32) for shape, bound in shapes]
        weights[0] *= sees
        parts.append(weights)
    return [np.stack([weights[layer] for weights in parts]) for layer in range(4)]


def batch_order(rows: int, epochs: int, seed: int) -> list[Codes]:
    """The order of the rows in each epoch; the seed decides, so that classifiers with the same seed share it."""
    random = np.random.default_rng([seed, BATCH_STREAM])
    return [random.permutation(rows) for _ in range(epochs)]


def epochs_for(rows: int, schedule: Schedule, params: Neural) -> int:
    """The schedule's epochs; on fewer than ``least_rows`` rows more of them, for as many steps as on so many rows."""
    return math.ceil(schedule.epochs * max(1.0, params.least_rows / rows))


def train_and_predict(classifiers: Classifiers, others: Singles, params: Neural, seed: int) -> Floats:
    """Train on ``classifiers`` and give probabilities on ``others`` (k, d): (m, k, values)."""
    schedule = params.two_values if classifiers.values == 2 else params.more_values
    with torch.no_grad(), _one_thread():
        trained = _Side(classifiers, params, schedule, seed)
        for order in batch_order(len(classifiers.inputs), epochs_for(len(classifiers.inputs), schedule, params), seed):
            trained.epoch(torch.from_numpy(order))
        return trained.probabilities(torch.from_numpy(others))


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread, so that the last bits do not depend on how many processors there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Side:
    """m classifiers side by side: two linear layers in which each classifier has a block of its own.

    Weights outside the blocks, and of inputs that a classifier does not see, start at 0 and get no gradient. Gradients
    are written out, as each is a product.
    """

    def __init__(self, classifiers: Classifiers, params: Neural, schedule: Schedule, seed: int) -> None:
        self._m, self._o, self._batch = len(classifiers.streams), classifiers.outputs, params.batch_size
        w1, b1, w2, b2 = (torch.from_numpy(w) for w in start_weights(classifiers, params.hidden, seed))
        starts = [w1.flatten(0, 1), b1.flatten(), torch.block_diag(*w2), b2.flatten()]
        self._adam = _Adam(starts, schedule.learning_rate, params.weight_decay)
        self._w1, self._b1, self._w2, self._b2 = self._adam.weights
        self._own = torch.block_diag(*torch.ones_like(w2))
        self._seen = self._seen_inputs(classifiers, params.hidden)
        self._inputs = torch.from_numpy(np.ascontiguousarray(classifiers.inputs)).to(PRECISIONS[params.precision])
        self._wanted = self._one_hot(torch.from_numpy(classifiers.labels))

    def _one_hot(self, labels: torch.Tensor) -> torch.Tensor:
        """(n, m) codes to (n, m * outputs) wanted probabilities."""
        wanted = labels if self._o == 1 else torch.nn.functional.one_hot(labels, self._o).flatten(1)
        return wanted.float()

    def _seen_inputs(self, classifiers: Classifiers, hidden: int) -> tuple[int, torch.Tensor] | None:
        """The first column that some classifier does not see, and 0 or 1 for each weight from that column on."""
        if classifiers.sees is None:
            return None
        first = int(np.argmin(classifiers.sees.all(axis=0)))
        seen = np.repeat(classifiers.sees[:, first:], hidden, axis=0)
        return first, torch.from_numpy(seen.astype(np.float32))

    def _forward(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Hidden activations (n, m * hidden) and outputs before sigmoid or softmax (n, m * outputs)."""
        hidden = _relu_of_linear(inputs, self._w1.to(inputs.dtype), self._b1.to(inputs.dtype)).float()
        return hidden, torch.addmm(self._b2, hidden, self._w2.t())

    def epoch(self, order: torch.Tensor) -> None:
        inputs, wanted = self._inputs[order], self._wanted[order]
        for batch in zip(inputs.split(self._batch), wanted.split(self._batch), strict=True):
            self._step(*batch)

    def _step(self, inputs: torch.Tensor, wanted: torch.Tensor) -> None:
        hidden, outputs = self._forward(inputs)
        chances = outputs.sigmoid() if self._o == 1 else self._softmax(outputs).flatten(1)
        error = (chances - wanted) / len(inputs)  # gradient of the mean cross-entropy, for sigmoid and softmax alike
        back = torch.ops.aten.threshold_backward(error @ self._w2, hidden, 0)  # through the ReLU
        inner, inner_bias, outer, outer_bias = self._adam.gradients
        _product_into(inner, back.t(), inputs)
        torch.sum(back, dim=0, out=inner_bias)
        torch.mm(error.t(), hidden, out=outer).mul_(self._own)
        torch.sum(error, dim=0, out=outer_bias)
        if self._seen is not None:
            first, seen = self._seen
            inner[:, first:] *= seen
        self._adam.step()

    def _softmax(self, outputs: torch.Tensor) -> torch.Tensor:
        return outputs.view(len(outputs), self._m, self._o).softmax(dim=-1)

    def probabilities(self, inputs: torch.Tensor) -> Floats:
        """(m, n, values), in double precision from the outputs on."""
        outputs = self._forward(inputs.to(self._inputs.dtype))[1].double().view(len(inputs), self._m, self._o)
        if self._o == 1:
            outputs = torch.cat([torch.zeros_like(outputs), outputs], dim=-1)
        chances: Floats = outputs.softmax(dim=-1).transpose(0, 1).numpy()
        return chances


class _Adam:
    """torch's Adam with its own defaults, on weights that stand in one row: a step goes over all of them at once.

    The function that torch.optim.Adam calls: the class takes as long for its own as a small layer does for the step.
    """

    def __init__(self, starts: list[torch.Tensor], learning_rate: float, weight_decay: float) -> None:
        self._row = torch.cat([start.flatten() for start in starts])
        self._gradient, self._means, self._squares = (torch.zeros_like(self._row) for _ in range(3))
        self._steps, self._learning_rate, self._weight_decay = torch.tensor(0.0), learning_rate, weight_decay
        self.weights, self.gradients = _shaped(self._row, starts), _shaped(self._gradient, starts)

    def step(self) -> None:
        adam(
            [self._row],
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


def _shaped(row: torch.Tensor, like: list[torch.Tensor]) -> list[torch.Tensor]:
    """Views of ``row`` with the shapes of ``like``, one after the other."""
    parts = row.split([tensor.numel() for tensor in like])
    return [part.view(tensor.shape) for part, tensor in zip(parts, like, strict=True)]


def _relu_of_linear(inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """``relu(inputs @ weight.T + bias)`` in one pass where there is oneDNN."""
    if torch.backends.mkldnn.is_available():
        hidden: torch.Tensor = torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "relu", [], "")
        return hidden
    return torch.addmm(bias, inputs, weight.t()).relu_()


def _product_into(out: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    """``left @ right`` in the precision of ``right``."""
    if right.dtype == out.dtype:
        torch.mm(left, right, out=out)
    else:
        out.copy_(torch.mm(left.to(right.dtype), right))
