"""Fits the parameters of a network of known structure to records (SimSUM, Appendix F.1)."""

from dataclasses import replace
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import NetworkError
from schemas.params.network import Fit
from tasks.network.adam import descend
from tasks.network.coding import Codes, combine, encode
from tasks.network.design import design_of, with_parameters
from tasks.network.distributions import Floats, Table
from tasks.network.graph import NetworkDefinition, Variable, in_categories
from tasks.network.likelihoods import likelihood_of
from tasks.network.newton import maximise

FIT_STREAM = 2

_DECIMALS = 9
"""Decimals of fitted parameters. Later digits differ between processors, whose linear algebra sums in another order;
standard errors are ten million times as large."""


def fit(definition: NetworkDefinition, records: pd.DataFrame, params: Fit, *, seed: int = 0) -> NetworkDefinition:
    """The network of ``definition`` with parameters fitted to ``records``.

    Probability tables are counted with pgmpy and a K2 prior; noisy-OR, logistic and Poisson parameters are maximum
    likelihood estimates found by ``params.optimiser``. Counts become categories up to the highest count observed, the
    last one open. ``seed`` is used by Adam only.

    Raises TableError for a missing column, NetworkError for an unknown value or no records.
    """
    if records.empty:
        raise NetworkError(f"network {definition.name}: no records to fit")
    codes = encode(definition, records, definition.variables)
    tables = _fit_tables(definition, records)
    fitted = [_fit_node(definition, name, codes, params, seed) for name in definition.variables if name not in tables]
    tops = {name: max(1, int(codes[name].max())) for name in definition.variables if definition.is_count(name)}
    network = definition.with_variables([*tables.values(), *fitted], name=f"{definition.name}, fitted")
    return in_categories(network, tops)


def _fit_tables(definition: NetworkDefinition, records: pd.DataFrame) -> dict[str, Variable]:
    from tasks.network.pgmpy_bridge import fit_tables  # pgmpy takes seconds to import

    names = [name for name in definition.variables if isinstance(definition.variable(name).distribution, Table)]
    tables = fit_tables(definition, records, names) if names else {}
    return {name: replace(definition.variable(name), distribution=Table(table)) for name, table in tables.items()}


def _fit_node(definition: NetworkDefinition, name: str, codes: Codes, params: Fit, seed: int) -> Variable:
    node, design = definition.variable(name), design_of(definition, name)
    likelihood = likelihood_of(node.distribution)
    combinations = combine(definition, definition.parents(name), codes, len(codes[name]))
    if params.optimiser == "adam":
        random = np.random.default_rng([seed, FIT_STREAM, crc32(name.encode())])
        w = descend(design.matrix, combinations, codes[name], likelihood, params.adam, random)
    else:
        n, s = totals(combinations, codes[name], len(design.matrix))
        w = np.round(maximise(design.matrix, n[None], s[None], likelihood)[0], _DECIMALS)
    return with_parameters(node, design.columns, likelihood.to_reported(w))


def totals(combinations: npt.NDArray[np.int64], codes: npt.NDArray[np.int64], rows: int) -> tuple[Floats, Floats]:
    """Number of records and sum of codes for each combination, shape (rows,) each."""
    n = np.bincount(combinations, minlength=rows).astype(float)
    return n, np.bincount(combinations, weights=codes, minlength=rows).astype(float)
