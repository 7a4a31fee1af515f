"""Records drawn from a network in ancestral order (SimSUM, Section 2.1), all rows of a variable at once.

Each variable has a random stream of its own, told from the others by its name: a record's values depend on the seed,
its row and the network, and neither on the number of records nor on the file's order. So more records, or another leaf
in the network, keep what was drawn before.
"""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import NetworkError
from tasks.network.coding import Codes, combine, decode, encode
from tasks.network.distributions import Floats
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import posterior_of_codes

SAMPLE_STREAM = 1
"""Tells the streams of sampling from those of other stages with the same seed."""


def sample(
    network: NetworkDefinition, n: int, seed: int | Sequence[int], *, given: pd.DataFrame | None = None
) -> pd.DataFrame:
    """``n`` records: ``record`` (0, 1, ...), then the network's variables in order.

    ``given`` fixes some variables, in one row for all records or one row for each; the rest is drawn from the exact
    conditional distribution: in ancestral order where a variable has no fixed effect, from its posterior where it has
    one.

    Raises NetworkError for an unknown variable or value in ``given``, for its wrong length and for an impossible row.
    """
    codes = _fixed(network, n, given)
    clamped = network.ancestors(codes) - set(codes)
    for name in network.order:
        if name in codes:
            continue
        stream = np.random.default_rng([*np.atleast_1d(seed).tolist(), SAMPLE_STREAM, crc32(name.encode())])
        if name in clamped:
            codes[name] = _draw(np.cumsum(posterior_of_codes(network, codes, n, name), axis=1), stream)
        else:
            codes[name] = _draw_given_parents(network, name, codes, n, stream)
    columns = {name: decode(network, name, codes[name]) for name in network.variables}
    return pd.DataFrame({"record": np.arange(n, dtype=np.int64), **columns})


def _fixed(network: NetworkDefinition, n: int, given: pd.DataFrame | None) -> Codes:
    if given is None:
        return {}
    if len(given) not in (1, n):
        raise NetworkError(f"given has {len(given)} rows; expected 1, or one for each of the {n} records")
    codes = encode(network, given, [str(name) for name in given.columns])
    return {name: np.broadcast_to(values, n) for name, values in codes.items()}


def _draw_given_parents(
    network: NetworkDefinition, name: str, codes: Codes, n: int, stream: np.random.Generator
) -> npt.NDArray[np.int64]:
    parents = network.parents(name)
    combination = combine(network, parents, codes, n)
    if network.is_unbounded(name):
        return stream.poisson(network.rates(name).reshape(-1)[combination]).astype(np.int64)
    table = np.exp(network.log_conditional(name))
    return _draw(np.cumsum(table.reshape(-1, table.shape[-1]), axis=1), stream, combination)


def _draw(
    cumulative: Floats, stream: np.random.Generator, rows: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int64]:
    """One code a record by inversion; ``cumulative`` has a row for each record, or one for each index in ``rows``."""
    u = stream.random(len(cumulative) if rows is None else len(rows))
    codes = np.zeros(len(u), dtype=np.int64)
    # The last threshold is left out: it is 1, but for rounding.
    for threshold in cumulative.T[:-1]:
        codes += u >= (threshold if rows is None else threshold[rows])
    return codes
