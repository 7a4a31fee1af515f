"""Parameter recovery (true value, estimate and 95% interval of every parameter), and SimSUM's figures of the network.

Tables 7, 8 and 9 are recomputed by cell, and two counts of records on replicate samples.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import beta

from schemas.params.records import Network
from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.network.coding import Codes, combine, design_of, encode, label, parameters
from tasks.network.fitting import fit, likelihood_of, maximise
from tasks.network.graph import Floats, NetworkDefinition, NoisyOr, Table, in_categories
from tasks.network.inference import log_likelihood, reduced
from tasks.network.sampling import resampled_totals, sample
from tasks.reproduction.published import SIMSUM, printed_cells
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
    networks = {TRUE: true, **{LABELS[name]: _unbounded(network) for name, network in fits.items()}}
    summary = []
    for system, network in networks.items():
        for metric, frame in (("log-likelihood per record", records), ("held-out log-likelihood per record", fresh)):
            values = log_likelihood(network, frame)
            summary.append(mean_row(metric, values, bounds=None, seed=seed, system=system, item="all"))
    for system in (TABLES, *LABELS.values()):
        summary += _distance_rows(rows, system)
    return summary


def _distance_rows(rows: list[Row], system: str) -> list[Row]:
    truth = {row["item"]: row["value"] for row in rows if row["system"] == TRUE}
    mine = [row for row in rows if row["system"] == system]
    errors = np.array([abs(row["value"] - truth[row["item"]]) for row in mine])
    shared: Row = {"system": system, "item": "all", "n": len(mine)}
    distances = [metric_row("mean absolute error", errors.mean(), **shared)] if mine else []
    covered = [row["low"] <= truth[row["item"]] <= row["high"] for row in mine if not np.isnan(row["low"])]
    if covered:
        distances.append(metric_row("share of intervals that hold the truth", float(np.mean(covered)), **shared))
    return distances


def _unbounded(network: NetworkDefinition) -> NetworkDefinition:
    """The network with unbounded counts, so that log-likelihoods are comparable to the true network's."""
    return in_categories(network, {name: None for name in network.variables if network.is_count(name)})


REPLICATE_STREAM = 6
NORMAL_QUANTILE = 1.96
PUBLISHED_RECORDS = 10_000


def reproduction_rows(definition: NetworkDefinition, printed: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row for each printed prediction of ``printed`` ("Table 7", "Table 8", "Table 9"); basis exact.

    Empty for other networks than SimSUM's. The tolerance is half a unit of the last printed digit, which 72 cells meet.
    For nine cells it is one unit: the paper computed them with unrounded coefficients, or truncated them. The one
    misprint fails; its note explains it.
    """
    rows = []
    for table, frame in printed.items() if definition.source == SIMSUM else ():
        cells = printed_cells("simsum", table, frame)
        for figure, predicted in _predictions(definition, table, frame).items():
            rows += [cell.reproduced(predicted[cell.line]) for cell in cells if cell.figure == figure]
    return typed(rows, REPRODUCTION_ROWS)


def _predictions(definition: NetworkDefinition, table: str, frame: pd.DataFrame) -> dict[str, Floats]:
    """The model's prediction for each line of a printed table, by column."""
    if table == "Table 7":
        logs = _predict(definition, "antibiotics", frame.assign(policy="low"))
        return {"predicted_probability": np.exp(logs[:, 1])}
    cases = frame.assign(self_employed="no")
    return {
        f"predicted_{given}": _predict(definition, "days_at_home", cases.assign(antibiotics=treated))
        for given, treated in (("without", "no"), ("with", "yes"))
    }


def _predict(definition: NetworkDefinition, name: str, cases: pd.DataFrame) -> Floats:
    """log P of each value, shape (cases, card); for a count its rate, shape (cases,)."""
    codes = encode(definition, cases, definition.parents(name))
    if definition.is_count(name):
        return definition.rates(name)[tuple(codes[parent] for parent in definition.parents(name))]
    return reduced(definition, name, codes).logs


def count_rows(definition: NetworkDefinition, records: int, replicates: int, seed: int) -> pd.DataFrame:
    """Rows for Section 2.2's counts: records without symptoms, and those of them with a condition; basis sampled.

    The reproduced count is the mean over ``replicates`` samples of ``records``; the tolerance is the half width of the
    95% prediction interval of one sample.
    """
    if records != PUBLISHED_RECORDS or definition.source != SIMSUM:
        return typed([], REPRODUCTION_ROWS)
    drawn = [replicate_counts(definition, records, [seed, REPLICATE_STREAM, i]) for i in range(replicates)]
    counts = np.array(drawn, dtype=float)
    spread = counts.std(axis=0, ddof=1) * np.sqrt(1 + 1 / replicates)
    note = f"mean of {replicates} samples; standard deviation between samples "
    rows = [
        cell.reproduced(mean, "sampled", tolerance=NORMAL_QUANTILE * deviation, note=f"{note}{deviation:.1f}")
        for cell, mean, deviation in zip(
            printed_cells("simsum", "Section 2.2"), counts.mean(axis=0), spread, strict=True
        )
    ]
    return typed(rows, REPRODUCTION_ROWS)


def replicate_counts(definition: NetworkDefinition, records: int, seed: Sequence[int]) -> tuple[int, int]:
    """Number of records in one sample without any symptom, and of these with at least one underlying condition."""
    drawn = sample(definition, records, seed)
    well = _all_absent(definition, drawn, definition.of_type("symptom"))
    healthy = _all_absent(definition, drawn, definition.of_type("underlying condition"))
    return int(well.sum()), int((well & ~healthy).sum())


def _all_absent(definition: NetworkDefinition, drawn: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    absent = pd.DataFrame({name: drawn[name] == definition.values(name)[0] for name in names})
    return absent.all(axis=1)
