"""Agreement between evaluators on the scores of systems (DocLens, Section 4.4): the paper's three, and the judge.

The paper's Figure 8 compares scores of single outputs, which are not released; here the unit is a system's mean, which
Tables 21 to 23 (whole notes) and 25 to 27 (sections) print.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from tasks.evaluation.doclens.metrics import document_scores
from tasks.evaluation.doclens.preferences import disagreements
from tasks.evaluation.doclens.reproduction import SECTIONS
from tasks.evaluation.documents.model import WHOLE
from tasks.statistics.agreement import correlation, correlation_interval
from tasks.statistics.metric_rows import Row, metric_row, metric_table

CONDITION = "agreement of evaluators"
SCORES = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")
JUDGE = "judge"
_KEYS = ["item", "system"]


def evaluator_agreement(
    whole: Mapping[str, pd.DataFrame], sections: Mapping[str, pd.DataFrame], judged: pd.DataFrame, *, seed: int
) -> pd.DataFrame:
    """METRICS of `CONDITION`: Kendall's tau-b and the share of pairs of systems with the same order.

    ``whole`` and ``sections`` are printed tables by evaluator; ``judged`` is JUDGED of the configured judge, which is
    compared on the systems that the paper has, too. Item: the score of whole notes or of sections; systems are compared
    within a section, and tau is the mean over the sections, without an interval.
    """
    scores = {name: _printed(whole[name], sections[name]) for name in whole}
    scores[JUDGE] = _judge_means(judged)
    rows = [
        row
        for one, other in combinations(scores, 2)
        for name in SCORES
        for row in _rows(scores[one], scores[other], name, f"{one} and {other}", seed)
    ]
    return metric_table(rows, stage="doclens", condition=CONDITION, seed=seed)


def _printed(whole: pd.DataFrame, sections: pd.DataFrame) -> pd.DataFrame:
    """Scores by item (part of the note) and system, in percent."""
    parts = {section: part for part, section in SECTIONS.items()}
    both = [whole.assign(item=WHOLE), sections.assign(item=sections["section"].map(parts))]
    return pd.concat(both).set_index(_KEYS)[list(SCORES)]


def _judge_means(judged: pd.DataFrame) -> pd.DataFrame:
    """The judge's claim scores: means over notes by item and system, in percent."""
    found = document_scores(judged[judged["metric"].isin(SCORES[:2])])
    return 100 * found.pivot_table(index=_KEYS, columns="metric", values="value").reindex(columns=list(SCORES))


def _rows(one: pd.DataFrame, other: pd.DataFrame, name: str, pair: str, seed: int) -> Iterator[Row]:
    both = pd.concat([one[name], other[name]], axis=1, keys=["one", "other"], join="inner").dropna()
    is_whole = both.index.get_level_values("item") == WHOLE
    for over, table in (("whole notes", both[is_whole]), ("sections", both[~is_whole])):
        parts = [part for _, part in table.groupby(level="item") if len(part) > 1]
        if not parts:
            continue
        shared: dict[str, Any] = {"system": pair, "item": f"{name}, {over}", "provenance": _made_by(pair)}
        tau = np.nanmean([correlation(part["one"], part["other"], "kendall") for part in parts])
        low, high = np.nan, np.nan
        if over == "whole notes":
            low, high = correlation_interval(table["one"], table["other"], "kendall", seed=seed)
        yield metric_row("kendall", float(tau), low, high, n=sum(map(len, parts)), **shared)
        wrong, pairs = np.sum([disagreements(part["one"], part["other"]) for part in parts], axis=0)
        yield metric_row("same_preference", 1 - wrong / pairs, n=int(pairs), **shared)


def _made_by(pair: str) -> str:
    return "printed tables and the configured judge" if pair.endswith(JUDGE) else "printed tables"
