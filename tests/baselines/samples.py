"""Records and random predictions, for tests of the baselines."""

import numpy as np
import pandas as pd

from tasks.baselines.targets import targets_of
from tasks.network.sampling import sample
from tests.support.records import NETWORK

TARGETS = targets_of(NETWORK)


def random_predictions(values: int, n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) drawn from probabilities (n, values)."""
    random = np.random.default_rng([values, seed])
    probabilities = random.dirichlet(np.ones(values), n)
    return np.array([random.choice(values, p=row) for row in probabilities]), probabilities


def records(n: int = 400, seed: int = 3) -> pd.DataFrame:
    return sample(NETWORK, n, seed)
