"""Agreement of DocLens's scores with other metrics and between evaluators (DocLens, Section 4.4, Exp-III).

Metrics agree by Kendall's tau over texts and systems, and by how often claim recall and ROUGE recall prefer different
outputs of a document (Section 4.3, Table 11). Evaluators, the paper's three and the judge, agree on the scores of
systems: the paper's Figure 8 compares scores of single outputs, which are not released; here the unit is a system's
mean, which Tables 21 to 23 (whole notes) and 25 to 27 (sections) print.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.measures import Overlap
from tasks.measures.doclens.judging import CITATION_METRICS, CLAIM_METRICS, METRICS, output_texts
from tasks.measures.doclens.judging import NAME as STAGE
from tasks.measures.doclens.published import ACI_BENCH, KEYS, SECTIONS
from tasks.measures.measure import differences, figures
from tasks.measures.measure import scores as scores_of
from tasks.measures.overlap.scoring import (
    COMPUTED,
    agreement_rows,
    beside_claims,
    overlap_rows,
    score_outputs,
    section_rouge,
    verdicts_of,
)
from tasks.measures.overlap.scoring import METRICS as OVERLAP
from tasks.statistics.agreement import correlation, correlation_interval, kappa_interval
from tasks.statistics.intervals import mean_interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table, system_difference_rows
from tasks.texts.document import WHOLE, Document

PREFERENCE_SECTIONS = ("objective_exam", "assessment_and_plan")
"""The sections of Table 11."""
OTHERS = ("rouge1_r", "rouge2_r", "rougeL_r")
WORDS = {"words": OVERLAP["words"]}


def system_rows(
    judged: pd.DataFrame,
    documents: Sequence[Document],
    citing: Sequence[str],
    params: Overlap,
    *,
    stage: str,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS of several systems' outputs: judged scores, overlap with references, and Kendall's tau between both."""
    made_by: dict[str, Any] = {"stage": stage, "seed": seed, "provenance": provenance}
    scored, absent = score_outputs(output_texts(documents, citing), documents, params)
    parts = [
        figures(judged, METRICS, **made_by),
        overlap_rows(verdicts_of(scored), absent, stage=stage, seed=seed),
        agreement_rows(beside_claims(scored, scores_of(judged, METRICS)), condition="agreement of metrics", **made_by),
    ]
    return pd.concat(parts, ignore_index=True)


def recorded_rows(
    judged: pd.DataFrame, documents: Sequence[Document], params: Overlap, judge: str, *, seed: int
) -> pd.DataFrame:
    """METRICS of a recorded ``judge``, whose name is in each condition: scores, paired differences of systems, and
    agreement with overlap metrics. ``judged`` is VERDICTS by section.
    """
    made_by: dict[str, Any] = {"stage": STAGE, "seed": seed, "provenance": judge}
    claims = judged[judged["metric"].isin(CLAIM_METRICS)]
    means = scores_of(claims.assign(condition=judge), METRICS)
    scored, _ = score_outputs(output_texts(documents, ()), documents, params)
    parts = [
        figures(judged.assign(condition=judge), METRICS, **made_by),
        metric_table(system_difference_rows(means[means["item"] == WHOLE]), condition=judge, item=WHOLE, **made_by),
        differences(verdicts_of(scored[["document", "system", *WORDS]]), WORDS, **{**made_by, "provenance": COMPUTED}),
        agreement_rows(beside_claims(scored, means), condition=f"agreement of metrics, {judge}", **made_by),
        section_preferences(claims, documents, (), seed=seed, provenance=judge).assign(
            condition=f"preferences of metrics, {judge}"
        ),
    ]
    return pd.concat(parts, ignore_index=True)


def section_preferences(
    judged: pd.DataFrame, documents: Sequence[Document], citing: Sequence[str], *, seed: int, provenance: str
) -> pd.DataFrame:
    """METRICS of condition "preferences of metrics": `disagreement` of claim recall with ROUGE recall by section."""
    both = recalls_by_section(judged, documents, citing)
    rows = [
        _preference(both[both["item"] == section], other, section)
        for section in PREFERENCE_SECTIONS
        for other in OTHERS
    ]
    shared = {"stage": STAGE, "condition": "preferences of metrics", "seed": seed, "provenance": provenance}
    return metric_table(rows, **shared)


def recalls_by_section(judged: pd.DataFrame, documents: Sequence[Document], citing: Sequence[str]) -> pd.DataFrame:
    """Claim recall and `OTHERS` of each output by section: document, system, item and a column for each."""
    keys = ["document", "system", "item"]
    scores = scores_of(judged[judged["metric"] == "claim_recall"], METRICS)
    rouge = section_rouge(output_texts(documents, citing), documents, "soap")
    wide = rouge[rouge["metric"].isin(OTHERS)].pivot_table(index=keys, columns="metric", values="value").reset_index()
    return scores.rename(columns={"value": "claim_recall"}).merge(wide, on=keys)


def _preference(both: pd.DataFrame, other: str, section: str) -> Row:
    found = [
        disagreements(group["claim_recall"].to_numpy(dtype=float), group[other].to_numpy(dtype=float))
        for _, group in both.groupby("document", sort=True)
    ]
    value, low, high = mean_interval([wrong / pairs for wrong, pairs in found if pairs])
    pairs = sum(pairs for _, pairs in found)
    return metric_row("disagreement", value, low, high, n=pairs, system=f"claim_recall and {other}", item=section)


