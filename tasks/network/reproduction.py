"""Reproduction rows of SimSUM's figures about the network: Tables 7, 8 and 9 by cell, and two counts of records."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.network.coding import encode
from tasks.network.graph import Floats, NetworkDefinition
from tasks.network.inference import reduced
from tasks.network.sampling import sample
from tasks.reproduction.published import SIMSUM, printed_cells

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
