"""Parameter recovery: true value, estimate and 95% interval of every parameter."""

from itertools import product
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import beta

from schemas.params.records import Network
from tasks.network.coding import Codes, combine, design_of, encode, label, parameters
from tasks.network.fitting import fit, likelihood_of, maximise
from tasks.network.graph import Floats, NetworkDefinition, NoisyOr, Table, in_categories
from tasks.network.inference import log_likelihood
from tasks.network.sampling import resampled_totals, sample
from tasks.statistics.bootstrap import LEVEL, bias_corrected_interval
from tasks.statistics.metric_rows import COMPUTED, Row, mean_row, metric_row, metric_table

TRUE, TABLES = "true", "K2 counts"
FEWEST = 20
"""Records that bear on a parameter, below which resamples too often miss an event altogether."""
FEWEST_NOISY_OR = 50
"""The same for a cause of a noisy-OR, whose estimate is often 0 or 1 in fewer, and in every resample then."""
FEWEST_IN_ALL = 200
"""Records below which intervals of regressions and noisy-OR hold the truth too rarely: at 50, in 62 to 85%."""
RECOVERY_STREAM, HELD_OUT_STREAM = 3, 4
LABELS = {"newton": "maximum likelihood", "adam": "Adam, published settings"}


def recovery_table(definition: NetworkDefinition, records: pd.DataFrame, params: Network, seed: int) -> pd.DataFrame:
    """The recovery table, in the columns of metric tables.

    Metric "parameter" for the systems "true", "K2 counts" (tables) and both optimisers (noisy-OR, logistic, Poisson);
    rows with item "all" summarise each fit. ``n`` is the number of records that the estimate depends on. The interval
    of a counted probability is that of its Beta posterior under the K2 prior, as a bootstrap is invalid for
    combinations with few records; the others are bootstrap intervals over records, from `FEWEST_IN_ALL` on.
    An ``n`` below `FEWEST`, or `FEWEST_NOISY_OR`, has none.
    """
    condition = f"{len(records)} records"
    settings = {name: params.fit.model_copy(update={"optimiser": name}) for name in LABELS}
    fits = {name: fit(definition, records, one, seed=seed) for name, one in settings.items()}
    codes = encode(definition, records, definition.variables)
    rows: list[Row] = []
    for name in definition.variables:
        if isinstance(definition.variable(name).distribution, Table):
            rows += _table_rows(definition, fits["newton"], name, codes)
        else:
            rows += _parametric_rows(definition, fits, name, codes, params.draws, seed)
    summary = _summary_rows(definition, fits, rows, records, params, seed)
    return metric_table([*rows, *summary], stage="network", condition=condition, provenance=COMPUTED)


def _table_rows(true: NetworkDefinition, fitted: NetworkDefinition, name: str, codes: Codes) -> list[Row]:
    parents, values = true.parents(name), true.values(name)
    truth = np.exp(true.log_conditional(name)).reshape(-1, len(values))
    found = np.exp(fitted.log_conditional(name)).reshape(-1, len(values))
    seen = np.bincount(combine(true, parents, codes, len(codes[name])), minlength=len(truth))
    combinations = product(*map(range, true.cards(parents)))  # one empty combination for a root
    rows = []
    for row, combination in enumerate(combinations):
        given = ", ".join(f"{p}={true.values(p)[c]}" for p, c in zip(parents, combination, strict=True))
        for column, value in list(enumerate(values))[1:]:
            item = f"{name}={value}" + (f" | {given}" if given else "")
            shared: Row = {"metric": "parameter", "item": item, "n": int(seen[row])}
            total = seen[row] + len(values)
            low, high = beta.interval(LEVEL, found[row, column] * total, (1 - found[row, column]) * total)
            low, high = (low, high) if seen[row] >= FEWEST else (np.nan, np.nan)
            rows.append(metric_row(system=TRUE, value=truth[row, column], **shared))
            rows.append(metric_row(system=TABLES, value=found[row, column], low=low, high=high, **shared))
    return rows


