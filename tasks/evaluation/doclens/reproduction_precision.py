"""Compares DocLens's printed claim precision of the open systems (Tables 21, 25) with that of the configured judge."""

import numpy as np
import pandas as pd

from tasks.evaluation.doclens.metrics import document_scores
from tasks.evaluation.doclens.reproduction import NEEDS, OPEN_SYSTEMS, SECTIONS, Row
from tasks.evaluation.documents.model import WHOLE

METRIC = "claim_precision"
_NO_SECTION = "needs outputs with the section; the published ones have none"
_AS_NEAR = "tolerance: the mean error of the other systems' mean"


def precision_rows(
    table21: pd.DataFrame, table25: pd.DataFrame, judged: pd.DataFrame | None, *, basis: str
) -> list[Row]:
    """The open systems' claim precision, a mean over notes, in percent; ``judged`` is JUDGED of the configured judge.

    ``basis``: offline for the rules that ship with the project, hosted for a model; rows are absent without ``judged``.
    The tolerance is the mean error, over the systems of a table and section, of a baseline: the other systems' mean.
    """
    ours = {} if judged is None else _means(judged)
    rows: list[Row] = []
    for (table, item), cells in _printed(table21, table25).groupby(["table", "item"], sort=False):
        near = _baseline_error(cells[METRIC].to_numpy(dtype=float))
        for row, system, value in zip(cells["row"], cells["system"], cells[METRIC], strict=True):
            key = (str(table), row, METRIC, float(value))
            if (found := ours.get((system, str(item)))) is not None:
                rows.append((*key, found, near, basis, _AS_NEAR))
            else:
                rows.append((*key, np.nan, np.nan, "absent", NEEDS if judged is None else _NO_SECTION))
    return rows


def _printed(table21: pd.DataFrame, table25: pd.DataFrame) -> pd.DataFrame:
    """Printed cells: table, row, item (part of the note), system, claim_precision."""
    items = {section: part for part, section in SECTIONS.items()}
    whole = table21.assign(table="Table 21", row=table21["system"], item=WHOLE)
    parts = table25.assign(table="Table 25", row=table25["section"] + " / " + table25["system"])
    cells = pd.concat([whole, parts.assign(item=table25["section"].map(items))], ignore_index=True)
    return cells[cells["system"].isin(OPEN_SYSTEMS)].dropna(subset=METRIC)


def _means(judged: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Mean over notes, in percent, by system and item."""
    chosen = judged[judged["metric"].eq(METRIC) & judged["system"].isin(OPEN_SYSTEMS)]
    means = document_scores(chosen).groupby(["system", "item"])["value"].mean() * 100
    return {(str(system), str(item)): float(value) for (system, item), value in means.items()}


def _baseline_error(values: np.ndarray) -> float:
    others = (values.sum() - values) / (len(values) - 1)
    return float(np.abs(others - values).mean())
