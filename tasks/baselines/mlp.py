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

from schemas.params.baselines import Neural, Schedule

Singles = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

WEIGHT_STREAM, BATCH_STREAM = 41, 42


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
    """m classifiers side by side; gradients are written out, as each is a product or two."""

    def __init__(self, classifiers: Classifiers, params: Neural, schedule: Schedule, seed: int) -> None:
        self._m, self._o = len(classifiers.streams), classifiers.outputs
        self._batch = params.batch_size
        w1, b1, w2, b2 = (torch.from_numpy(w) for w in start_weights(classifiers, params.hidden, seed))
        self._w1, self._b1 = w1.reshape(self._m * params.hidden, -1).contiguous(), b1.reshape(-1).contiguous()
        self._w2, self._b2 = w2.transpose(1, 2).contiguous(), b2[:, None].contiguous()
        self._weights = [self._w1, self._b1, self._w2, self._b2]
        self._adam = torch.optim.Adam(
            self._weights, lr=schedule.learning_rate, weight_decay=params.weight_decay, fused=True
        )
        self._inputs = torch.from_numpy(np.ascontiguousarray(classifiers.inputs))
        self._wanted = self._one_hot(torch.from_numpy(classifiers.labels))
        self._hidden_inputs = self._unseen(classifiers, params.hidden)

    def _one_hot(self, labels: torch.Tensor) -> torch.Tensor:
        """(n, m) codes to (n, m, outputs) wanted probabilities."""
        if self._o == 1:
            return labels[:, :, None].float()
        return torch.nn.functional.one_hot(labels, self._o).float()

    def _unseen(self, classifiers: Classifiers, hidden: int) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Columns that some classifier does not see, and a factor 0 or 1 for each row of the hidden layer there."""
        if classifiers.sees is None:
            return None
        columns = np.flatnonzero(~classifiers.sees.all(axis=0))
        seen = np.repeat(classifiers.sees[:, columns], hidden, axis=0)
        return torch.from_numpy(columns), torch.from_numpy(seen.astype(np.float32))

    def _forward(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Hidden activations (m, n, hidden) and outputs before sigmoid or softmax (m, n, outputs)."""
        hidden = _product(inputs, self._w1).add_(self._b1).relu_()
        hidden = hidden.view(len(inputs), self._m, -1).transpose(0, 1)
        return hidden, torch.baddbmm(self._b2, hidden, self._w2)

    def epoch(self, order: torch.Tensor) -> None:
        for start in range(0, len(order), self._batch):
            rows = order[start : start + self._batch]
            self._step(self._inputs[rows], self._wanted[rows].transpose(0, 1))

    def _step(self, inputs: torch.Tensor, wanted: torch.Tensor) -> None:
        hidden, outputs = self._forward(inputs)
        chances = outputs.sigmoid() if self._o == 1 else outputs.softmax(dim=-1)
        error = (chances - wanted) / len(inputs)  # gradient of the mean cross-entropy, for sigmoid and softmax alike
        back = torch.bmm(error, self._w2.transpose(1, 2)) * (hidden > 0)
        back = back.transpose(0, 1).reshape(len(inputs), -1)
        gradient = _product(back.t().contiguous(), inputs.t().contiguous())
        if self._hidden_inputs is not None:
            columns, seen = self._hidden_inputs
            gradient[:, columns] *= seen
        gradients = [
            gradient,
            back.sum(dim=0),
            torch.bmm(hidden.transpose(1, 2), error),
            error.sum(dim=1, keepdim=True),
        ]
        for weight, value in zip(self._weights, gradients, strict=True):
            weight.grad = value
        self._adam.step()

    def probabilities(self, inputs: torch.Tensor) -> Floats:
        """(m, n, values), in double precision from the outputs on."""
        outputs = self._forward(inputs)[1].double()
        if self._o == 1:
            outputs = torch.cat([torch.zeros_like(outputs), outputs], dim=-1)
        chances: Floats = outputs.softmax(dim=-1).numpy()
        return chances


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """``left @ right.T``; through oneDNN where there is one, which is twice as fast as MKL on AMD processors."""
    if torch.backends.mkldnn.is_available():
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], "")
        return product
    return left @ right.t()
