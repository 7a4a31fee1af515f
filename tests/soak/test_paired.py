"""Step-down maxT over swaps of predictions: false alarms keep the family-wise level, true differences are found."""

import numpy as np
import pytest

from tasks.baselines.comparisons import Swaps, adjusted_p, compare
from tasks.baselines.scoring import Scored
from tasks.baselines.targets import Target

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

RECORDS, MODELS, RUNS, DRAWS = 80, 6, 200, 200


def scored(labels: np.ndarray, accuracy: float, random: np.random.Generator) -> Scored:
    """A model that is right with probability ``accuracy``, with varying confidence."""
    right = random.random(len(labels)) < accuracy
    yes = np.where(right == (labels == 1), 0.5, 0.0) + 0.5 * random.random(len(labels))
    target = Target("cough", ("no", "yes"))
    return Scored("s", "c", target, np.arange(len(labels)), labels, (0,), (np.stack([1 - yes, yes], axis=1),))


def family(accuracies: list[float], seed: int) -> np.ndarray:
    """Adjusted p-values of the first model against each other one, on the same records."""
    random = np.random.default_rng(seed)
    labels = (random.random(RECORDS) < 0.3).astype(np.int64)
    first, *others = (scored(labels, accuracy, random) for accuracy in accuracies)
    found = [compare(first, other, Swaps(seed, DRAWS)) for other in others]
    return adjusted_p(np.array([one.difference for one in found]), np.array([one.swapped for one in found]))


def test_false_alarms_keep_the_level() -> None:
    alarms = np.mean([(family([0.8] * MODELS, seed) < 0.05).any() for seed in range(RUNS)])
    print(f"share of families of {MODELS - 1} equal models with a false alarm: {alarms:.3f}")
    assert alarms < 0.05 + 2 * np.sqrt(0.05 * 0.95 / RUNS)


def test_one_worse_model_is_found_and_equal_ones_are_not() -> None:
    found = np.array([family([0.9] * (MODELS - 1) + [0.6], seed) < 0.05 for seed in range(RUNS)])
    print(f"power {found[:, -1].mean():.2f}, false alarms beside it {found[:, :-1].any(axis=1).mean():.3f}")
    assert found[:, -1].mean() > 0.9
    assert found[:, :-1].any(axis=1).mean() < 0.05 + 2 * np.sqrt(0.05 * 0.95 / RUNS)
