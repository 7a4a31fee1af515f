"""EHRNoteQA's printed figures next to ours: Tables 4 (level 1), 5 and 6 and Section 4.1 from its own printed figures.

Also Table 3, where somebody has given its questions a category, and Table 5's correlations of any scores (Section 4.3).
"""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.measures.note_qa.metrics import mean_and_deviation, mode_ranks, rank_changes, take_ranks
from tasks.reproduction.published import Cell, printed_cells
from tasks.statistics.agreement import Correlation, correlation, correlation_interval
from tasks.statistics.metric_rows import metric_row, metric_table

Rows = list[dict[str, Any]]
FORMS = ("multi_choice", "free_text")
_LEVEL_1 = {"multi_choice": "level1_mc", "free_text": "level1_free"}
_RANK_CHANGES = {"multi_choice": 12, "free_text": 29}  # Section 4.1
_CLINICIANS = {"A": "clinician_a", "B": "clinician_b", "C": "clinician_c"}


KINDS: tuple[Correlation, ...] = ("spearman", "kendall")


def ranking_correlations(scores: pd.DataFrame, outside: Sequence[str]) -> pd.DataFrame:
    """Spearman's and Kendall's correlation of each score column with each ``outside`` column; rows are systems.

    Returns columns outside, measure, benchmark, value, n.
    """
    rows = [
        (ranker, kind, name, correlation(scores[name], scores[ranker], kind), len(scores))
        for ranker in outside
        for kind in KINDS
        for name in scores.columns
        if name not in outside
    ]
    return pd.DataFrame(rows, columns=["outside", "measure", "benchmark", "value", "n"])


def with_intervals(found: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Add 95% intervals over systems (low, high) to `ranking_correlations`; the paper gives none."""
    pairs = [
        correlation_interval(scores[row.benchmark], scores[row.outside], row.measure) for row in found.itertuples()
    ]
    return found.assign(low=[low for _, low, _ in pairs], high=[high for *_, high in pairs])


_SAMPLE = 100
"""Questions behind Table 3."""
_NORMAL = 1.96


def category_rows(counts: pd.DataFrame, table3: pd.DataFrame) -> pd.DataFrame:
    """REPRODUCTION_ROWS of Table 3 from the category shares in ``counts`` (METRICS of `review_counts`).

    None for generated questions. Tolerance: 95% limits of the difference of two shares of one distribution, the paper's
    of 100 questions and ours.
    """
    ours = counts[(counts["metric"] == "category_share") & (counts["condition"] == "outside")].set_index("item")
    rows = []
    for cell in printed_cells("ehrnoteqa", "Table 3", table3):
        if cell.row in ours.index:
            share, n = cell.published / 100, int(ours["n"].iloc[0])
            tolerance = 100 * _NORMAL * math.sqrt(share * (1 - share) * (1 / _SAMPLE + 1 / n))
            note = "categories of the returned forms"
            rows.append(cell.reproduced(100 * ours.loc[cell.row, "value"], "sampled", tolerance=tolerance, note=note))
    return typed(rows, REPRODUCTION_ROWS)


def reproduction_rows(
    table4: pd.DataFrame, table5: pd.DataFrame, table6: pd.DataFrame, table7: pd.DataFrame
) -> pd.DataFrame:
    """REPRODUCTION_ROWS of means and deviations over takes, ranks and their changes, correlations with clinicians."""
    rows = [*_score_rows(table4, table6), *_deviation_rows(table6)]
    return typed([*rows, *_rank_rows(table6), *_correlation_rows(table5, table7)], REPRODUCTION_ROWS)


def take_columns(form: str) -> list[str]:
    """Names of Table 6's columns with the five takes of a form."""
    return [f"{form}_take{i}" for i in range(1, 6)]


def _score_rows(table4: pd.DataFrame, table6: pd.DataFrame) -> Rows:
    """Means and standard deviations of Table 4 from the takes in Table 6; both list the models in the same order.

    Table 4 prints multiple choice with three digits and free text with two; Table 6 prints takes with two digits.
    """
    takes = {_LEVEL_1[form]: table6[take_columns(form)] for form in FORMS}
    rows = []
    for cell in printed_cells("ehrnoteqa", "Table 4", table4):
        name, _, measure = cell.figure.rpartition("_")
        if name in takes:
            mean, deviation = mean_and_deviation(takes[name].iloc[cell.line])
            rows.append(cell.reproduced(mean if measure == "mean" else deviation))
    return rows


def _deviation_rows(table6: pd.DataFrame) -> Rows:
    """Mean over the models of the standard deviation over takes (Section 4.1)."""
    cells = printed_cells("ehrnoteqa", "Section 4.1")
    takes = {f"mean_deviation_{form}": table6[take_columns(form)] for form in FORMS}
    return [cell.reproduced(takes[cell.column].std(axis=1, ddof=1).mean()) for cell in cells]


def _rank_rows(table6: pd.DataFrame) -> Rows:
    """Mode rank of each model over its takes (Table 6), and the changes of rank (Section 4.1)."""
    cells, rows = printed_cells("ehrnoteqa", "Table 6", table6), []
    for form in FORMS:
        column, ranks = f"{form}_mode_rank", take_ranks(table6[take_columns(form)])
        modes = mode_ranks(ranks)
        rows += [
            _mode_row(cell, ranks.iloc[cell.line], modes.iloc[cell.line]) for cell in cells if cell.column == column
        ]
        note = "against the printed mode ranks" + ("; computed modes give 28" if form == "free_text" else "")
        changes = Cell("ehrnoteqa", "Table 6", "all models", f"rank_changes_{form}", _RANK_CHANGES[form], 0.0, note)
        rows.append(changes.reproduced(rank_changes(ranks, table6[column]), "arithmetic"))
    return rows


def _mode_row(cell: Cell, ranks: pd.Series, ours: int) -> dict[str, Any]:
    """Printed and computed mode rank; a printed rank that is as frequent as the computed one is within tolerance."""
    printed, counts = int(cell.published), ranks.value_counts()
    if printed == ours or counts.get(printed, 0) != counts[ours]:
        return cell.reproduced(ours)
    note = f"ranks {ours} and {printed} are equally frequent; ours is the better of them"
    return cell.reproduced(ours, tolerance=abs(printed - ours), note=note)


def _correlation_rows(table5: pd.DataFrame, table7: pd.DataFrame) -> Rows:
    found = ranking_correlations(table7.set_index("model"), list(_CLINICIANS.values()))
    ours = found.set_index(["outside", "measure", "benchmark"])["value"]
    return [
        cell.reproduced(ours[_CLINICIANS[cell.labels["clinician"]], cell.labels["measure"].lower(), cell.column])
        for cell in printed_cells("ehrnoteqa", "Table 5", table5)
    ]


def correlation_metrics(table7: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Table 5 with bootstrap intervals, which the paper does not give, as METRICS rows."""
    scores = table7.set_index("model")
    found = with_intervals(ranking_correlations(scores, list(_CLINICIANS.values())), scores)
    rows = [
        metric_row(one.measure, one.value, one.low, one.high, n=one.n, system=one.benchmark, condition=one.outside)
        for one in found.itertuples()
    ]
    return metric_table(rows, stage="ehrnoteqa_published", item="19 models", seed=seed, provenance="EHRNoteQA, Table 7")
