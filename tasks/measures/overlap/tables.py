"""Overlap metrics of systems' outputs with their references: scores, means, and agreement with judged metrics.

Agreement is that of DocLens (Section 4.4) over notes and systems, and of MED-OMIT (its Table 5).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from schemas.params.measures import Overlap
from tasks.measures.overlap.scores import ABSENT, bert_score, overlap_scores, part_texts, rouge
from tasks.statistics.agreement import correlation_interval
from tasks.statistics.intervals import COUNT, SHARE
from tasks.statistics.metric_rows import COMPUTED, NAN, Row, mean_row, metric_row, metric_table
from tasks.texts.document import WHOLE, Document, Sectioning, compared_sections

RECALL = ("rouge1_r", "rouge2_r", "rougeLsum_r", "bertscore_r", "claim_recall")
PRECISION = ("rouge1_p", "rouge2_p", "rougeLsum_p", "bleu", "bertscore_p", "claim_precision")
Absent = dict[str, str]
Texts = Mapping[str, Mapping[str, str]]
"""Outputs by system and document."""


def score_texts(references: Sequence[str], outputs: Sequence[str], params: Overlap) -> tuple[pd.DataFrame, Absent]:
    """Every overlap metric of each output (one row per output, in order), and the absent metrics with reasons."""
    wide, absent = overlap_scores(references, outputs), dict(ABSENT)
    if params.bert_score_model is None:
        absent["bertscore"] = "needs overlap.bert_score_model, a model's name or folder"
        return wide, absent
    found, reason = bert_score(references, outputs, model=params.bert_score_model, layer=params.bert_score_layer)
    if found is None:
        return wide, {**absent, "bertscore": reason or "not available"}
    return pd.concat([wide, found], axis=1), absent


def score_outputs(texts: Texts, references: Mapping[str, str], params: Overlap) -> tuple[pd.DataFrame, Absent]:
    """Every overlap metric of each output with its reference: columns document, system and one a metric, sorted."""
    keys = sorted((document, system) for system, outputs in texts.items() for document in outputs)
    found, absent = score_texts(
        [references[document] for document, _ in keys], [texts[system][document] for document, system in keys], params
    )
    return pd.concat([pd.DataFrame(keys, columns=["document", "system"], dtype="str"), found], axis=1), absent


def long_scores(scored: pd.DataFrame) -> pd.DataFrame:
    """`score_outputs` with one row per score: document, system, metric, item and value."""
    return scored.melt(id_vars=["document", "system"], var_name="metric").assign(item=WHOLE)


def overlap_rows(
    scored: pd.DataFrame, absent: Absent, *, stage: str, seed: int, condition: str = "overlap", of: str = "all systems"
) -> pd.DataFrame:
    """METRICS: the mean of each overlap metric by system, and absent metrics; ``scored`` is as `long_scores`."""
    rows = _means(scored.assign(item=WHOLE), seed)
    for metric, reason in sorted(absent.items()):
        rows.append(metric_row(metric, NAN, n=0, system=of, item=WHOLE, provenance=f"absent: {reason}"))
    return metric_table(rows, stage=stage, condition=condition, provenance=COMPUTED)


def section_rouge(texts: Texts, documents: Sequence[Document], how: Sectioning) -> pd.DataFrame:
    """ROUGE by section: document, system, item, metric, value; empty for undivided texts.

    SOAP parts are scored as by ACI-BENCH's script: two notes that both lack a part agree fully on it. Other sections
    are scored where the reference has them.
    """
    columns = ["document", "system", "item", "metric", "value"]
    if how == "whole":
        return pd.DataFrame(columns=columns).astype(dict.fromkeys(columns[:-1], "str") | {"value": float})
    rows, references, outputs = [], list[str](), list[str]()
    for system, by_document in texts.items():
        for document in documents:
            text = by_document.get(document.id)
            if text is None or document.reference is None:
                continue
            for name, (reference, output) in compared_sections(document, text, how).items():
                if how == "soap":
                    (reference,), (output,) = part_texts([document.reference], name), part_texts([text], name)
                if reference:
                    rows.append((document.id, system, name))
                    references.append(reference)
                    outputs.append(output)
    keys = pd.DataFrame(rows, columns=columns[:3], dtype="str")
    return pd.concat([keys, rouge(references, outputs)], axis=1).melt(id_vars=columns[:3], var_name="metric")


def section_rows(scored: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """METRICS: mean ROUGE by system and section."""
    return metric_table(_means(scored, seed), stage="overlap", condition="overlap", provenance=COMPUTED)


def _means(scored: pd.DataFrame, seed: int) -> list[Row]:
    groups = scored.groupby(["system", "item", "metric"], sort=True)["value"]
    rows = []
    for (system, item, name), group in groups:
        bounds = SHARE if name.startswith("rouge") or name == "bleu" else COUNT if name == "words" else None
        rows.append(mean_row(name, group.dropna(), bounds=bounds, seed=seed, system=system, item=item))
    return rows


def beside_claims(scored: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """``scored`` of `score_outputs` with a column for each judged score of the same text as a whole.

    ``judged`` has the columns document, system, item, metric and value.
    """
    whole = judged[judged["item"] == WHOLE]
    claims = whole.pivot_table(index=["document", "system"], columns="metric", values="value").reset_index()
    return scored.merge(claims, on=["document", "system"], how="left")


def correlated(overlap: pd.DataFrame) -> list[str]:
    """The overlap metrics of a table that are correlated with omissions: F values, BLEU and BERTScore."""
    return [name for name in overlap if name.endswith("_f") or name == "bleu" or name.startswith("bertscore")]


def agreement_rows(scores: pd.DataFrame, *, stage: str, condition: str, seed: int, provenance: str) -> pd.DataFrame:
    """Kendall's tau-b between every two metrics of each group (recall-based, precision-based), over notes and systems.

    ``scores`` has one row per note and system: ``document``, ``system`` and a column per metric. The unit is a row for
    notes, whose interval is over documents, and a system's mean for systems.
    """
    rows = []
    for names in (RECALL, PRECISION):
        for one, other in combinations([name for name in names if name in scores], 2):
            pair = scores[["document", "system", one, other]].dropna()
            means = pair.groupby("system", as_index=False)[[one, other]].mean()
            item = f"{one} and {other}"
            for over, table, clusters in (("notes", pair, pair["document"]), ("systems", means, None)):
                tau = correlation_interval(table[one], table[other], "kendall", clusters=clusters)
                rows.append(metric_row("kendall", *tau, n=len(table), system=over, item=item))
    return metric_table(rows, stage=stage, condition=condition, seed=seed, provenance=provenance)


def omission_correlations(
    scores: pd.DataFrame, overlap: Sequence[str], *, stage: str, condition: str, seed: int, provenance: str
) -> pd.DataFrame:
    """Spearman and Pearson of MED-OMIT's weight and count with overlap metrics, with two-sided p values (Table 5).

    ``scores`` has one row per document and system: ``weight``, ``count`` and a column per overlap metric.
    """
    rows = []
    for system, group in scores.groupby("system", sort=True):
        for omission in ("weight", "count"):
            for name in (name for name in overlap if name in scores):
                pair = group[[omission, name]].dropna()
                rows.extend(_correlated(pair[omission], pair[name], f"{omission} and {name}", str(system)))
    return metric_table(rows, stage=stage, condition=condition, seed=seed, provenance=provenance)


def _correlated(first: pd.Series, second: pd.Series, item: str, system: str) -> list[Row]:
    one, other = first.to_numpy(dtype=float), second.to_numpy(dtype=float)
    defined = len(one) > 2 and np.unique(one).size > 1 and np.unique(other).size > 1
    rows = []
    for kind, measure in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr)):
        value, p = (float(number) for number in measure(one, other)) if defined else (np.nan, np.nan)
        rows.append(metric_row(kind, value, n=len(one), system=system, item=item))
        rows.append(metric_row(f"{kind}_p", p, n=len(one), system=system, item=item))
    return rows
