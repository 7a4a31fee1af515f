"""Reproduction rows of SimSUM's figures about the network: Tables 7, 8 and 9 by cell, and two counts of records."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.network.coding import encode
from tasks.network.distributions import Floats
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import reduced
from tasks.network.sampling import sample

SOURCE = "simsum"
PROBABILITY_DIGIT, DAYS_DIGIT = 0.01, 0.1
REPLICATE_STREAM = 6
NORMAL_QUANTILE = 1.96
PUBLISHED_RECORDS = 10_000
PUBLISHED_COUNTS = {"records without symptoms": 3629, "of these with an underlying condition": 239}  # Section 2.2

UNROUNDED = "differs in the last printed digit, as coefficients with more digits than are printed explain"
CUT_OFF = "the printed figure is ours with its further digits cut off instead of rounded"
MISPRINT = (
    "misprint: the same case without nasal symptoms is printed as 4.9, and nasal symptoms lengthen a stay (Equation 8)"
)
_NOTES = {
    # (table, case as yes/no of its symptoms and the fever, column)
    ("Table 7", "no yes yes low", "predicted_probability"): CUT_OFF,
    ("Table 8", "no no no no none", "predicted_with"): CUT_OFF,
    ("Table 8", "no yes yes no high", "predicted_without"): UNROUNDED,
    ("Table 8", "no yes yes yes high", "predicted_without"): UNROUNDED,
    ("Table 8", "yes no yes yes none", "predicted_with"): UNROUNDED,
    ("Table 8", "yes yes yes no high", "predicted_with"): UNROUNDED,
    ("Table 8", "yes yes yes yes high", "predicted_without"): UNROUNDED,
    ("Table 9", "no no yes no low", "predicted_without"): UNROUNDED,
    ("Table 9", "yes no no no high", "predicted_without"): UNROUNDED,
    ("Table 8", "no yes no yes high", "predicted_without"): MISPRINT,
}


def reproduction_rows(definition: NetworkDefinition, printed: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row for each printed prediction of ``printed`` ("Table 7", "Table 8", "Table 9"); basis exact.

    Empty for other networks than SimSUM's. The tolerance is half a unit of the last printed digit, which 72 cells meet.
    For nine cells listed here it is one unit: the paper computed them with unrounded coefficients, or truncated them.
    The one misprint fails; its note explains it.
    """
    if not _is_simsum(definition):
        return _frame([])
    rows: list[dict[str, Any]] = []
    for table, frame in printed.items():
        for column, reproduced, digit in _predictions(definition, table, frame):
            cases = _cases(frame)
            for case, published, value in zip(cases, frame[column], reproduced, strict=True):
                rows.append(_row(table, case, column, float(published), float(value), digit))
    return _frame(rows)


def _predictions(definition: NetworkDefinition, table: str, frame: pd.DataFrame) -> list[tuple[str, Floats, float]]:
    if table == "Table 7":
        probability = np.exp(_predict(definition, "antibiotics", frame.assign(policy="low"))[:, 1])
        return [("predicted_probability", probability, PROBABILITY_DIGIT)]
    cases = frame.assign(self_employed="no")
    return [
        ("predicted_without", _predict(definition, "days_at_home", cases.assign(antibiotics="no")), DAYS_DIGIT),
        ("predicted_with", _predict(definition, "days_at_home", cases.assign(antibiotics="yes")), DAYS_DIGIT),
    ]


def _predict(definition: NetworkDefinition, name: str, cases: pd.DataFrame) -> Floats:
    """log P of each value, shape (cases, card); for a count its rate, shape (cases,)."""
    codes = encode(definition, cases, definition.parents(name))
    if definition.is_count(name):
        return definition.rates(name)[tuple(codes[parent] for parent in definition.parents(name))]
    return reduced(definition, name, codes).logs


def _cases(frame: pd.DataFrame) -> list[str]:
    inputs = [name for name in ("dyspnea", "cough", "pain", "nasal", "fever") if name in frame.columns]
    return [
        " ".join(f"{name}={value}" for name, value in zip(inputs, row, strict=True)) for row in frame[inputs].to_numpy()
    ]


def _row(table: str, case: str, column: str, published: float, reproduced: float, digit: float) -> dict[str, Any]:
    note = _NOTES.get((table, " ".join(part.split("=")[1] for part in case.split()), column))
    return {
        "table": table,
        "row": case,
        "column": column,
        "published": published,
        "reproduced": reproduced,
        "tolerance": digit if note else digit / 2,
        "basis": "exact",
        "note": note,
    }


def count_rows(definition: NetworkDefinition, records: int, replicates: int, seed: int) -> pd.DataFrame:
    """Rows for Section 2.2's counts: records without symptoms, and those of them with a condition; basis sampled.

    The reproduced count is the mean over ``replicates`` samples of ``records``; the tolerance is the half width of the
    95% prediction interval of one sample.
    """
    if records != PUBLISHED_RECORDS or not _is_simsum(definition):
        return _frame([])
    drawn = [replicate_counts(definition, records, [seed, REPLICATE_STREAM, i]) for i in range(replicates)]
    counts = np.array(drawn, dtype=float)
    spread = counts.std(axis=0, ddof=1) * np.sqrt(1 + 1 / replicates)
    return _frame(
        [
            {
                "table": "Section 2.2",
                "row": f"{PUBLISHED_RECORDS} records",
                "column": column,
                "published": float(published),
                "reproduced": float(mean),
                "tolerance": float(NORMAL_QUANTILE * deviation),
                "basis": "sampled",
                "note": f"mean of {replicates} samples; standard deviation between samples {deviation:.1f}",
            }
            for (column, published), mean, deviation in zip(
                PUBLISHED_COUNTS.items(), counts.mean(axis=0), spread, strict=True
            )
        ]
    )


def replicate_counts(definition: NetworkDefinition, records: int, seed: Sequence[int]) -> tuple[int, int]:
    """Number of records in one sample without any symptom, and of these with at least one underlying condition."""
    drawn = sample(definition, records, seed)
    well = _all_absent(definition, drawn, definition.of_type("symptom"))
    healthy = _all_absent(definition, drawn, definition.of_type("underlying condition"))
    return int(well.sum()), int((well & ~healthy).sum())


def _all_absent(definition: NetworkDefinition, drawn: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    absent = pd.DataFrame({name: drawn[name] == definition.values(name)[0] for name in names})
    return absent.all(axis=1)


def _is_simsum(definition: NetworkDefinition) -> bool:
    return definition.source.lower() == SOURCE


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame([{"source": SOURCE, **row} for row in rows], columns=list(REPRODUCTION_ROWS.columns))
    return frame.astype({name: str(column.dtype) for name, column in REPRODUCTION_ROWS.columns.items()})
