"""Agreement of clinicians with the judge and with each other (MED-OMIT, Tables 1 and 4, Figures 5 to 9)."""

from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from tasks.measures.med_omit.fact_score import CATEGORIES
from tasks.measures.med_omit.judging import NAME
from tasks.statistics.agreement import kappa_interval
from tasks.statistics.intervals import COUNT
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table, statistic_row

INCLUDED = ("no", "partially", "yes")
_KAPPAS: dict[str, Literal["linear"] | None] = {"kappa": None, "kappa_linear": "linear"}
_RANKS = {name: rank for names in (INCLUDED, CATEGORIES) for rank, name in enumerate(names)}


def agreement_with_judge(shown: pd.DataFrame, validations: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS rows of Table 1: agreement on omission and importance, mean absolute difference of counts.

    MED-OMIT counts a fact as omitted when any part of it is (Section 3), so that both "no" and "partially" are
    omissions; ``agreement_figure_5`` counts "partially" as included, as in its Figure 5. ``omission_share_difference``
    is the judge's share of omitted facts less the clinicians', for which the form is sized.

    The cells of both confusion matrices are rows of metric ``confusion`` and item "judge value / clinician value", and
    the distributions of Figures 7 and 9 of metric ``share_of_facts`` and item "supports, difference 1". Where several
    clinicians answered, ``agreement`` is also each one's own.
    """
    merged = validations.merge(shown, on=["document", "fact"], suffixes=("", "_judge"))
    omitted, missing = merged["omitted"], merged["included"] != "yes"
    rows = [
        mean_row("omission_share_difference", omitted.astype(int) - missing, bounds=(-1, 1), item="omission"),
        mean_row("agreement", omitted == missing, item="omission"),
        mean_row("agreement_figure_5", omitted == (merged["included"] == "no"), item="omission"),
        mean_row("agreement", merged["category"] == merged["category_judge"], item="importance"),
    ]
    for stance in ("supports", "refutes"):
        distance = (merged[stance] - merged[f"{stance}_judge"]).abs()
        rows.append(mean_row("mean_absolute_difference", distance, bounds=COUNT, item=stance))
        rows.append(_deviation_row("absolute_difference_std", distance.to_numpy(dtype=float), stance))
        rows += [
            metric_row("share_of_facts", share, n=len(distance), item=f"{stance}, difference {apart}")
            for apart, share in distance.value_counts(normalize=True).sort_index().items()
        ]
    same = {"omission": omitted == missing, "importance": merged["category"] == merged["category_judge"]}
    for rater, own in merged.groupby("rater") if merged["rater"].nunique() > 1 else ():
        rows += [mean_row("agreement", one[own.index], item=f"{item}, {rater}") for item, one in same.items()]
    found = omitted.map({True: "omitted", False: "present"})
    for judged, given in ((found, merged["included"]), (merged["category_judge"], merged["category"])):
        table = pd.crosstab(judged, given)
        rows += [
            metric_row("confusion", float(table.loc[one, other]), n=len(merged), item=f"{one} / {other}")
            for one in table.index
            for other in table.columns
        ]
    return _table(rows, "clinicians and judge", seed, provenance)


def agreement_between(validations: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS rows of Table 4: exact match, Cohen's kappa and linearly weighted kappa of each pair of clinicians.

    Over the facts that all clinicians answered: the share with equal answers and, for the counts of diagnoses, mean and
    standard deviation of the largest difference.
    """
    rows = list[Row]()
    raters = sorted(validations["rater"].unique())
    for question in ("included", "category", "supports", "refutes") if len(raters) > 1 else ():
        wide = validations.pivot(index=["document", "fact"], columns="rater", values=question).dropna()
        rows.append(mean_row("exact_match", wide.nunique(axis=1) == 1, item=question))
        if question in ("supports", "refutes"):
            counts = wide.to_numpy(dtype=float).reshape(len(wide), -1)
            spread = np.ptp(counts, axis=1) if len(counts) else np.array([])
            rows.append(mean_row("largest_difference", spread, bounds=COUNT, item=question))
            rows.append(_deviation_row("largest_difference_std", spread, question))
    for one, other in combinations(raters, 2):
        both = [validations[validations["rater"] == name] for name in (one, other)]
        pair = both[0].merge(both[1], on=["document", "fact"], suffixes=("", "_other"))
        for question in ("included", "category"):
            item, columns = f"{question}: {one} and {other}", (question, f"{question}_other")
            first, second = (pair[name].map(_RANKS).to_numpy(dtype=int) for name in columns)
            rows.append(mean_row("exact_match", first == second, item=item))
            for metric, weights in _KAPPAS.items():
                rows.append(metric_row(metric, *kappa_interval(first, second, weights), n=len(first), item=item))
    return _table(rows, "clinicians", seed, provenance)


def _deviation_row(metric: str, values: np.ndarray, item: str) -> Row:
    """Row of the standard deviation of the values."""
    return statistic_row(metric, lambda drawn: float(np.std(values[drawn])), len(values), bounds=None, item=item)


def _table(rows: list[Row], system: str, seed: int, provenance: str) -> pd.DataFrame:
    return metric_table(rows, stage=NAME, system=system, condition="validation", seed=seed, provenance=provenance)
