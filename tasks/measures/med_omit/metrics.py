"""MED-OMIT by summary model (Table 3): omissions per document (count) and their weighted sum (weight)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from schemas.params.measures import Overlap
from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.measures.med_omit.fact_score import IMPORTANCE, document_score
from tasks.measures.overlap import correlated, omission_correlations, score_texts
from tasks.reproduction.published import printed_cells, stand_in
from tasks.statistics.intervals import COUNT, SHARE, statistic_interval
from tasks.statistics.metric_rows import (
    Row,
    mean_row,
    metric_row,
    metric_table,
    score_table,
    system_difference_rows,
)
from tasks.texts.document import WHOLE

STAGE = "med_omit"
LEAST, MOST = min(IMPORTANCE.values()), 1.0
"""Least and largest score of a fact."""
FEWEST_DOCUMENTS = 8
"""Fewest documents with an interval of the standard deviation."""
_ENDS = ("", "_low", "_high")
SYSTEM = "compact notes"
"""The summaries of the generated notes."""


MEASURES = ("count", "weight", "share")


def document_scores(facts: pd.DataFrame, omitted: pd.DataFrame) -> pd.DataFrame:
    """Omissions of each summary: document, system, facts, count, weight, share, and ``_low`` and ``_high`` of each.

    ``count`` facts are omitted, whose scores sum to ``weight``; ``share`` is the count over the number of facts. Facts
    without a judgement count as omitted at the rate of the judged ones, omitted facts without a grade with the mean
    score of the graded ones. ``_low`` and ``_high`` are the values if none or all of the facts without a judgement were
    omitted, with the least or the largest grade. A value is nan where nothing was judged or graded.
    """
    merged = omitted.merge(facts[["document", "fact", "score"]], on=["document", "fact"])
    rows = []
    for (document, system), group in merged.groupby(["document", "system"], sort=True):
        size, judged = len(group), group["omitted"].dropna().astype(bool)
        gone, unjudged = group.loc[judged.index[judged], "score"], group.loc[group["omitted"].isna(), "score"]
        least, most = document_score(gone.fillna(LEAST)), document_score(pd.concat([gone, unjudged]).fillna(MOST))
        count = size * judged.mean() if len(judged) else np.nan
        weight = count * gone.mean() if len(gone) else count  # document_score(gone) where all are judged and graded
        found: dict[str, tuple[float, ...]] = {
            "count": (count, len(gone), len(gone) + len(unjudged)),
            "weight": (weight, least, most),
        }
        found["share"] = tuple(value / size for value in found["count"])
        ends = {f"{name}{end}": value for name in MEASURES for end, value in zip(_ENDS, found[name], strict=True)}
        rows.append({"document": document, "system": system, "facts": size, **ends})
    names = [f"{name}{end}" for name in MEASURES for end in _ENDS]
    table = pd.DataFrame(rows, columns=["document", "system", "facts", *names])
    return table.astype({"document": "str", "system": "str"} | dict.fromkeys(names, float))


def omission_ceilings(facts: pd.DataFrame, omitted: pd.DataFrame) -> pd.DataFrame:
    """Share, count and weight of each document's omissions, each with its value if every fact were omitted (ceiling).

    Columns document, system, condition, item, metric, value, ceiling. Documents with an ungraded fact have no weight.
    """
    scores = document_scores(facts, omitted)
    whole = facts.groupby("document")["score"].agg(lambda values: values.sum(skipna=False))
    ceilings = {
        "omission_share": (scores["share"], 1.0),
        "omission_count": (scores["count"], scores["facts"].astype(float)),
        "omission_weight": (scores["weight"], scores["document"].map(whole)),
    }
    parts = [
        scores[["document", "system"]].assign(condition="judge", item="all", metric=metric, value=value, ceiling=most)
        for metric, (value, most) in ceilings.items()
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset=["value", "ceiling"]).reset_index(drop=True)


def unscored_documents(ceilings: pd.DataFrame, omitted: pd.DataFrame) -> pd.Series:
    """Number of documents of OMITTED without a row in `omission_ceilings`, by system, condition, item and metric."""
    documents = omitted.groupby("system")["document"].nunique()
    scored = ceilings.groupby(["system", "condition", "item", "metric"])["document"].nunique()
    return scored.index.get_level_values("system").map(documents).to_numpy() - scored


def unscored_texts(scores: pd.DataFrame, unscored: pd.DataFrame, documents: Sequence[str]) -> pd.DataFrame:
    """The first UNSCORED row of each of the ``documents`` that has no count: their facts or omissions are not known."""
    known = set(scores.loc[scores["count"].notna(), "document"])
    lost = unscored["record"].isin(set(documents) - known)
    return unscored[lost].drop_duplicates("record")


def long_scores(scores: pd.DataFrame, *, condition: str) -> pd.DataFrame:
    """`document_scores` with rows of count, weight and share: columns of DOCUMENT_SCORES but for the record."""
    long = scores.melt(["document", "system"], list(MEASURES), var_name="metric").dropna(subset="value")
    return long.assign(metric="omission_" + long["metric"], condition=condition, item=WHOLE, stage=STAGE)


def record_scores(scores: pd.DataFrame, *, condition: str) -> pd.DataFrame:
    """Counts and weights of our notes as SCORES rows; their document ids are record ids."""
    long = long_scores(scores, condition=condition)
    return score_table(long[long["metric"] != "omission_share"].rename(columns={"document": "record"}))


def metric_rows(scores: pd.DataFrame, *, documents: Mapping[str, int], **about: Any) -> pd.DataFrame:
    """Mean and standard deviation over documents of omission count, weight and share, by system.

    ``about``: seed, provenance and condition of all rows, here and below.
    ``documents``: how many documents of each system should have a score. Where some facts have no judgement or grade,
    ``_bounds`` has the range of the mean over all that they may be, for the documents whose facts are known; unscored
    are all documents without a score or with such a fact.
    """
    rows = []
    for system, size in sorted(documents.items()):
        group = scores[scores["system"] == system]
        for name in MEASURES:
            values, metric = group[name].dropna().to_numpy(dtype=float), f"omission_{name}"
            keys: dict[str, Any] = {"system": system, "unscored": size - len(values)}
            rows.append(mean_row(metric, values, bounds=SHARE if name == "share" else COUNT, **keys))
            rows.append(_deviation_row(f"{metric}_std", values, keys))
            low, high = (float(group[f"{name}{end}"].mean()) for end in ("_low", "_high"))
            if high > low:
                mean = float(values.mean()) if len(values) else np.nan
                partial = int((group[name].notna() & (group[f"{name}_high"] > group[f"{name}_low"])).sum())
                keys["unscored"] += partial
                rows.append(metric_row(f"{metric}_bounds", mean, low, high, n=len(group), **keys))
    return metric_table(rows, stage=STAGE, item=WHOLE, **about)


def paired_rows(scores: pd.DataFrame, *, condition: str, **about: Any) -> pd.DataFrame:
    """METRICS of the differences of omission count, weight and share between systems on the same documents."""
    long = long_scores(scores, condition=condition)
    is_share = long["metric"] == "omission_share"
    rows = [*system_difference_rows(long[is_share]), *system_difference_rows(long[~is_share], reach=np.inf)]
    return metric_table(rows, stage=STAGE, item=WHOLE, condition=condition, **about)


def _deviation_row(metric: str, values: np.ndarray, keys: dict[str, Any]) -> Row:
    """Row of the standard deviation; its interval is the jackknife's on the log scale (Miller 1968).

    It reaches at least as far as that of normal values, whose logarithm has the variance 1 / 2 (n - 1). None for fewer
    than `FEWEST_DOCUMENTS`: counts that are all but alike have too short ones.
    """

    def logarithm(rows: np.ndarray) -> float:
        spread = float(np.std(values[rows], ddof=1)) if len(rows) > 1 else 0.0
        return np.log(spread) if spread > 0 else np.nan

    enough = len(values) >= FEWEST_DOCUMENTS
    _, low, high = statistic_interval(logarithm, len(values), bounds=None) if enough else (np.nan, np.nan, np.nan)
    value = float(np.std(values)) if len(values) else np.nan
    if enough:
        centre, normal = (low + high) / 2, float(stats.t.isf(0.025, len(values) - 1)) / np.sqrt(2 * (len(values) - 1))
        low, high = min(low, centre - normal), max(high, centre + normal)
    return metric_row(metric, value, float(np.exp(low)), float(np.exp(high)), n=len(values), **keys)


def extent_rows(omitted: pd.DataFrame, **about: Any) -> pd.DataFrame:
    """Share of the omissions that leave out only a part of the fact, by system.

    The paper counts partial omissions in full and leaves their degree to future work (Section 3).
    """
    rows = []
    for system, group in omitted[omitted["omitted"].fillna(False).astype(bool)].groupby("system", sort=True):
        rows.append(mean_row("omitted_in_part", group["extent"] == "part", clusters=group["document"], system=system))
    return metric_table(rows, stage=STAGE, item="all", **about)


def difference_rows(differences: pd.DataFrame, *, documents: Mapping[str, int], **about: Any) -> pd.DataFrame:
    """Mean over documents of ``lost``, ``added`` and ``shifted`` (columns of ``differences``), by system.

    ``documents`` is as in `metric_rows`. None where differentials were not compared.
    """
    rows = []
    for system, size in sorted(documents.items()) if len(differences) else ():
        group = differences[differences["system"] == system]
        for name in ("lost", "added", "shifted"):
            keys: dict[str, Any] = {"system": system, "unscored": size - len(group)}
            rows.append(mean_row(f"differential_{name}", group[name], **keys))
    return metric_table(rows, stage=STAGE, item=WHOLE, **about)


def overlap_correlations(
    scores: pd.DataFrame, summaries: pd.DataFrame, references: Mapping[str, str], params: Overlap, **about: Any
) -> pd.DataFrame:
    """METRICS of the correlation of omission scores with overlap of the summaries with references (Table 5)."""
    merged = scores.merge(summaries, on=["document", "system"]).reset_index(drop=True)
    overlap, _ = score_texts([references[name] for name in merged["document"]], merged["summary"].tolist(), params)
    joined = pd.concat([merged.drop(columns="summary"), overlap], axis=1)
    return omission_correlations(joined, correlated(joined), stage=STAGE, **about)


SYSTEMS = {
    "gpt-4": "GPT-4 (zero-shot, ACI-BENCH)",
    "gpt-3.5-turbo": "ChatGPT (zero-shot, ACI-BENCH)",
}
"""The outputs of ``doclens.systems`` by each printed name of the model."""
PRINTED_DIALOGUES = 116
"""Dialogues behind the printed figures."""
TABLE_3 = {
    f"{measure}_{statistic}": f"omission_{measure}{suffix}"
    for measure in ("count", "weight")
    for statistic, suffix in (("mean", ""), ("std", "_std"))
}
"""Our metric by column of Table 3."""


def omission_rows(table3: pd.DataFrame, found: pd.DataFrame, model: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of the mean and standard deviation of omission count and weight; none without ``found``.

    ``found`` is METRICS of `metric_rows`, by the judge ``model``. The summaries are not the paper's but the subjective
    parts of other notes by the same models. The tolerance is the 95% sampling error of the difference from an
    independent sample of dialogues: ``1.96 sqrt(s_1^2 / 116 + s_2^2 / n)`` for means,
    ``1.96 sqrt(s_1^2 / (2 * 115) + s_2^2 / 2 (n - 1))`` for standard deviations of normal values.
    """
    ours = found[found["item"] == WHOLE].set_index(["system", "metric"])[["value", "n"]]
    note = "other summaries of the same model; tolerance: 95% sampling error of the difference"
    rows = []
    for cell in printed_cells("medomit", "Table 3", table3):
        system, metric = SYSTEMS.get(cell.labels["summary_llm"], ""), TABLE_3[cell.column]
        if (system, metric) in ours.index:
            value, n = (float(number) for number in ours.loc[system, metric])
            spread, is_mean = cell.column.replace("_mean", "_std"), cell.column.endswith("_mean")
            printed = float(table3.loc[cell.line, spread])
            own = float(ours.loc[(system, TABLE_3[spread]), "value"])
            sizes = (PRINTED_DIALOGUES, n) if is_mean else (2 * (PRINTED_DIALOGUES - 1), 2 * (n - 1))
            tolerance = 1.96 * np.sqrt(printed**2 / sizes[0] + own**2 / sizes[1])
            rows.append(cell.reproduced(value, stand_in(model), tolerance=tolerance, note=note))
    return typed(rows, REPRODUCTION_ROWS)