def _parametric_rows(
    true: NetworkDefinition,
    fits: dict[str, NetworkDefinition],
    name: str,
    codes: Codes,
    draws: int,
    seed: int,
) -> list[Row]:
    design = design_of(true, name)
    combinations = combine(true, true.parents(name), codes, len(codes[name]))
    resampled = _bootstrap(true, name, design.matrix, combinations, codes, draws, seed)
    seen = np.bincount(combinations, minlength=len(design.matrix)) @ design.matrix
    found = {system: parameters(network.variable(name), design.columns) for system, network in fits.items()}
    fewest = FEWEST_NOISY_OR if isinstance(true.variable(name).distribution, NoisyOr) else FEWEST
    rows = []
    for i, (column, truth) in enumerate(
        zip(design.columns, parameters(true.variable(name), design.columns), strict=True)
    ):
        shared: Row = {"metric": "parameter", "item": label(true, name, column), "n": int(seen[i])}
        rows.append(metric_row(system=TRUE, value=truth, **shared))
        enough = seen[i] >= fewest and len(codes[name]) >= FEWEST_IN_ALL
        estimate = found["newton"][i]
        low, high = bias_corrected_interval(resampled[:, i], estimate, seen[i]) if enough else (np.nan, np.nan)
        best: Row = {"value": estimate, "low": low, "high": high}
        rows.append(metric_row(system=LABELS["newton"], seed=seed, **best, **shared))
        rows.append(metric_row(system=LABELS["adam"], value=found["adam"][i], seed=seed, **shared))
    return rows


def _bootstrap(
    network: NetworkDefinition,
    name: str,
    design: Floats,
    combinations: npt.NDArray[np.int64],
    codes: Codes,
    draws: int,
    seed: int,
) -> Floats:
    """Refitted parameters of ``draws`` resamples, shape (draws, parameters); nan where a resample has no data."""
    random = np.random.default_rng([seed, RECOVERY_STREAM, crc32(name.encode())])
    n, s = resampled_totals(combinations, codes[name], len(design), draws, random)
    likelihood = likelihood_of(network.variable(name).distribution)
    w = likelihood.to_reported(maximise(design, n, s, likelihood))
    return np.where(n @ design > 0, w, np.nan)


def _summary_rows(
    true: NetworkDefinition,
    fits: dict[str, NetworkDefinition],
    rows: list[Row],
    records: pd.DataFrame,
    params: Network,
    seed: int,
) -> list[Row]:
    fresh = sample(true, params.held_out, [seed, HELD_OUT_STREAM])
    # with unbounded counts, so that log-likelihoods are comparable to the true network's
    unbounded = dict.fromkeys(name for name in true.variables if true.is_count(name))
    networks = {TRUE: true, **{LABELS[name]: in_categories(network, unbounded) for name, network in fits.items()}}
    summary = []
    for system, network in networks.items():
        for metric, frame in (("log-likelihood per record", records), ("held-out log-likelihood per record", fresh)):
            row = mean_row(metric, log_likelihood(network, frame), bounds=None, seed=seed, system=system, item="all")
            summary.append(row | {"high": min(row["high"], 0.0)})  # no record is more likely than certain
    for system in (TABLES, *LABELS.values()):
        summary += _distance_rows(rows, system)
    return summary


def _distance_rows(rows: list[Row], system: str) -> list[Row]:
    """Mean error of the parameters that records bear on, and coverage of those with an interval; others: unscored."""
    truth = {row["item"]: row["value"] for row in rows if row["system"] == TRUE}
    mine = [row for row in rows if row["system"] == system]
    errors = [abs(row["value"] - truth[row["item"]]) for row in mine if row["n"]]
    covered = [row["low"] <= truth[row["item"]] <= row["high"] for row in mine if not np.isnan(row["low"])]
    measured = {"mean absolute error": errors, "share of intervals that hold the truth": covered}
    return [
        metric_row(name, float(np.mean(one)), n=len(one), unscored=len(mine) - len(one), system=system, item="all")
        for name, one in measured.items()
        if one
    ]