def disagreements(one: Sequence[float] | np.ndarray, other: Sequence[float] | np.ndarray) -> tuple[int, int]:
    """Pairs of outputs that two metrics rank in opposite order, and all pairs; a tie agrees with both orders."""
    first, second = np.triu_indices(len(one), k=1)
    left, right = np.asarray(one), np.asarray(other)
    opposite = np.sign(left[first] - left[second]) * np.sign(right[first] - right[second]) < 0
    return int(opposite.sum()), len(first)


CONDITION = "agreement of evaluators"
SCORES = (*CLAIM_METRICS, *CITATION_METRICS)
JUDGE = "judge"
_KEYS = ["item", "system"]


def evaluator_agreement(
    whole: Mapping[str, pd.DataFrame],
    sections: Mapping[str, pd.DataFrame],
    judges: Mapping[str, pd.DataFrame],
    *,
    seed: int,
) -> pd.DataFrame:
    """METRICS of `CONDITION`: Kendall's tau-b and the share of pairs of systems with the same order.

    ``whole`` and ``sections`` are printed tables by evaluator; ``judges`` VERDICTS by judge, each compared on the
    systems that the paper has, too. Item: the score of whole notes or of sections; systems are compared within a
    section, and tau is the mean over the sections, without an interval.
    """
    scores = {name: _printed(whole[name], sections[name]) for name in whole}
    scores |= {name: _judge_means(judged) for name, judged in judges.items()}
    rows = [
        row
        for one, other in combinations(scores, 2)
        for name in SCORES
        for row in _rows(scores[one], scores[other], name, f"{one} and {other}", _made_by(one, other, judges))
    ]
    return metric_table(rows, stage=STAGE, condition=CONDITION, seed=seed)


def _printed(whole: pd.DataFrame, sections: pd.DataFrame) -> pd.DataFrame:
    """Scores by item (part of the note) and system, in percent."""
    parts = {section: part for part, section in SECTIONS.items()}
    both = [whole.assign(item=WHOLE), sections.assign(item=sections["section"].map(parts))]
    return pd.concat(both).set_index(_KEYS)[list(SCORES)]


def _judge_means(judged: pd.DataFrame) -> pd.DataFrame:
    """A judge's claim scores: means over notes by item and system as printed, in percent.

    ACI-BENCH's outputs stand for those of the same models in the paper.
    """
    judged = judged.assign(system=judged["system"].replace({own: printed for printed, own in ACI_BENCH.items()}))
    found = scores_of(judged[judged["metric"].isin(CLAIM_METRICS)], METRICS)
    return 100 * found.pivot_table(index=_KEYS, columns="metric", values="value").reindex(columns=list(SCORES))


def _rows(one: pd.DataFrame, other: pd.DataFrame, name: str, pair: str, made_by: str) -> Iterator[Row]:
    both = pd.concat([one[name], other[name]], axis=1, keys=["one", "other"], join="inner").dropna()
    is_whole = both.index.get_level_values("item") == WHOLE
    for over, table in (("whole notes", both[is_whole]), ("sections", both[~is_whole])):
        parts = [part for _, part in table.groupby(level="item") if len(part) > 1]
        if not parts:
            continue
        shared: dict[str, Any] = {"system": pair, "item": f"{name}, {over}", "provenance": made_by}
        tau = np.nanmean([correlation(part["one"], part["other"], "kendall") for part in parts])
        low, high = np.nan, np.nan
        if over == "whole notes":
            _, low, high = correlation_interval(table["one"], table["other"], "kendall")
        yield metric_row("kendall", float(tau), low, high, n=sum(map(len, parts)), **shared)
        wrong, pairs = np.sum([disagreements(part["one"], part["other"]) for part in parts], axis=0)
        yield metric_row("same_preference", 1 - wrong / pairs, n=int(pairs), **shared)


def _made_by(one: str, other: str, judges: Mapping[str, Any]) -> str:
    return " and ".join(dict.fromkeys(name if name in judges else "printed tables" for name in (one, other)))


def rules_agreement(judged: pd.DataFrame, rules: pd.DataFrame, judge: str, *, seed: int) -> pd.DataFrame:
    """METRICS of the simulator's rules against ``judge`` on the same claims, with intervals over documents.

    ``judged`` and ``rules`` are VERDICTS; ``rules`` as of `judged_by_rules`. Share of equal verdicts, and Cohen's
    kappa.
    """
    both = judged.merge(rules[[*KEYS, "value"]], on=KEYS, suffixes=("", "_rules")).dropna(subset="value")
    rows = []
    for metric, part in both.groupby("metric", sort=True):
        model, own, texts = part["value"].astype(bool), part["value_rules"].astype(bool), part["document"]
        about: dict[str, Any] = {"system": f"simulator's rules and {judge}", "item": str(metric)}
        rows.append(mean_row("agreement", model == own, clusters=texts, **about))
        rows.append(metric_row("kappa", *kappa_interval(model, own, clusters=texts), n=len(part), **about))
    about = {"stage": STAGE, "condition": "same claims", "seed": seed, "provenance": f"simulator's rules and {judge}"}
    return metric_table(rows, **about)
