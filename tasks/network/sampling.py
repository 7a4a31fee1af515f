"""Records drawn from a network in ancestral order (SimSUM, Section 2.1), all rows of a variable at once.

Each variable has a random stream keyed by its name: a record's values depend on the seed, its row and the network, but
not on the number of records or the order of the file. Sampling more records, or adding a leaf to the network, keeps the
values sampled before.

Records are also resampled, as totals by combination of parent values, which is all that fits need.
"""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.network.coding import Codes, combine, decode
from tasks.network.graph import Floats, NetworkDefinition

SAMPLE_STREAM = 1
"""Separates the random streams of sampling from those of other stages with the same seed."""


def sample(network: NetworkDefinition, n: int, seed: int | Sequence[int]) -> pd.DataFrame:
    """``n`` records: ``record`` (0, 1, ...), then the network's variables in order."""
    codes: Codes = {}
    for name in network.order:
        stream = np.random.default_rng([*np.atleast_1d(seed).tolist(), SAMPLE_STREAM, crc32(name.encode())])
        codes[name] = draw_given_parents(network, name, codes, n, stream)
    columns = {name: decode(network, name, codes[name]) for name in network.variables}
    return pd.DataFrame({"record": np.arange(n, dtype=np.int64), **columns})


def draw_given_parents(
    network: NetworkDefinition, name: str, codes: Codes, n: int, stream: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Codes (n,) of a variable given the codes of its parents, from ``stream``."""
    parents = network.parents(name)
    combination = combine(network, parents, codes, n)
    if network.is_unbounded(name):
        return stream.poisson(network.rates(name).reshape(-1)[combination]).astype(np.int64)
    table = np.exp(network.log_conditional(name))
    cumulative = np.cumsum(table.reshape(-1, table.shape[-1]), axis=1)
    u = stream.random(n)
    drawn = np.zeros(n, dtype=np.int64)
    # By inversion; the last threshold is 1 up to rounding and is left out.
    for threshold in cumulative.T[:-1]:
        drawn += u >= threshold[combination]
    return drawn


def resampled_totals(
    combinations: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    rows: int,
    draws: int,
    random: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Number of records and sum of codes for each of ``rows`` combinations, in ``draws`` resamples of the records.

    ``combinations`` and ``codes``, (records,) each; the result has shape (draws, rows) each. Multinomial counts of the
    distinct kinds of records are equivalent to drawing records with replacement.
    """
    kinds, counts = np.unique(np.stack([combinations, codes], axis=1), axis=0, return_counts=True)
    drawn = random.multinomial(len(codes), counts / len(codes), size=draws).astype(float)
    # Kinds are sorted by combination, so each combination is a range of columns.
    present, starts = np.unique(kinds[:, 0], return_index=True)
    n, s = np.zeros((draws, rows)), np.zeros((draws, rows))
    n[:, present] = np.add.reduceat(drawn, starts, axis=1)
    s[:, present] = np.add.reduceat(drawn * kinds[:, 1], starts, axis=1)
    return n, s
